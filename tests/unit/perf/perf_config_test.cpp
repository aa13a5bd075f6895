// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_config.h"

#include <gtest/gtest.h>

#include "host/objects/errors.h"

namespace berth {
namespace {

constexpr const char* kFile = R"(
# A file in the form of scheduler_perf.
- name: Spread
  labels: [performance]
  featureGates: {SchedulerQueueingHints: true}
  defaultPodTemplatePath: ../templates/pod.yaml
  schedulerConfigPath: config.yaml
  metricsCollectorConfig: {metrics: {}}
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
    nodeTemplatePath: node.yaml
    labelNodePrepareStrategy:
      labelKey: zone
      labelValues: [a, b]
  - opcode: createPodSets
    count: 2
    namespacePrefix: set
    createPodsOp: {opcode: createPods, countParam: $pods, skipWaitToCompletion: true}
  - opcode: churn
    mode: recreate
    number: 3
    intervalMilliseconds: 250
    templatePaths: [a.yaml, b.yaml]
  - opcode: deletePods
    namespace: set-0
    labelSelector: {app: x}
    deletePodsPerSecond: 50
    skipWaitToCompletion: true
  - opcode: updateAny
    templatePath: u.yaml
    updatePerSecond: 100
    subresources: [resize]
  - opcode: barrier
    stageRequirement: Attempted
    namespaces: [set-0]
  - opcode: sleep
    duration: 1m30s
  - opcode: createResourceDriver
    driverName: test
  - opcode: createPods
    countParam: $pods
    collectMetrics: true
    steadyStateParam: $steady
    durationParam: $time
    namespace: measured
  workloads:
  - name: 5Nodes/1Init
    labels: [short]
    threshold: {dra: 40}
    params: {nodes: 5, pods: 7, steady: false, time: 10s}
  - name: 500Nodes
    threshold: 62.5
    thresholdMetricSelector: {name: scheduler_x, labels: {a: b}, expectLower: true}
)";

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_perf_file(text, "p.yaml"));
  } catch (const InputError& error) {
    std::string all;
    for (const InputProblem& problem : error.problems()) all += problem.to_string() + "\n";
    return all;
  }
  return "no error";
}

/// A test case with one operation beside the one that collects metrics.
std::string with_op(const std::string& op) {
  return "- name: C\n  workloads: [{name: W}]\n  workloadTemplate:\n  - {opcode: createPods, collectMetrics: true}\n  "
         "- " +
         op + "\n";
}

TEST(PerfConfig, ReadsTestCasesAndWorkloads) {
  const PerfFile file = parse_perf_file(kFile, "folder/topic/p.yaml");
  EXPECT_EQ(file.folder, "folder/topic/");
  EXPECT_EQ(file.topic, "topic");
  ASSERT_EQ(file.cases.size(), 1u);
  const PerfTestCase& test_case = file.cases[0];
  EXPECT_EQ(test_case.pod_template_path, "../templates/pod.yaml");
  EXPECT_EQ(test_case.scheduler_config_path, "config.yaml");
  EXPECT_TRUE(test_case.gates.at("SchedulerQueueingHints"));
  ASSERT_EQ(test_case.workloads.size(), 2u);
  EXPECT_EQ(test_case.workloads[0].name, "5Nodes/1Init");
  EXPECT_EQ(std::get<double>(test_case.workloads[0].params.at("nodes")), 5);
  EXPECT_FALSE(std::get<bool>(test_case.workloads[0].params.at("steady")));
  EXPECT_EQ(std::get<std::string>(test_case.workloads[0].params.at("time")), "10s");
  EXPECT_EQ(test_case.workloads[1].threshold_metric, "scheduler_x");
}

TEST(PerfConfig, ReadsEveryOperation) {
  const std::vector<PerfOp> ops = parse_perf_file(kFile, "p.yaml").cases[0].ops;
  ASSERT_EQ(ops.size(), 9u);
  const auto& nodes = std::get<CreateNodesOp>(ops[0]);
  EXPECT_EQ(nodes.count.param, "nodes");
  EXPECT_EQ(std::get<LabelNodes>(nodes.strategy).values, std::vector<std::string>({"a", "b"}));
  EXPECT_TRUE(std::get<CreatePodSetsOp>(ops[1]).pods.skip_wait);
  const auto& churn = std::get<ChurnOp>(ops[2]);
  EXPECT_TRUE(churn.recreates);
  EXPECT_EQ(churn.interval_us, 250'000);
  EXPECT_EQ(churn.template_paths.size(), 2u);
  EXPECT_EQ(std::get<DeletePodsOp>(ops[3]).selector.at("app"), "x");
  EXPECT_EQ(std::get<UpdateAnyOp>(ops[4]).subresources, std::vector<std::string>({"resize"}));
  EXPECT_TRUE(std::get<BarrierOp>(ops[5]).waits_for_attempt);
  EXPECT_EQ(std::get<SleepOp>(ops[6]).duration_us, 90'000'000);
  EXPECT_EQ(std::get<UnsupportedOp>(ops[7]).opcode, "createResourceDriver");
  const auto& pods = std::get<CreatePodsOp>(ops[8]);
  EXPECT_TRUE(pods.collect_metrics);
  EXPECT_EQ(pods.duration_param, "time");
  EXPECT_EQ(pods.namespace_, "measured");
}

TEST(PerfConfig, FindsTheThresholdOfATopic) {
  const PerfTestCase test_case = parse_perf_file(kFile, "p.yaml").cases[0];
  EXPECT_EQ(test_case.workloads[0].threshold.of("dra"), 40);
  EXPECT_EQ(test_case.workloads[0].threshold.of("misc"), 0);
  EXPECT_EQ(test_case.workloads[1].threshold.of("misc"), 62.5);
}

TEST(PerfConfig, NamesUnknownFieldsAndOperations) {
  EXPECT_EQ(error_of(with_op("{opcode: createPods, cuont: 3}")),
            "p.yaml: line 5, [0].workloadTemplate[1].cuont: unknown field\n");
  EXPECT_EQ(
      error_of(with_op("{opcode: dance}")),
      "p.yaml: line 5, [0].workloadTemplate[1].opcode: got \"dance\", expected an operation of scheduler_perf, such as "
      "\"createPods\"\n");
  EXPECT_EQ(
      error_of(with_op("{opcode: createPods, countParam: nodes}")),
      "p.yaml: line 5, [0].workloadTemplate[1].countParam: got \"nodes\", expected the name of a parameter, such as "
      "\"$initNodes\"\n");
  EXPECT_EQ(error_of(with_op("{opcode: churn, mode: shake, templatePaths: [a]}")),
            "p.yaml: line 5, [0].workloadTemplate[1].mode: got \"shake\", expected create or recreate\n");
}

TEST(PerfConfig, RefusesWhatUpstreamRefuses) {
  EXPECT_NE(error_of("[]").find("no test cases"), std::string::npos);
  EXPECT_NE(error_of("{}").find("expected a list of test cases"), std::string::npos);
  EXPECT_NE(error_of("- name: C\n  workloads: [{name: W}]\n  workloadTemplate: [{opcode: createNodes, count: 1}]\n")
                .find("no operation collects metrics"),
            std::string::npos);
  EXPECT_NE(error_of(with_op("{opcode: createPods, collectMetrics: true, skipWaitToCompletion: true}"))
                .find("collectMetrics and skipWaitToCompletion are both true"),
            std::string::npos);
  EXPECT_NE(error_of(with_op("{opcode: churn, mode: recreate, templatePaths: [a]}")).find("needs a number above 0"),
            std::string::npos);
  EXPECT_NE(error_of("- name: C\n  workloads: [{name: W}, {name: W}]\n  workloadTemplate: [{opcode: "
                     "stopCollectingMetrics}]\n")
                .find("a second workload of the name W"),
            std::string::npos);
}

TEST(PerfConfig, KeepsWithinItsLimits) {
  EXPECT_EQ(error_of(with_op("{opcode: createPods, count: 1000001}")),
            "p.yaml: line 5, [0].workloadTemplate[1].count: got 1000001, expected an integer from 0 to 1000000\n");
  const std::string name(254, 'n');
  EXPECT_EQ(error_of("- name: " + name +
                     "\n  workloads: [{name: W}]\n  workloadTemplate: [{opcode: createPods, "
                     "collectMetrics: true}]\n"),
            "p.yaml: line 1, [0]: a name of 254 bytes, expected at most 253\n");
}

TEST(PerfConfig, SelectsByLabels) {
  const PerfTestCase test_case = parse_perf_file(kFile, "p.yaml").cases[0];
  const auto selects = [&](const char* filter) { return matches_labels(filter, test_case, test_case.workloads[0]); };
  EXPECT_TRUE(selects(""));
  EXPECT_TRUE(selects("performance"));
  EXPECT_TRUE(selects("+short,performance"));
  EXPECT_FALSE(selects("-short"));
  EXPECT_FALSE(selects("integration-test"));
}

}  // namespace
}  // namespace berth
