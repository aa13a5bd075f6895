// SPDX-License-Identifier: Apache-2.0
#include "host/perf/workload_plan.h"

#include <gtest/gtest.h>

#include "host/objects/errors.h"
#include "tests/unit/perf/perf_files.h"

namespace berth {
namespace {

using test::small_plan;

constexpr const char* kMeasure =
    "  - {opcode: createPods, count: 1, collectMetrics: true, podTemplatePath: pod.yaml}\n";

std::string error_of(const std::string& ops, const std::string& workload) {
  try {
    return "no error but: " + small_plan(ops, workload).skip_reason;
  } catch (const InputError& error) {
    const InputProblem& problem = error.problems().front();
    return problem.location + ": " + problem.message;
  }
}

TEST(WorkloadPlan, FillsParameters) {
  const WorkloadPlan plan =
      small_plan("  - {opcode: createNodes, countParam: $nodes}\n" + std::string(kMeasure), "    params: {nodes: 3}\n");
  EXPECT_EQ(plan.name, "Case/Small");
  EXPECT_EQ(plan.skip_reason, "");
  EXPECT_EQ(std::get<CreateNodesOp>(plan.ops.at(0).op).count.value, 3);
}

TEST(WorkloadPlan, NamesNamespacesByThePositionOfTheOperation) {
  const WorkloadPlan plan = small_plan(
      "  - opcode: createPodSets\n    count: 2\n    namespacePrefix: set\n"
      "    createPodsOp: {opcode: createPods, count: 1, podTemplatePath: pod.yaml}\n" +
      std::string(kMeasure));
  ASSERT_EQ(plan.ops.size(), 3u);
  EXPECT_EQ(std::get<CreatePodsOp>(plan.ops[1].op).namespace_, "set-1");
  EXPECT_EQ(std::get<CreatePodsOp>(plan.ops[2].op).namespace_, "namespace-2");
  EXPECT_EQ(std::get<PodPtr>(plan.ops[2].objects.at(0).at(0).object)->namespace_, "namespace-2");
}

TEST(WorkloadPlan, ReportsParametersThatAreMissingOrNotUsed) {
  EXPECT_EQ(error_of("  - {opcode: createNodes, countParam: $nodes}\n" + std::string(kMeasure), ""),
            "Case/Small: the parameter \"nodes\" is not defined");
  EXPECT_EQ(
      error_of("  - {opcode: createNodes, countParam: $nodes}\n" + std::string(kMeasure), "    params: {nodes: a}\n"),
      "Case/Small: the parameter \"nodes\" has another kind, expected a number");
  EXPECT_EQ(error_of(kMeasure, "    params: {m: 4}\n"), "Case/Small: parameters that no operation uses: m");
}

TEST(WorkloadPlan, SaysWhyAWorkloadIsSkipped) {
  const std::string measure = kMeasure;
  EXPECT_EQ(small_plan("  - {opcode: createResourceDriver, driverName: d}\n" + measure).skip_reason,
            "the operation createResourceDriver");
  EXPECT_EQ(small_plan("  - {opcode: createAny, templatePath: device-class.yaml}\n" + measure).skip_reason,
            "DeviceClass objects");
  EXPECT_EQ(small_plan("  - {opcode: createPods, count: 1, podTemplatePath: claim-pod.yaml, collectMetrics: true}\n")
                .skip_reason,
            "pods with resource claims");
  EXPECT_EQ(small_plan(measure, "    thresholdMetricSelector: {name: scheduler_x}\n").skip_reason,
            "a threshold of the metric scheduler_x");
}

TEST(WorkloadPlan, PodsHaveVolumesAndNodesCsiNodesWhereTheFileSaysSo) {
  const WorkloadPlan plan = small_plan(
      "  - opcode: createNodes\n    count: 1\n    nodeAllocatableStrategy:\n"
      "      csiNodeAllocatable: {a.b: {count: 20}}\n      migratedPlugins: [kubernetes.io/aws-ebs]\n"
      "  - {opcode: createPods, count: 2, collectMetrics: true, persistentVolumeTemplatePath: volume.yaml, "
      "persistentVolumeClaimTemplatePath: claim.yaml}\n");
  ASSERT_EQ(plan.skip_reason, "");
  const auto& strategy = std::get<SetNodeAllocatable>(std::get<CreateNodesOp>(plan.ops[0].op).strategy);
  ASSERT_EQ(strategy.drivers.size(), 1U);
  EXPECT_EQ(strategy.drivers[0].limit, 20);
  EXPECT_EQ(strategy.migrated_plugins, std::vector<std::string>{"kubernetes.io/aws-ebs"});
  ASSERT_EQ(plan.ops[1].objects.size(), 3U);
  EXPECT_EQ(std::get<SharedObject<VolumeClaim>>(plan.ops[1].objects[2].at(0).object)->namespace_, "namespace-1");
  EXPECT_EQ(
      error_of("  - {opcode: createPods, count: 1, collectMetrics: true, persistentVolumeTemplatePath: volume.yaml}\n",
               ""),
      "Case/Small: expected persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath, or neither");
}

TEST(WorkloadPlan, AScaleMultipliesPodsAndWhatNodesOffer) {
  const std::string ops =
      "  - opcode: createNodes\n    count: 3\n    nodeAllocatableStrategy: {csiNodeAllocatable: {a.b: {count: 20}}}\n"
      "  - {opcode: createNamespaces, prefix: set, count: 2}\n"
      "  - {opcode: createAny, templatePath: volume.yaml, count: 4}\n"
      "  - {opcode: createPodSets, count: 2, namespacePrefix: set, createPodsOp: {opcode: createPods, count: 5}}\n"
      "  - {opcode: createPods, count: 2, collectMetrics: true}\n";
  const WorkloadPlan plan = small_plan(ops, "", {20});
  ASSERT_EQ(plan.skip_reason, "");
  const auto& nodes = std::get<CreateNodesOp>(plan.ops.at(0).op);
  EXPECT_EQ(nodes.count.value, 3);
  EXPECT_EQ(std::get<SetNodeAllocatable>(nodes.strategy).drivers.at(0).limit, 400);
  const Node& node = *std::get<NodePtr>(plan.ops[0].objects.at(0).at(0).object);
  EXPECT_EQ(node.allocatable.milli_cpu, 80'000);
  EXPECT_EQ(node.allocatable.memory_bytes, std::int64_t{640} << 30);
  EXPECT_EQ(node.allowed_pod_number, 2200);
  EXPECT_EQ(std::get<CreateNamespacesOp>(plan.ops.at(1).op).count.value, 2);
  EXPECT_EQ(std::get<CreateAnyOp>(plan.ops.at(2).op).count.value, 80);
  ASSERT_EQ(plan.ops.size(), 6U);
  EXPECT_EQ(std::get<CreatePodsOp>(plan.ops.at(4).op).count.value, 100);
  EXPECT_EQ(std::get<CreatePodsOp>(plan.ops.at(5).op).count.value, 40);
  EXPECT_EQ(small_plan("  - {opcode: createPods, count: 60000, collectMetrics: true}\n", "", {20}).skip_reason,
            "an operation that creates 20 times 60000 objects, more than 1000000");
}

TEST(WorkloadPlan, RunsWithHintsWhereTheFileTurnsThemOff) {
  EXPECT_TRUE(small_plan(kMeasure, "    featureGates: {SchedulerQueueingHints: false}\n").hints_on);
  EXPECT_FALSE(small_plan(kMeasure, "    featureGates: {SchedulerQueueingHints: true}\n").hints_on);
}

TEST(WorkloadPlan, TurnsOpportunisticBatchingOffUnlessTheFileSetsIt) {
  EXPECT_FALSE(small_plan(kMeasure).config.gates.enabled("OpportunisticBatching"));
  EXPECT_TRUE(small_plan(kMeasure, "    featureGates: {OpportunisticBatching: true}\n")
                  .config.gates.enabled("OpportunisticBatching"));
}

TEST(WorkloadPlan, TakesExtendedResourcesOfDevicesForOffWithoutADeviceClass) {
  const WorkloadPlan plan = small_plan(kMeasure, "    featureGates: {DRAExtendedResource: true}\n");
  EXPECT_EQ(plan.skip_reason, "");
  EXPECT_FALSE(plan.config.gates.enabled("DRAExtendedResource"));
}

TEST(WorkloadPlan, SkipsGatesThatTheReleaseCannotHave) {
  const std::string reason = small_plan(kMeasure, "    featureGates: {SidecarContainers: false}\n").skip_reason;
  EXPECT_NE(reason.find("SidecarContainers"), std::string::npos) << reason;
}

TEST(WorkloadPlan, SkipsGangScheduling) {
  const std::string reason =
      small_plan(kMeasure, "    featureGates: {GenericWorkload: true, GangScheduling: true}\n").skip_reason;
  EXPECT_EQ(reason, "feature gates: GenericWorkload: got true, but gang scheduling is not built");
}

TEST(WorkloadPlan, SkipsConfigurationsThatAskForWhatIsNotBuilt) {
  const auto reason = [](const std::string& path) {
    PerfFile file = test::small_file(kMeasure);
    file.cases.at(0).scheduler_config_path = path;
    return plan_workload(file, file.cases.at(0), file.cases.at(0).workloads.at(0), PlanDepth::kWhole).skip_reason;
  };
  EXPECT_EQ(
      reason("extender.yaml"),
      "what extender.yaml asks for: line 3, extenders[0]: extender http://e is configured, but extenders are not built "
      "yet");
  const std::string out_of_tree = reason("out-of-tree.yaml");
  EXPECT_EQ(out_of_tree.rfind("what out-of-tree.yaml asks for: ", 0), 0U) << out_of_tree;
  EXPECT_NE(out_of_tree.find("\"Coscheduling\""), std::string::npos) << out_of_tree;
}

}  // namespace
}  // namespace berth
