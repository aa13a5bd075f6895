// SPDX-License-Identifier: Apache-2.0
#include "host/cli/scheduler_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "host/objects/errors.h"

namespace berth::test {
namespace {

using Words = std::vector<std::string>;

/// What comes of arguments behind "berth scheduler". @throws CLI::ParseError
SchedulerFlags parsed(const Words& words) {
  Words arguments = {"scheduler"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments = scheduler_arguments("berth", arguments);
  arguments.erase(arguments.begin());
  CLI::App app;
  SchedulerFlags flags;
  add_scheduler_options(app, flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return flags;
}

std::string problem(const Words& words) {
  try {
    parsed(words);
    return {};
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

Words upstream_flags() {
  std::ifstream file(std::string(BERTH_OPTIONS_DATA) + "/kube_scheduler_flags.txt");
  Words names;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("--")) names.push_back(line.substr(2));
  return names;
}

TEST(SchedulerOptionsTest, EveryFlagOfKubeSchedulerIsThereAndNoOther) {
  Words known = scheduler_flag_names();
  Words theirs = upstream_flags();
  std::sort(known.begin(), known.end());
  std::sort(theirs.begin(), theirs.end());
  EXPECT_EQ(known, theirs);
  EXPECT_GE(known.size(), 60u);
}

TEST(SchedulerOptionsTest, EveryFlagHasItsRowInTheDocs) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/docs/scheduler/serving.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const std::string& name : scheduler_flag_names())
    EXPECT_NE(page.find("`--" + name + "`"), std::string::npos) << name;
}

TEST(SchedulerOptionsTest, WithoutFlagsThereAreUpstreamsDefaults) {
  const SchedulerFlags flags = parsed({});
  EXPECT_EQ(flags.server.address, "0.0.0.0");
  EXPECT_EQ(flags.server.port, 10259);
  EXPECT_TRUE(flags.authentication.tolerates_lookup_failure);
  EXPECT_FALSE(flags.authentication.skips_lookup);
  EXPECT_EQ(flags.authentication.token_ttl_us, 10'000'000);
  EXPECT_EQ(flags.authorization.always_allowed_paths, (Words{"/healthz", "/readyz", "/livez"}));
  EXPECT_EQ(flags.authentication.request_header.username_headers, Words{"x-remote-user"});
  EXPECT_EQ(flags.pod_max_in_unschedulable_us, 300'000'000);
  EXPECT_EQ(flags.leader_elect, std::nullopt);
}

TEST(SchedulerOptionsTest, TheManifestOfKubeadmIsRead) {
  // What kubeadm v1.35 writes into /etc/kubernetes/manifests/kube-scheduler.yaml.
  const Words manifest = {"--authentication-kubeconfig=/etc/kubernetes/scheduler.conf",
                          "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf", "--bind-address=127.0.0.1",
                          "--kubeconfig=/etc/kubernetes/scheduler.conf", "--leader-elect=true"};
  const Words arguments = scheduler_arguments("/usr/local/bin/kube-scheduler", manifest);
  ASSERT_EQ(arguments.front(), "scheduler");
  SchedulerFlags flags = parsed({arguments.begin() + 1, arguments.end()});
  EXPECT_EQ(flags.authentication_kubeconfig, "/etc/kubernetes/scheduler.conf");
  EXPECT_EQ(flags.authorization_kubeconfig, "/etc/kubernetes/scheduler.conf");
  EXPECT_EQ(flags.server.address, "127.0.0.1");
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  apply(flags, false, config);
  EXPECT_EQ(config.client_connection.kubeconfig, "/etc/kubernetes/scheduler.conf");
  EXPECT_TRUE(config.leader_election.leader_elect);
  EXPECT_TRUE(flags.without_effect.empty());
}

TEST(SchedulerOptionsTest, FlagsAreReadAsKubernetesReadsThem) {
  EXPECT_EQ(parsed({"--leader-elect"}).leader_elect, true);
  EXPECT_EQ(parsed({"--leader-elect=false"}).leader_elect, false);
  EXPECT_EQ(parsed({"--leader_elect=F"}).leader_elect, false);
  EXPECT_EQ(parsed({"--secure-port", "7"}).server.port, 7);
  EXPECT_EQ(parsed({"--secure_port=7", "--secure-port=8"}).server.port, 8);
  for (const Words& v : {Words{"-v=3"}, {"-v", "3"}, {"-v3"}, {"--v=3"}, {"--v", "3"}})
    EXPECT_EQ(parsed(v).verbosity, 3);
  EXPECT_EQ(parsed({"--config", "-x"}).config_path, "-x");
  EXPECT_EQ(parsed({"--tls-cipher-suites=a,b", "--tls-cipher-suites", "c"}).server.tls.cipher_suites,
            (Words{"a", "b", "c"}));
  EXPECT_EQ(parsed({"--authorization-always-allow-paths="}).authorization.always_allowed_paths, Words{});
  EXPECT_EQ(parsed({"--leader-elect-lease-duration=1m30s"}).lease_duration_us, 90'000'000);
  EXPECT_EQ(parsed({"--config={}"}).config_path, "{}");
  EXPECT_EQ(parsed({"--version"}).version, "true");
}

TEST(SchedulerOptionsTest, ArgumentsWithoutAFlagAreRefused) {
  EXPECT_NE(problem({"config.yaml"}), "");
  EXPECT_NE(problem({"--leader-elect", "false"}), "");  // the value of a truth value stands behind "="
  EXPECT_NE(problem({"--", "--v=3"}), "");
  EXPECT_NE(problem({"--no-such-flag"}), "");
}

TEST(SchedulerOptionsTest, ValuesThatCannotBeReadAreRefusedByTheirFlag) {
  for (const char* flag :
       {"--secure-port=65536", "--secure-port=x", "--bind-address=host", "--leader-elect=yes", "--v=-1", "--v=x",
        "--kube-api-qps=nan", "--kube-api-burst=-1", "--leader-elect-retry-period=5", "--logging-format=yaml",
        "--emulated-version=1.31", "--version=v1.2.3", "--feature-gates=other:A=true", "--log-json-split-stream=true",
        "--tls-sni-cert-key=a", "--tls-sni-cert-key=a,b:", "--show-hidden-metrics-for-version=1.20",
        "--allow-metric-labels=x"}) {
    const std::string text = problem({flag});
    EXPECT_NE(text.find(std::string(flag).substr(0, std::string(flag).find('='))), std::string::npos) << flag << text;
  }
}

TEST(SchedulerOptionsTest, CertificatesByNameAddUp) {
  const SchedulerFlags flags =
      parsed({"--tls-sni-cert-key=a.crt, a.key", "--tls-sni-cert-key", "b.crt,b.key:one, *.two"});
  EXPECT_EQ(flags.server.tls.by_name,
            (std::vector<CertificateForNames>{{"a.crt", "a.key", {}}, {"b.crt", "b.key", {"one", "*.two"}}}));
}

TEST(SchedulerOptionsTest, DeprecatedFlagsCountOnlyWithoutAFile) {
  const Words words = {"--kubeconfig=k",    "--kube-api-qps=7.5",       "--kube-api-burst=9",
                       "--profiling=false", "--contention-profiling=0", "--kube-api-content-type=application/json"};
  SchedulerFlags flags = parsed(words);
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  apply(flags, false, config);
  EXPECT_EQ(config.client_connection.kubeconfig, "k");
  EXPECT_EQ(config.client_connection.qps, 7.5f);
  EXPECT_EQ(config.client_connection.burst, 9);
  EXPECT_EQ(config.client_connection.content_type, "application/json");
  EXPECT_FALSE(config.enable_profiling);
  EXPECT_FALSE(config.enable_contention_profiling);

  SchedulerFlags beside = parsed(words);
  SchedulerConfig from_file = default_scheduler_config(FeatureGates());
  apply(beside, true, from_file);
  EXPECT_EQ(from_file.client_connection.kubeconfig, "");
  EXPECT_EQ(from_file.client_connection.qps, std::nullopt);
  EXPECT_EQ(beside.without_effect.size(), 6u);
}

TEST(SchedulerOptionsTest, LeaderElectionFlagsWinOverTheFile) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  config.leader_election.resource_name = "of-the-file";
  SchedulerFlags flags = parsed({"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=20s"});
  apply(flags, true, config);
  EXPECT_EQ(config.leader_election.lease_duration_us, 30'000'000);
  EXPECT_EQ(config.leader_election.resource_name, "of-the-file");
  SchedulerFlags wrong = parsed({"--leader-elect-lease-duration=5s", "--leader-elect-resource-lock=endpoints"});
  try {
    apply(wrong, true, config);
    FAIL() << "a lease shorter than its renewal was taken";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().size(), 2u);
    EXPECT_EQ(error.problems().front().location, "leaderElection.leaseDuration");
  }
  SchedulerFlags off = parsed({"--leader-elect=false", "--leader-elect-lease-duration=5s"});
  EXPECT_NO_THROW(apply(off, true, config));
}

TEST(SchedulerOptionsTest, GatesAndVersionsComeWithOrWithoutTheirComponent) {
  const SchedulerFlags flags =
      parsed({"--feature-gates=kube:A=true,B=false", "--feature-gates", "C=true", "--emulated-version=kube=1.36"});
  EXPECT_EQ(flags.feature_gates, "A=true,B=false,C=true");
  EXPECT_EQ(flags.release, "1.36");
}

TEST(SchedulerOptionsTest, FlagsWithoutEffectSayWhy) {
  const SchedulerFlags flags = parsed({"--vmodule=a=1", "--disable-http2-serving"});
  ASSERT_EQ(flags.without_effect.size(), 2u);
  for (const std::string& sentence : flags.without_effect)
    EXPECT_NE(sentence.find(" has no effect: "), std::string::npos) << sentence;
}

TEST(SchedulerOptionsTest, OtherCommandsKeepTheirArguments) {
  const Words words = {"schedule", "--leader_elect", "-v=2"};
  EXPECT_EQ(scheduler_arguments("/usr/bin/berth", words), words);
  EXPECT_EQ(scheduler_arguments("kube-scheduler", {}), Words{"scheduler"});
}

TEST(SchedulerOptionsTest, MetricLabelsAreReadAsAMap) {
  const SchedulerFlags flags = parsed({"--allow-metric-labels=m,l='a,b'", "--disabled-metrics=x,y"});
  EXPECT_EQ(flags.allowed_metric_labels.at("m,l"), (Words{"a", "b"}));
  EXPECT_EQ(flags.disabled_metrics, (Words{"x", "y"}));
}

}  // namespace
}  // namespace berth::test
