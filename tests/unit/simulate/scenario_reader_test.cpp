// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/scenario_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "host/objects/dump_command.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kHourUs = 3'600 * kSecondUs;

const std::string kHead = "apiVersion: berth.dev/v1alpha1\nkind: BerthScenario\n";

std::string pod_text(const std::string& name) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {containers: [{name: c}]}}";
}
std::string deployment_text(const std::string& name, int replicas) {
  return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: " + name +
         "}, spec: {replicas: " + std::to_string(replicas) +
         ", selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: "
         "c}]}}}}";
}

Scenario scenario_of(const std::string& text, ClusterObjects cluster = {}) {
  std::vector<std::string> warnings;
  Scenario scenario = make_scenario(parse_scenario(kHead + text, "file.yaml"), std::move(cluster), warnings);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  return scenario;
}

std::string error_of(const std::string& text) {
  try {
    scenario_of(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScenarioReader, ReadsEveryField) {
  const ScenarioFile file = parse_scenario(kHead +
                                               "start: 2026-02-03T04:05:06Z\nuntil: 2h\nrunDuration: 10m\n"
                                               "startDelay: 2s\nclusters: [a.yaml, /b]\n",
                                           "file.yaml");
  EXPECT_EQ(file.start_us, std::int64_t{1'770'091'506} * kSecondUs);
  EXPECT_EQ(file.until_us, 2 * kHourUs);
  EXPECT_EQ(file.run_duration_us, 600 * kSecondUs);
  EXPECT_EQ(file.start_delay_us, 2 * kSecondUs);
  EXPECT_EQ(file.clusters, (std::vector<std::string>{"a.yaml", "/b"}));
}

TEST(ScenarioReader, ReadsActions) {
  const Scenario scenario = scenario_of(
      "actions:\n- at: 90s\n  create: [" + pod_text("a") + "]\n  delete:\n  - {kind: Node, name: n1}\n" +
      "  - {kind: Pod, name: p, namespace: team, gracePeriodSeconds: 5}\n  - {kind: Deployment, name: web}\n" +
      "  update:\n  - {kind: Node, name: m, unschedulable: true, labels: {zone: b, old: null},\n" +
      "     taints: [{key: k, effect: NoSchedule}]}\n");
  ASSERT_EQ(scenario.actions.size(), 1u);
  const ScenarioAction& action = scenario.actions.front();
  EXPECT_EQ(action.at_us, 90 * kSecondUs);
  EXPECT_EQ(action.location, "actions[0]");
  ASSERT_EQ(action.create.pods.size(), 1u);
  EXPECT_EQ(action.create.pods.front()->full_name(), "default/a");
  ASSERT_EQ(action.remove.size(), 3u);
  EXPECT_EQ(action.remove[0].object.namespace_, "");
  EXPECT_EQ(action.remove[1].object.namespace_, "team");
  EXPECT_EQ(action.remove[1].grace_period_s, 5);
  EXPECT_EQ(action.remove[2].object.namespace_, "default");
  ASSERT_EQ(action.update.size(), 1u);
  EXPECT_EQ(action.update[0].unschedulable, true);
  ASSERT_EQ(action.update[0].labels.size(), 2u);
  EXPECT_EQ(action.update[0].labels[0].second, "b");
  EXPECT_EQ(action.update[0].labels[1].second, std::nullopt);
  ASSERT_TRUE(action.update[0].taints.has_value());
  EXPECT_EQ(action.update[0].taints->front().key, "k");
}

TEST(ScenarioReader, ArrivalsNumberTheirCopies) {
  const Scenario scenario =
      scenario_of("arrivals:\n- {at: 1m, every: 10s, count: 3, runDuration: 5m, template: " + pod_text("job") +
                  "}\n- {count: 2, every: 0s, template: " + deployment_text("web", 2) + "}\n");
  ASSERT_EQ(scenario.arrivals.size(), 2u);
  std::vector<InputProblem> problems;
  const ClusterObjects pods = scenario.arrivals[0].copy(2, problems);
  ASSERT_EQ(pods.pods.size(), 1u);
  EXPECT_EQ(pods.pods[0]->name, "job-2");
  EXPECT_EQ(pods.pods[0]->rare().run_duration_us, 300 * kSecondUs);
  const ClusterObjects web = scenario.arrivals[1].copy(1, problems);
  ASSERT_EQ(web.pods.size(), 2u);
  EXPECT_EQ(web.pods[0]->name, "web-1-berth-0");
  EXPECT_EQ(web.workloads.size(), 2u);
  EXPECT_TRUE(problems.empty());
}

TEST(ScenarioReader, APodsOwnRunDurationWins) {
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {berth.dev/run-duration: 7s}}, spec: {containers: "
      "[{name: c}]}}";
  const Scenario scenario = scenario_of("arrivals: [{runDuration: 5m, template: " + pod + "}]");
  std::vector<InputProblem> problems;
  EXPECT_EQ(scenario.arrivals[0].copy(0, problems).pods[0]->rare().run_duration_us, 7 * kSecondUs);
}

TEST(ScenarioReader, ClassesOfAnyListCountForAllPods) {
  ClusterObjects cluster;
  cluster.priority_classes.push_back({"low", 5, false, {}});
  const Scenario scenario = scenario_of(
      "actions:\n- at: 5s\n  create:\n  - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priorityClassName: "
      "high, containers: [{name: c}]}}\n  - {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: "
      "{priorityClassName: low, containers: [{name: c}]}}\n- at: 9s\n  create: [{apiVersion: scheduling.k8s.io/v1, "
      "kind: PriorityClass, metadata: {name: high}, value: 77}]\n",
      std::move(cluster));
  EXPECT_EQ(scenario.actions[0].create.pods[0]->priority, 77);
  EXPECT_EQ(scenario.actions[0].create.pods[1]->priority, 5);
}

struct BadScenario {
  std::string text;
  std::string error;
};

class BadScenarios : public testing::TestWithParam<BadScenario> {};

TEST_P(BadScenarios, AreErrorsWithLinePathValueAndExpectation) {
  EXPECT_EQ(error_of(GetParam().text), GetParam().error);
}

const std::string kDuration = "expected a duration from 0s to 876000h, such as \"90s\" or \"1h30m\"";

INSTANTIATE_TEST_SUITE_P(
    All, BadScenarios,
    testing::Values(
        BadScenario{"unttil: 5s\n", "file.yaml: line 3, unttil: unknown field"},
        BadScenario{"until: 5\n", "file.yaml: line 3, until: got 5, expected a duration such as \"15s\""},
        BadScenario{"until: -5s\n", "file.yaml: line 3, until: got \"-5s\", " + kDuration},
        BadScenario{"startDelay: 876001h\n", "file.yaml: line 3, startDelay: got \"876001h\", " + kDuration},
        BadScenario{"start: 1969-01-01T00:00:00Z\n",
                    "file.yaml: line 3, start: got \"1969-01-01T00:00:00Z\", expected earliest, latest or a time after "
                    "1970-01-01T00:00:00Z"},
        BadScenario{"clusters: [\"-\"]\n",
                    "file.yaml: line 3, clusters[0]: got \"-\", expected the path of a file or folder"},
        BadScenario{"actions: [{create: [" + pod_text("a") + "]}]\n",
                    "file.yaml: line 3, actions[0].at: absent, " + kDuration},
        BadScenario{
            "actions: [{at: 1s}]\n",
            "file.yaml: line 3, actions[0]: expected create, update, delete or provisioners with at least one entry"},
        BadScenario{"actions: [7]\n",
                    "file.yaml: line 3, actions[0]: got 7, expected an object with at, and create, update, delete or "
                    "provisioners"},
        BadScenario{"actions:\n- at: 1s\n  create:\n  - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: "
                    "{priority: high, containers: [{name: c}]}}\n",
                    "file.yaml: line 6, actions[0].create[0].spec.priority: got \"high\", expected an integer"},
        BadScenario{"actions: [{at: 1s, create: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}]\n",
                    "file.yaml: line 3, actions[0].create[0]: got kind v1/Secret, expected a Pod, Node, Namespace, "
                    "Service, PriorityClass, RuntimeClass, PodDisruptionBudget, Deployment, ReplicaSet, StatefulSet, "
                    "ReplicationController or Job, or a storage object"},
        BadScenario{"actions: [{at: 1s, delete: [{kind: Pod}]}]\n",
                    "file.yaml: line 3, actions[0].delete[0].name: absent, expected the name of an object"},
        BadScenario{"actions: [{at: 1s, delete: [{kind: Secret, name: a}]}]\n",
                    "file.yaml: line 3, actions[0].delete[0].kind: got \"Secret\", expected Pod, Node, Namespace, "
                    "Service, PriorityClass, PodDisruptionBudget, Deployment, ReplicaSet, StatefulSet, "
                    "ReplicationController, DaemonSet, Job, PersistentVolume, PersistentVolumeClaim, "
                    "StorageClass, CSINode, CSIDriver, CSIStorageCapacity or VolumeAttachment"},
        BadScenario{"actions: [{at: 1s, delete: [{kind: Node, name: a, namespace: b}]}]\n",
                    "file.yaml: line 3, actions[0].delete[0].namespace: expected none: objects of kind Node have no "
                    "namespace"},
        BadScenario{"actions: [{at: 1s, delete: [{kind: Node, name: a, gracePeriodSeconds: 1}]}]\n",
                    "file.yaml: line 3, actions[0].delete[0].gracePeriodSeconds: expected none: only a Pod has a grace "
                    "period"},
        BadScenario{"actions: [{at: 1s, delete: [{kind: Pod, name: a, gracePeriodSeconds: -1}]}]\n",
                    "file.yaml: line 3, actions[0].delete[0].gracePeriodSeconds: got -1, expected seconds from 0 to "
                    "3153600000"},
        BadScenario{"actions: [{at: 1s, update: [{kind: Node, name: a}]}]\n",
                    "file.yaml: line 3, actions[0].update[0]: expected labels, unschedulable or taints"},
        BadScenario{"actions: [{at: 1s, update: [{kind: Pod, name: a}]}]\n",
                    "file.yaml: line 3, actions[0].update[0].kind: got \"Pod\", expected Node, PersistentVolume, "
                    "PersistentVolumeClaim, StorageClass, CSINode, CSIDriver, CSIStorageCapacity or VolumeAttachment"},
        BadScenario{"arrivals: [{every: 1s}]\n",
                    "file.yaml: line 3, arrivals[0].template: absent, expected a Pod, or a workload such as a "
                    "Deployment"},
        BadScenario{"arrivals: [{template: {apiVersion: v1, kind: Node, metadata: {name: n1}}}]\n",
                    "file.yaml: line 3, arrivals[0].template: expected a Pod, or a workload such as a Deployment"},
        BadScenario{"arrivals: [{count: 2, template: " + pod_text("a") + "}]\n",
                    "file.yaml: line 3, arrivals[0].every: absent, " + kDuration},
        BadScenario{"arrivals: [{count: 0, template: " + pod_text("a") + "}]\n",
                    "file.yaml: line 3, arrivals[0].count: got 0, expected an integer from 1 to 1000000"},
        BadScenario{"arrivals: [{every: 10000h, count: 1000, template: " + pod_text("a") + "}]\n",
                    "file.yaml: line 3, arrivals[0].every: the last arrival would come after 876000h, expected a "
                    "shorter interval or a smaller count"},
        BadScenario{
            "arrivals: [{every: 1s, count: 600000, template: " + deployment_text("web", 2) + "}]\n",
            "file.yaml: line 3, arrivals[0].template: makes 1200000 pods, expected at most 1000000 from the whole "
            "scenario, of which 0 are made before"},
        BadScenario{
            "arrivals: [{template: " + deployment_text("web", 1000001) + "}]\n",
            "file.yaml: line 3, arrivals[0].template (Deployment default/web): asks for 1000001 more pods, expected "
            "at most 1000000 from all workloads together, of which 0 are made"},
        BadScenario{
            "actions: [{at: 0s, create: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: "
            "{priorityClassName: none, containers: [{name: c}]}}]}]\n",
            "file.yaml: line 3, actions[0].create[0] (Pod default/a): spec.priorityClassName: got \"none\", expected a "
            "PriorityClass of the input, since spec.priority is absent. To add what is missing: kubectl get "
            "priorityclasses -A -o json, or all that Berth reads: " +
                std::string(kDumpCommand)}));

TEST(ScenarioReader, TheTypeIsChecked) {
  EXPECT_THROW(parse_scenario("kind: BerthScenario\n", "f"), InputError);
  EXPECT_THROW(parse_scenario("apiVersion: berth.dev/v1\nkind: BerthScenario\n", "f"), InputError);
  EXPECT_THROW(parse_scenario(kHead + "---\n" + kHead, "f"), InputError);
}

TEST(ScenarioReader, FindingsAreWarningsWithTheirPlace) {
  std::vector<std::string> warnings;
  make_scenario(
      parse_scenario(kHead + "actions:\n- at: 0s\n  create:\n  - {apiVersion: v1, kind: Pod, metadata: {name: "
                             "a}, spec: {contaners: [], containers: [{name: c}]}}\n",
                     "file.yaml"),
      {}, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("file.yaml: line 6, actions[0].create[0].spec.contaners")) << warnings[0];
}

TEST(ScenarioReader, ManyCopiesOfAHugeTemplateAreAnError) {
  const std::string huge = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: " + std::string(10'000, 'x') +
                           "}}, spec: {containers: [{name: c}]}}";
  const std::string error = error_of("arrivals: [{every: 0s, count: 1000000, template: " + huge + "}]\n");
  EXPECT_EQ(
      error,
      "file.yaml: line 3, arrivals[0].template (Pod default/p): makes 1000000 pods of 10111 bytes, expected at most "
      "4294967296 bytes in all");
}

TEST(ScenarioReader, MoreEntriesThanAllowedAreAnError) {
  std::string text = "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"BerthScenario\",\"actions\":[";
  for (std::size_t i = 0; i <= kScenarioActionsMax; ++i)
    text += std::string(i == 0 ? "" : ",") + R"({"at":"1s","delete":[{"kind":"Pod","name":"p"}]})";
  try {
    parse_scenario(text + "]}", "f");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "f: line 1, actions: got 100001 entries, expected at most 100000");
  }
}

/// Files in a folder of their own.
class ScenarioFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(folder / name) << content;
    return (folder / name).string();
  }
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("berth_scenario_" + std::to_string(getpid()));
};

TEST_F(ScenarioFiles, AreToldFromDumps) {
  EXPECT_TRUE(holds_scenario(write("a.yaml", kHead)));
  EXPECT_FALSE(holds_scenario(write("b.yaml", "apiVersion: v1\nkind: List\nitems: []\n")));
  EXPECT_FALSE(holds_scenario(write("c.yaml", "{")));
  EXPECT_FALSE(holds_scenario(folder.string()));
  EXPECT_FALSE(holds_scenario("-"));
  EXPECT_FALSE(holds_scenario((folder / "none").string()));
}

TEST_F(ScenarioFiles, RelativeClustersLieBesideTheScenario) {
  const ScenarioFile file = load_scenario(write("a.yaml", kHead + "clusters: [c.yaml, /d.yaml]\n"));
  EXPECT_EQ(file.clusters, (std::vector<std::string>{(folder / "c.yaml").string(), "/d.yaml"}));
}

TEST(StartOf, ReadsTheTimesOfPods) {
  ClusterObjects cluster;
  EXPECT_EQ(start_of(cluster, StartRule::kLatest), kDefaultStartUs);
  EXPECT_EQ(start_of(cluster, StartRule::kEarliest), kDefaultStartUs);
  const auto add = [&](std::int64_t creation_us, std::int64_t start_us, const std::string& node) {
    auto pod = std::make_shared<Pod>();
    pod->creation_time_us = creation_us;
    pod->start_time_us = start_us;
    pod->node_name = node;
    cluster.pods.push_back(pod);
  };
  add(3, 9, "n");
  add(5, 0, "");
  add(7, 0, "");
  EXPECT_EQ(start_of(cluster, StartRule::kLatest), 9);
  EXPECT_EQ(start_of(cluster, StartRule::kEarliest), 5);
}

/// Whatever a text has become, it is read or refused with an InputError that names the source.
TEST(ScenarioReader, AnyTextIsReadOrRefused) {
  const std::string seed_text =
      kHead + "start: earliest\nuntil: 1h\nactions:\n- at: 1s\n  create: [" + pod_text("a") +
      "]\n  delete: [{kind: Pod, name: b}]\n  update: [{kind: Node, name: n1, labels: {a: null}}]\narrivals:\n- {at: "
      "1s, every: 2s, count: 3, template: " +
      deployment_text("web", 2) + "}\n";
  const std::vector<std::string> words = {"null", "{}", "[]", "-1s", "\"", "\n", ": ", "999999999999h", "Pod", "\xff"};
  std::mt19937 dice(20260101);
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = seed_text;
    for (int edits = 0; edits < 1 + i % 3; ++edits) {
      const std::size_t at = dice() % text.size();
      const std::size_t length = std::min<std::size_t>(dice() % 6, text.size() - at);
      text.replace(at, length, dice() % 2 == 0 ? words[dice() % words.size()] : std::string());
    }
    try {
      std::vector<std::string> warnings;
      make_scenario(parse_scenario(text, "file.yaml"), {}, warnings);
      ++read;
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("file.yaml")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace berth
