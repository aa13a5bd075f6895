// SPDX-License-Identifier: Apache-2.0
// Fields, defaults and rules of the configuration object: docs/behaviour/scheduler-core.md 7.1, 7.2, 7.7.

#include "host/config/scheduler_config.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

TEST(SchedulerConfig, AnEmptyConfigurationHasTheDefaults) {
  const SchedulerConfig config = parse(config_json(""));
  EXPECT_EQ(config.parallelism, 16);
  EXPECT_EQ(config.percentage_of_nodes_to_score, 0);
  EXPECT_EQ(config.pod_initial_backoff_seconds, 1);
  EXPECT_EQ(config.pod_max_backoff_seconds, 10);
  EXPECT_TRUE(config.enable_profiling);
  EXPECT_TRUE(config.enable_contention_profiling);
  EXPECT_FALSE(config.delay_cache_until_active);
  EXPECT_TRUE(config.extenders.empty());
  EXPECT_TRUE(config.leader_election.leader_elect);
  EXPECT_EQ(config.leader_election.lease_duration_us, 15'000'000);
  EXPECT_EQ(config.leader_election.renew_deadline_us, 10'000'000);
  EXPECT_EQ(config.leader_election.retry_period_us, 2'000'000);
  EXPECT_EQ(config.leader_election.resource_lock, "leases");
  EXPECT_EQ(config.leader_election.resource_name, "kube-scheduler");
  EXPECT_EQ(config.leader_election.resource_namespace, "kube-system");
  EXPECT_EQ(config.client_connection.kubeconfig, "");
  EXPECT_EQ(config.client_connection.accept_content_types, "");
  EXPECT_EQ(config.client_connection.content_type, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(config.client_connection.qps, std::nullopt);
  EXPECT_EQ(config.client_connection.burst, std::nullopt);
  ASSERT_EQ(config.profiles.size(), 1u);
  EXPECT_EQ(config.profiles[0].scheduler_name, "default-scheduler");
  EXPECT_FALSE(config.profiles[0].percentage_of_nodes_to_score.has_value());
}

TEST(SchedulerConfig, AnEmptyConfigurationEqualsNoConfiguration) {
  const SchedulerConfig parsed = parse(config_json(R"("profiles": [])"));
  EXPECT_EQ(parsed.profiles.at(0).plugins, default_scheduler_config(FeatureGates()).profiles.at(0).plugins);
}

TEST(SchedulerConfig, EveryFieldIsRead) {
  const SchedulerConfig config = parse(config_json(R"(
    "parallelism": 4, "percentageOfNodesToScore": 30, "podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 20,
    "enableProfiling": false, "enableContentionProfiling": true, "delayCacheUntilActive": true,
    "leaderElection": {"leaderElect": false, "leaseDuration": "1m", "renewDeadline": "40s", "retryPeriod": "500ms",
      "resourceLock": "leases", "resourceName": "berth", "resourceNamespace": "default"},
    "clientConnection": {"kubeconfig": "/etc/k", "acceptContentTypes": "application/json",
      "contentType": "application/json", "qps": -1.5, "burst": 7},
    "profiles": [{"schedulerName": "mine", "percentageOfNodesToScore": 5}])"));
  EXPECT_EQ(config.parallelism, 4);
  EXPECT_EQ(config.percentage_of_nodes_to_score, 30);
  EXPECT_EQ(config.pod_initial_backoff_seconds, 2);
  EXPECT_EQ(config.pod_max_backoff_seconds, 20);
  EXPECT_FALSE(config.enable_profiling);
  EXPECT_TRUE(config.enable_contention_profiling);
  EXPECT_TRUE(config.delay_cache_until_active);
  EXPECT_FALSE(config.leader_election.leader_elect);
  EXPECT_EQ(config.leader_election.lease_duration_us, 60'000'000);
  EXPECT_EQ(config.leader_election.renew_deadline_us, 40'000'000);
  EXPECT_EQ(config.leader_election.retry_period_us, 500'000);
  EXPECT_EQ(config.leader_election.resource_name, "berth");
  EXPECT_EQ(config.leader_election.resource_namespace, "default");
  EXPECT_EQ(config.client_connection.kubeconfig, "/etc/k");
  EXPECT_EQ(config.client_connection.accept_content_types, "application/json");
  EXPECT_EQ(config.client_connection.content_type, "application/json");
  EXPECT_EQ(config.client_connection.qps, -1.5f);
  EXPECT_EQ(config.client_connection.burst, 7);
  EXPECT_EQ(config.profiles.at(0).scheduler_name, "mine");
  EXPECT_EQ(config.profiles.at(0).percentage_of_nodes_to_score, 5);
  EXPECT_NE(config.find_profile("mine"), nullptr);
  EXPECT_EQ(config.find_profile("default-scheduler"), nullptr);
}

TEST(SchedulerConfig, YamlAndJsonReadAlike) {
  const SchedulerConfig config = parse(
      "# a comment\n"
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "parallelism: 8\n"
      "profiles:\n"
      "- schedulerName: a\n"
      "  plugins:\n"
      "    score:\n"
      "      disabled: [{name: '*'}]\n"
      "      enabled:\n"
      "      - {name: NodeResourcesFit, weight: 3}\n"
      "- schedulerName: b\n");
  EXPECT_EQ(config.parallelism, 8);
  ASSERT_EQ(config.profiles.size(), 2u);
  EXPECT_EQ(names_at(config, ExtensionPoint::kScore), Lines{"NodeResourcesFit=3"});
}

TEST(SchedulerConfig, NullReadsAsUnset) {
  const SchedulerConfig config = parse(config_json(
      R"("parallelism": null, "profiles": null, "extenders": null, "leaderElection": null, "clientConnection": null)"));
  EXPECT_EQ(config.parallelism, 16);
  EXPECT_EQ(config.profiles.size(), 1u);
}

TEST(SchedulerConfig, ContentionProfilingFollowsProfilingUnlessSet) {
  EXPECT_FALSE(parse(config_json(R"("enableProfiling": false)")).enable_contention_profiling);
}

TEST(SchedulerConfig, EmptyStringsAndZeroDurationsReadAsUnset) {
  const SchedulerConfig config = parse(config_json(
      R"("leaderElection": {"leaseDuration": "0s", "renewDeadline": "0", "retryPeriod": "0ms", "resourceLock": "",
         "resourceName": "", "resourceNamespace": ""}, "clientConnection": {"qps": 0, "burst": 0, "contentType": ""})"));
  EXPECT_EQ(config.leader_election.lease_duration_us, 15'000'000);
  EXPECT_EQ(config.leader_election.renew_deadline_us, 10'000'000);
  EXPECT_EQ(config.leader_election.retry_period_us, 2'000'000);
  EXPECT_EQ(config.leader_election.resource_lock, "leases");
  EXPECT_EQ(config.leader_election.resource_name, "kube-scheduler");
  EXPECT_EQ(config.leader_election.resource_namespace, "kube-system");
  EXPECT_EQ(config.client_connection.qps, std::nullopt);
  EXPECT_EQ(config.client_connection.burst, std::nullopt);
  EXPECT_EQ(config.client_connection.content_type, "application/vnd.kubernetes.protobuf");
}

TEST(SchedulerConfig, ApiVersionAndKindAreRequired) {
  EXPECT_EQ(problems_of("{}"), (Lines{"apiVersion: got nothing, expected \"kubescheduler.config.k8s.io/v1\"",
                                      "kind: got nothing, expected \"KubeSchedulerConfiguration\""}));
  EXPECT_EQ(problems_of(R"({"apiVersion": "kubescheduler.config.k8s.io/v2", "kind": "Pod"})"),
            (Lines{"apiVersion: got \"kubescheduler.config.k8s.io/v2\", expected \"kubescheduler.config.k8s.io/v1\"",
                   "kind: got \"Pod\", expected \"KubeSchedulerConfiguration\""}));
}

TEST(SchedulerConfig, UnknownFieldsAreRefusedWithTheirPath) {
  EXPECT_EQ(problems_of(config_json(R"("Parallelism": 4, "leaderElection": {"leader": true},
                                       "clientConnection": {"QPS": 1}, "profiles": [{"name": "x"}])")),
            (Lines{"Parallelism: unknown field", "leaderElection.leader: unknown field",
                   "clientConnection.QPS: unknown field", "profiles[0].name: unknown field"}));
}

TEST(SchedulerConfig, EngineSettingsAreRefused) {
  EXPECT_EQ(problems_of(config_json(R"("backend": "cuda")")), Lines{"backend: unknown field"});
}

TEST(SchedulerConfig, ARepeatedFieldIsRefused) {
  EXPECT_EQ(problems_of(config_json(R"("parallelism": 4, "parallelism": 4)")), Lines{"parallelism: duplicate field"});
}

TEST(SchedulerConfig, ARepeatedKeyInYamlIsRefused) {
  EXPECT_FALSE(problems_of("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                           "parallelism: 1\nparallelism: 1\n")
                   .empty());
}

TEST(SchedulerConfig, AWrongTypeIsReportedWithValueAndExpectation) {
  EXPECT_EQ(
      problems_of(config_json(R"("parallelism": "4", "podInitialBackoffSeconds": 1.5, "enableProfiling": "yes",
                                       "profiles": {}, "extenders": 3, "leaderElection": [])")),
      (Lines{"parallelism: got \"4\", expected an integer", "podInitialBackoffSeconds: got 1.5, expected an integer",
             "enableProfiling: got \"yes\", expected true or false", "profiles: got an object, expected an array",
             "extenders: got 3, expected an array", "leaderElection: got an array, expected an object"}));
}

TEST(SchedulerConfig, ParallelismRefuses64BitIntegers) {
  EXPECT_EQ(problems_of(config_json(R"("parallelism": 4294967297)")),
            Lines{"parallelism: got 4294967297, expected an integer of 32 bits"});
}

TEST(SchedulerConfig, ParallelismMustBePositive) {
  EXPECT_EQ(problems_of(config_json(R"("parallelism": 0)")),
            Lines{"parallelism: got 0, expected an integer of at least 1"});
}

TEST(SchedulerConfig, PercentagesAreFrom0To100) {
  EXPECT_EQ(problems_of(config_json(R"("percentageOfNodesToScore": 101,
                                       "profiles": [{"percentageOfNodesToScore": -1}])")),
            (Lines{"percentageOfNodesToScore: got 101, expected an integer from 0 to 100",
                   "profiles[0].percentageOfNodesToScore: got -1, expected an integer from 0 to 100"}));
  EXPECT_EQ(parse(profile_json(R"("percentageOfNodesToScore": 0)")).profiles[0].percentage_of_nodes_to_score, 0);
}

TEST(SchedulerConfig, BackoffsMustBePositiveAndOrdered) {
  EXPECT_EQ(problems_of(config_json(R"("podInitialBackoffSeconds": 0)")),
            Lines{"podInitialBackoffSeconds: got 0, expected an integer of at least 1"});
  EXPECT_EQ(problems_of(config_json(R"("podInitialBackoffSeconds": 11)")),
            Lines{"podMaxBackoffSeconds: got nothing, expected at least podInitialBackoffSeconds, 11"});
  EXPECT_EQ(problems_of(config_json(R"("podMaxBackoffSeconds": 0)")),
            Lines{"podMaxBackoffSeconds: got 0, expected at least podInitialBackoffSeconds, 1"});
}

TEST(SchedulerConfig, SeveralProfilesNeedNames) {
  EXPECT_EQ(problems_of(config_json(R"("profiles": [{}, {"schedulerName": "b"}])")),
            Lines{"profiles[0].schedulerName: expected a name: it is required when there are several profiles"});
}

TEST(SchedulerConfig, ASchedulerNameMustNotBeEmpty) {
  EXPECT_EQ(problems_of(profile_json(R"("schedulerName": "")")),
            Lines{"profiles[0].schedulerName: got \"\", expected a name"});
}

TEST(SchedulerConfig, ProfileNamesMustBeUnique) {
  EXPECT_EQ(problems_of(config_json(R"("profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}])")),
            Lines{"profiles[1].schedulerName: got \"a\", expected a name that no other profile has"});
}

TEST(ClientConnection, BurstMustNotBeNegative) {
  EXPECT_EQ(problems_of(config_json(R"("clientConnection": {"burst": -1})")),
            Lines{"clientConnection.burst: got -1, expected an integer of at least 0"});
}

TEST(ClientConnection, QpsMustFitAFloat) {
  EXPECT_EQ(problems_of(config_json(R"("clientConnection": {"qps": 1e300})")),
            Lines{"clientConnection.qps: got 1e+300, expected a number in the range of a 32-bit float"});
}

Lines election_problems(const std::string& fields) {
  return problems_of(config_json(R"("leaderElection": {)" + fields + "}"));
}

TEST(LeaderElection, DurationsMustBePositive) {
  EXPECT_EQ(election_problems(R"("retryPeriod": "-1s")"),
            Lines{"leaderElection.retryPeriod: got \"-1s\", expected a duration above 0"});
  EXPECT_EQ(election_problems(R"("renewDeadline": "-1s")").front(),
            "leaderElection.renewDeadline: got \"-1s\", expected a duration above 0");
  EXPECT_EQ(election_problems(R"("leaseDuration": "-1s")").front(),
            "leaderElection.leaseDuration: got \"-1s\", expected a duration above 0");
}

TEST(LeaderElection, TheLeaseMustOutlastTheRenewDeadline) {
  EXPECT_EQ(election_problems(R"("leaseDuration": "10s")"),
            Lines{"leaderElection.leaseDuration: got \"10s\", expected more than renewDeadline"});
}

TEST(LeaderElection, TheRenewDeadlineMustExceedAJitteredRetry) {
  EXPECT_EQ(election_problems(R"("renewDeadline": "2400ms")"),
            Lines{"leaderElection.renewDeadline: got \"2400ms\", expected more than 1.2 times retryPeriod"});
  EXPECT_EQ(election_problems(R"("renewDeadline": "2401ms")"), Lines{});
}

TEST(LeaderElection, OnlyLeasesAreAcceptedAsLock) {
  EXPECT_EQ(election_problems(R"("resourceLock": "configmaps")"),
            Lines{"leaderElection.resourceLock: got \"configmaps\", expected \"leases\""});
}

TEST(LeaderElection, RulesApplyOnlyWithLeaderElection) {
  EXPECT_EQ(election_problems(R"("leaderElect": false, "leaseDuration": "-1s", "resourceLock": "x")"), Lines{});
}

TEST(LeaderElection, ATimeMustBeADurationString) {
  EXPECT_EQ(election_problems(R"("leaseDuration": 15, "retryPeriod": "2")"),
            (Lines{"leaderElection.leaseDuration: got 15, expected a duration such as \"15s\"",
                   "leaderElection.retryPeriod: got \"2\", expected a duration such as \"15s\""}));
}

TEST(SchedulerConfigText, OneDocumentIsExpected) {
  EXPECT_EQ(problems_of(""), Lines{": got 0 documents, expected exactly one"});
  EXPECT_EQ(problems_of("a: 1\n---\na: 2\n"), Lines{": got 2 documents, expected exactly one"});
}

TEST(SchedulerConfigText, MalformedTextIsRefused) {
  EXPECT_FALSE(problems_of("{").empty());
  EXPECT_FALSE(problems_of("a: [").empty());
  EXPECT_EQ(problems_of("- 1"), Lines{": got an array, expected an object"});
}

TEST(SchedulerConfigText, AnOversizedTextIsRefused) {
  EXPECT_EQ(problems_of(std::string((std::size_t{16} << 20) + 1, ' ')),
            Lines{": is larger than 16 MiB, the limit of a configuration"});
}

TEST(SchedulerConfigText, ProblemsNameTheSource) {
  try {
    parse(config_json(R"("parallelism": 0)"));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "config.yaml: line 1, parallelism: got 0, expected an integer of at least 1");
  }
}

TEST(SchedulerConfigFile, AFileIsReadByItsPath) {
  const std::string path = testing::TempDir() + "berth_scheduler_config_test.yaml";
  std::ofstream(path) << config_json(R"("parallelism": 3)");
  EXPECT_EQ(load_scheduler_config(path, FeatureGates()).parallelism, 3);
  std::remove(path.c_str());
}

TEST(SchedulerConfigFile, AMissingFileIsAnError) {
  EXPECT_THROW(load_scheduler_config("/does/not/exist.yaml", FeatureGates()), InputError);
}

}  // namespace
}  // namespace berth
