// SPDX-License-Identifier: Apache-2.0
#include "host/perf/workload_run.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/perf/perf_files.h"

namespace berth {
namespace {

/// Gives every pending pod the first node that is not cordoned, `pods_per_second` at most, and marks pods as tried that
/// find none.
class FirstNodeScheduler final : public PerfScheduler {
 public:
  FirstNodeScheduler(ObjectStore& store, VirtualClock& clock, std::int64_t pods_per_second)
      : store_(store), clock_(clock), us_each_(pods_per_second > 0 ? 1'000'000 / pods_per_second : 0) {}

  std::size_t run(std::size_t attempts_max) override {
    std::size_t tried = 0;
    if (volumes_at_first_pod < 0 && store_.count<Pod>() > 0)
      volumes_at_first_pod = static_cast<std::int64_t>(store_.count<PersistentVolume>());
    for (const StoredPodPtr& pod : store_.list<Pod>().items) {
      if (tried == attempts_max) break;
      if (!pod->object->node_name.empty() || !pod->object->rare().scheduling_gates.empty()) continue;
      if (attempt(*pod)) ++tried;
    }
    return tried;
  }
  std::int64_t next_wake_us() const override { return kNeverUs; }
  std::int64_t preempted() const override { return 0; }

  std::int64_t volumes_at_first_pod = -1;

 private:
  bool attempt(const StoredPod& pod) {
    const std::string node = free_node();
    if (node.empty() && pod.find_condition("PodScheduled") != nullptr) return false;
    clock_.advance_by(us_each_);
    if (node.empty()) {
      PodStatusPatch patch;
      patch.conditions.push_back({"PodScheduled", ConditionStatus::kFalse, "Unschedulable", "", 0, 0});
      return store_.update_status(key_of(*pod.object), patch).is_success();
    }
    PodBinding binding;
    binding.namespace_ = pod.object->namespace_;
    binding.name = pod.object->name;
    binding.node_name = node;
    return store_.bind(binding).is_success();
  }
  std::string free_node() const {
    for (const auto& node : store_.list<Node>().items)
      if (!node->object->unschedulable) return node->object->name;
    return {};
  }

  ObjectStore& store_;
  VirtualClock& clock_;
  std::int64_t us_each_;
};

/// A run on a virtual clock.
struct Bench {
  VirtualClock clock{1'000'000'000};
  ObjectStore store{clock};
  std::function<void(std::int64_t)> sleep_until = [this](std::int64_t time_us) { clock.advance_to(time_us); };
  WorkloadRunOptions options;
  std::int64_t pods_per_second = 1000;
  std::int64_t volumes_at_first_pod = 0;

  std::vector<PerfMeasurement> run(const std::string& ops) {
    FirstNodeScheduler scheduler(store, clock, pods_per_second);
    const WorkloadPlan plan = test::small_plan(ops);
    EXPECT_EQ(plan.skip_reason, "");
    auto measured = WorkloadRun(store, scheduler, sleep_until, options).execute(plan.ops);
    volumes_at_first_pod = scheduler.volumes_at_first_pod;
    return measured;
  }
  std::string error_of(const std::string& ops) {
    try {
      run(ops);
    } catch (const WorkloadError& error) {
      return error.what();
    }
    return "no error";
  }
};

constexpr const char* kNodes = "  - {opcode: createNodes, count: 3, nodeTemplatePath: nodes.yaml}\n";
constexpr const char* kMeasure =
    "  - {opcode: createPods, count: 100, collectMetrics: true, podTemplatePath: pod.yaml}\n";

TEST(WorkloadRun, MeasuresPodsUntilTheLastIsScheduled) {
  Bench bench;
  const std::vector<PerfMeasurement> measured = bench.run(std::string(kNodes) + kMeasure);
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].name, "namespace-1");
  EXPECT_EQ(measured[0].pods, 100);
  EXPECT_EQ(measured[0].elapsed_us, 100'000);
  EXPECT_DOUBLE_EQ(measured[0].pods_per_second(), 1000);
  EXPECT_FALSE(measured[0].throughput.has_value());
}

TEST(WorkloadRun, EachPodHasItsClaimAndVolumeAndEachNodeItsCsiNode) {
  Bench bench;
  bench.run(
      "  - {opcode: createNodes, count: 3, nodeTemplatePath: nodes.yaml, "
      "nodeAllocatableStrategy: {csiNodeAllocatable: {a.b: {count: 20}}}}\n"
      "  - {opcode: createPods, count: 2, collectMetrics: true, podTemplatePath: pod.yaml, "
      "persistentVolumeTemplatePath: volume.yaml, persistentVolumeClaimTemplatePath: claim.yaml}\n");
  EXPECT_EQ(bench.store.count<CsiNode>(), 3U);
  EXPECT_EQ(bench.store.count<PersistentVolume>(), 2U);
  EXPECT_EQ(bench.store.list<VolumeClaim>().items.back()->object->volume_name, "namespace-1-vol-1");
  std::set<std::string> claims;
  for (const StoredPodPtr& pod : bench.store.list<Pod>().items) claims.insert(pod->object->rare().volumes.at(0).name);
  EXPECT_EQ(claims, (std::set<std::string>{"pvc-0", "pvc-1"}));
}

TEST(WorkloadRun, VolumesAreThereBeforeTheMeasurementWhereTheyComeFirst) {
  const std::string ops = std::string(kNodes) +
                          "  - {opcode: createPods, count: 1500, collectMetrics: true, podTemplatePath: pod.yaml, "
                          "persistentVolumeTemplatePath: volume.yaml, persistentVolumeClaimTemplatePath: claim.yaml}\n";
  for (const bool volumes_first : {false, true}) {
    Bench bench;
    bench.options.volumes_first = volumes_first;
    const std::vector<PerfMeasurement> measured = bench.run(ops);
    EXPECT_EQ(measured.at(0).pods, 1500);
    EXPECT_EQ(bench.volumes_at_first_pod, volumes_first ? 1500 : 1024);
    EXPECT_EQ(bench.store.count<VolumeClaim>(), 1500U);
  }
}

TEST(WorkloadRun, SamplesWhereARunTakesSeconds) {
  Bench bench;
  bench.pods_per_second = 10;
  bench.options.rate.rate_factor = 1;
  const std::vector<PerfMeasurement> measured = bench.run(
      std::string(kNodes) +
      "  - {opcode: startCollectingMetrics, namespaces: [x]}\n"
      "  - {opcode: createPods, count: 40, podTemplatePath: pod.yaml, skipWaitToCompletion: true, namespace: x}\n"
      "  - {opcode: sleep, duration: 10s}\n  - {opcode: barrier}\n  - {opcode: stopCollectingMetrics}\n");
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].pods, 40);
  EXPECT_EQ(measured[0].elapsed_us, 4'000'000);
}

TEST(WorkloadRun, LabelsNodesInTheOrderOfTheirNames) {
  Bench bench;
  bench.run(
      "  - opcode: createNodes\n    count: 3\n    nodeTemplatePath: nodes.yaml\n"
      "    labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}\n" +
      std::string(kMeasure));
  std::string zones;
  for (const auto& node : bench.store.list<Node>().items) {
    zones += *node->object->labels.find("zone");
    EXPECT_EQ(node->object->labels.find("kubernetes.io/hostname"), node->object->name);
    EXPECT_TRUE(node->object->name.starts_with("made-"));
  }
  EXPECT_EQ(zones, "aba");
}

TEST(WorkloadRun, WaitsAtABarrierUntilPodsWereTried) {
  Bench bench;
  bench.run(
      "  - {opcode: createNodes, count: 2, nodeTemplatePath: numbered-node.yaml}\n"
      "  - {opcode: startCollectingMetrics, namespaces: [x]}\n"
      "  - {opcode: createPods, count: 4, podTemplatePath: numbered-pod.yaml, namespace: x, skipWaitToCompletion: "
      "true}\n"
      "  - {opcode: barrier, stageRequirement: Attempted}\n"
      "  - {opcode: updateAny, count: 2, templatePath: numbered-node-update.yaml, updatePerSecond: 10}\n"
      "  - {opcode: barrier}\n  - {opcode: stopCollectingMetrics}\n");
  const auto node = bench.store.get<Node>(ObjectKey{{}, "node-1", {}});
  ASSERT_NE(node, nullptr);
  EXPECT_FALSE(node->object->unschedulable);
  EXPECT_EQ(node->object->labels.find("ready"), "yes");
  for (const StoredPodPtr& pod : bench.store.list<Pod>().items) EXPECT_FALSE(pod->object->node_name.empty());
}

TEST(WorkloadRun, DeletesPodsAtARateWhileOthersAreMeasured) {
  Bench bench;
  bench.options.rate = {100, 50};
  const std::vector<PerfMeasurement> measured =
      bench.run(std::string(kNodes) +
                "  - {opcode: createPods, count: 30, podTemplatePath: pod.yaml, namespace: old}\n"
                "  - {opcode: deletePods, namespace: old, labelSelector: {kind: plain}, deletePodsPerSecond: 5, "
                "skipWaitToCompletion: true}\n" +
                kMeasure);
  // At 50 pods a second, 100 pods take two seconds: ten deletions.
  EXPECT_EQ(measured.at(0).missing, 0);
  EXPECT_GE(measured.at(0).background.deleted, 10);
  EXPECT_EQ(bench.store.count<Pod>(), 130u - static_cast<std::size_t>(measured.at(0).background.deleted));
}

TEST(WorkloadRun, KeepsPodsComingInASteadyState) {
  Bench bench;
  const std::vector<PerfMeasurement> measured = bench.run(
      std::string(kNodes) +
      "  - {opcode: createPods, count: 10, steadyState: true, duration: 1s, collectMetrics: true, podTemplatePath: "
      "pod.yaml}\n");
  EXPECT_GE(measured.at(0).pods, 900);
  EXPECT_LE(bench.store.count<Pod>(), 10u);
}

TEST(WorkloadRun, EndsWhenNothingIsLeftToHappen) {
  Bench bench;
  EXPECT_EQ(
      bench.error_of("  - {opcode: createNodes, count: 1, nodeTemplatePath: numbered-node.yaml}\n"
                     "  - {opcode: createPods, count: 3, collectMetrics: true, podTemplatePath: pod.yaml}\n"),
      "operation 1: nothing is left to happen: 0 of 3 pods of the namespace namespace-1 are scheduled, 3 more were "
      "tried");
}

TEST(WorkloadRun, NamesTheOperationThatFailed) {
  Bench bench;
  EXPECT_NE(bench
                .error_of("  - {opcode: createPods, count: 2, podTemplatePath: numbered-pod.yaml, namespace: x, "
                          "skipWaitToCompletion: true}\n"
                          "  - {opcode: createPods, count: 2, podTemplatePath: numbered-pod.yaml, namespace: x, "
                          "collectMetrics: true}\n")
                .find("operation 1: creating a pod in the namespace x: pods \"pod-0\" already exists"),
            std::string::npos);
  EXPECT_EQ(bench.error_of("  - {opcode: barrier, namespaces: [nowhere]}\n" + std::string(kMeasure)),
            "operation 0: the namespace nowhere is not known");
}

}  // namespace
}  // namespace berth
