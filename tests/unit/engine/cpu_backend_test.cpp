// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "batching/compiled_profile.h"
#include "host/cluster/engine_cluster.h"
#include "host/objects/errors.h"
#include "tests/support/evaluated.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"
#include "tests/unit/engine/cpu_bench.h"

namespace berth {
namespace {

using test::answers;
using test::place;
using Bench = test::CpuBench;

NodePtr node_from(const std::string& line) { return test::parse_scenario(line).objects.nodes.front(); }
PodPtr pod_from(const std::string& line) { return test::parse_scenario(line).objects.pods.front(); }

constexpr const char* kCluster =
    "node a*6 cpu=4 memory=8Gi zone=x\nnode b*5 cpu=8 memory=8Gi zone=y taint=soft:PreferNoSchedule\n"
    "node c*3 cpu=16 memory=64Gi res:nvidia.com/gpu=2 zone=x\n"
    "pod p*20 cpu=500m memory=500Mi\npod q*10 cpu=1 port=80\npod r*10 cpu=300m res:nvidia.com/gpu=1\n"
    "pod s*40 cpu=700m memory=100Mi tolerate=soft\n";

TEST(CpuBackendTest, APodLimitStopsTheBatchAndTheRestContinues) {
  Bench whole(kCluster);
  Bench parts(kCluster);
  const std::vector<std::string> expected = place(*whole.backend, whole.pods);
  std::vector<std::string> actual;
  while (actual.size() < parts.pods.size()) {
    const BatchResult result =
        parts.backend->commit_batch(std::span(parts.pods).subspan(actual.size()), {.pods_max = 13});
    const bool last = actual.size() + result.outcomes.size() == parts.pods.size();
    ASSERT_TRUE(result.outcomes.size() == 13 || last);
    EXPECT_EQ(result.stop, last ? StopReason::kDone : StopReason::kPodLimit);
    for (const std::string& line : answers(result, *parts.backend)) actual.push_back(line);
  }
  EXPECT_EQ(actual, expected);
}

TEST(CpuBackendTest, ADeadlineStopsAfterAtLeastOnePodAndTheRestContinues) {
  Bench whole(kCluster);
  Bench parts(kCluster);
  const std::vector<std::string> expected = place(*whole.backend, whole.pods);
  std::vector<std::string> actual;
  while (actual.size() < parts.pods.size()) {
    const BatchResult result =
        parts.backend->commit_batch(std::span(parts.pods).subspan(actual.size()), {.deadline_us = 1});
    ASSERT_FALSE(result.outcomes.empty());
    const bool last = actual.size() + result.outcomes.size() == parts.pods.size();
    EXPECT_EQ(result.stop, last ? StopReason::kDone : StopReason::kDeadline);
    for (const std::string& line : answers(result, *parts.backend)) actual.push_back(line);
  }
  EXPECT_EQ(actual, expected);
}

TEST(CpuBackendTest, StopOnFailureStopsTheBatch) {
  Bench bench("node n cpu=2\npod p*2 cpu=1\npod q cpu=1\npod r cpu=0\n");
  const BatchResult result = bench.backend->commit_batch(bench.pods, {.stop_at_failure = true});
  EXPECT_EQ(result.outcomes.size(), 3u);
  EXPECT_EQ(result.stop, StopReason::kPodWithoutNode);
  const BatchResult rest = bench.backend->commit_batch(std::span(bench.pods).subspan(3), {.stop_at_failure = true});
  EXPECT_EQ(rest.stop, StopReason::kDone);
  EXPECT_EQ(rest.outcomes.front().kind, OutcomeKind::kPlaced);
}

TEST(CpuBackendTest, AnEmptyBatchIsComplete) {
  Bench bench(kCluster);
  const BatchResult result = bench.backend->commit_batch({}, {});
  EXPECT_TRUE(result.outcomes.empty());
  EXPECT_EQ(result.stop, StopReason::kDone);
}

TEST(CpuBackendTest, EqualMessagesAreStoredOnce) {
  Bench bench("node n cpu=1\npod p*4 cpu=2\npod q cpu=3\n");
  const BatchResult result = bench.backend->commit_batch(bench.pods, {});
  EXPECT_EQ(result.messages,
            (std::vector<Message>{{"0/1 nodes are available: 1 Insufficient cpu.", {"NodeResourcesFit"}}}));
}

TEST(CpuBackendTest, AnUncompiledPodIsALogicError) {
  Bench bench(kCluster);
  const PodToPlace pod{bench.pods.front().pod, 0, -1};
  EXPECT_THROW(bench.backend->commit_batch({&pod, 1}, {}), std::logic_error);
}

TEST(CpuBackendTest, WithoutNodesEveryPodGetsTheNoNodesError) {
  Bench bench("pod p*2 cpu=1\n");
  EXPECT_EQ(place(*bench.backend, bench.pods),
            (std::vector<std::string>{"no nodes available to schedule pods", "no nodes available to schedule pods"}));
}

TEST(CpuBackendTest, WeightsTooLargeForKeysListTheNodes) {
  const std::int64_t others = max_total(default_scheduler_config(FeatureGates()).profiles.front()) / 100 - 1;
  const auto stats_with = [](std::int64_t weight) {
    Bench bench("config weight=NodeResourcesFit:" + std::to_string(weight) +
                "\nnode n*10 cpu=64 memory=64Gi\npod p*70 cpu=1m\n");
    EXPECT_EQ(place(*bench.backend, bench.pods).size(), 70u);
    return bench.backend->stats();
  };
  EXPECT_EQ(stats_with(327 - others).rows_built, 1);
  const BackendStats listed = stats_with(328 - others);  // equal pods are no run, either
  EXPECT_EQ(listed.rows_built, 0);
  EXPECT_EQ(listed.node_evaluations, 10 * 70);
}

TEST(CpuBackendTest, WeightsTooLargeForNodeSideRowsAreRefusedWithTheProfile) {
  const std::string text = "config weight=NodeResourcesFit:2147483000\nnode n cpu=1\n";
  try {
    Bench bench(text);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("default-scheduler"), std::string::npos) << error.what();
  }
}

TEST(CpuBackendTest, SmallTilesAndNoRowMemoryGiveTheSameResults) {
  Bench usual(kCluster);
  Bench starved(std::string(kCluster),
                {.slots_max = 1, .nodes_per_tile = 1000, .tiles_always = 1, .lookahead_pods = 0});
  starved.scenario.engine.row_bytes_max = 1;
  starved.backend = starved.open();
  for (PodToPlace& pod : starved.pods) pod.class_index = -1;
  starved.backend->compile(starved.pods);
  // Interleaved, so that every pod needs another tile than the previous one.
  const auto interleave = [](std::vector<PodToPlace>& pods) {
    std::vector<PodToPlace> mixed;
    for (std::size_t step = 0; step < 7; ++step)
      for (std::size_t i = step; i < pods.size(); i += 7) mixed.push_back(pods[i]);
    pods = mixed;
  };
  interleave(usual.pods);
  interleave(starved.pods);
  EXPECT_EQ(place(*starved.backend, starved.pods), place(*usual.backend, usual.pods));
  EXPECT_GT(starved.backend->stats().rows_built, usual.backend->stats().rows_built);
}

TEST(CpuBackendTest, ARollbackRestoresNodesPortsAndScores) {
  Bench bench(kCluster, {.min_run_pods = 2, .run_nodes_divisor = 1000});
  const std::span<const PodToPlace> pods(bench.pods);
  place(*bench.backend, pods.first(15));
  const CommitMark mark = bench.backend->mark();
  const std::vector<std::string> first = place(*bench.backend, pods.subspan(15));
  bench.backend->rollback(mark);
  EXPECT_EQ(bench.backend->mark().position, mark.position);
  EXPECT_EQ(place(*bench.backend, pods.subspan(15)), first);
}

TEST(CpuBackendTest, MarksNestAndARollbackMayUndoSeveral) {
  Bench bench(kCluster);
  const std::span<const PodToPlace> pods(bench.pods);
  const CommitMark start = bench.backend->mark();
  const std::vector<std::string> first = place(*bench.backend, pods.first(10));
  const CommitMark inner = bench.backend->mark();
  const std::vector<std::string> second = place(*bench.backend, pods.subspan(10, 30));
  bench.backend->rollback(inner);
  EXPECT_EQ(place(*bench.backend, pods.subspan(10, 30)), second);
  bench.backend->rollback(start);
  EXPECT_EQ(place(*bench.backend, pods.first(10)), first);
}

TEST(CpuBackendTest, AMarkFromTheFutureIsRefused) {
  Bench bench(kCluster);
  EXPECT_THROW(bench.backend->rollback({1}), std::out_of_range);
}

TEST(CpuBackendTest, AMarkFromBeforeSettleIsInvalid) {
  Bench bench(kCluster);
  const CommitMark mark = bench.backend->mark();
  bench.backend->commit_batch(std::span(bench.pods).first(3), {});
  bench.backend->settle();
  EXPECT_THROW(bench.backend->rollback(mark), std::out_of_range);
  bench.backend->rollback(bench.backend->mark());
}

TEST(CpuBackendTest, ARollbackRestoresAConsumedNomination) {
  Bench bench("node a cpu=4\nnode b cpu=4\npod chosen cpu=3 nominated=b priority=10\npod other*2 cpu=2\n");
  const CommitMark mark = bench.backend->mark();
  const std::vector<std::string> first = place(*bench.backend, bench.pods);
  EXPECT_EQ(first.front(), "b 0");
  bench.backend->rollback(mark);
  // Node b is reserved again, so only a accepts the others, both of them.
  const std::vector<std::string> others = place(*bench.backend, std::span(bench.pods).subspan(1));
  EXPECT_EQ(others, (std::vector<std::string>{"a 0", "a 0"}));
  bench.backend->rollback(mark);
  EXPECT_EQ(place(*bench.backend, bench.pods), first);
}

TEST(CpuBackendTest, ALateColumnIncludesEarlierPlacements) {
  Bench bench(
      "node n cpu=8 res:example.com/x=2\npod p cpu=1 res:example.com/x=2\npod q cpu=1\npod r cpu=1 "
      "res:example.com/x=1\n");
  std::span<PodToPlace> pods(bench.pods);
  bench.backend = bench.open();
  bench.backend->compile(pods.subspan(1, 1));
  place(*bench.backend, pods.subspan(1, 1));
  bench.backend->compile(pods.subspan(0, 1));
  place(*bench.backend, pods.subspan(0, 1));
  bench.backend->compile(pods.subspan(2, 1));
  EXPECT_EQ(place(*bench.backend, pods.subspan(2, 1)),
            (std::vector<std::string>{"0/1 nodes are available: 1 Insufficient example.com/x."}));
}

// apply(): the backend must equal one that is opened on the changed cluster.

/// The cluster with the placements so far.
class ChangedCluster {
 public:
  explicit ChangedCluster(const Bench& bench) : cluster_(bench.cache, bench.scenario.objects) {}
  void place(std::span<const PodToPlace> pods, const BatchResult& result, const Backend& backend) {
    for (std::size_t i = 0; i < result.outcomes.size(); ++i)
      if (result.outcomes[i].kind == OutcomeKind::kPlaced)
        cluster_.assume(pods[i].pod, backend.node_name(result.outcomes[i].node), nullptr);
  }
  void change(const std::vector<ClusterChange>& changes) {
    for (const ClusterChange& change : changes) cluster_.apply(change);
  }
  std::shared_ptr<const ClusterCache> cache() const { return std::make_shared<ClusterCache>(cluster_.cache()); }

 private:
  EngineCluster cluster_;
};

void expect_as_fresh(Bench& bench, const ChangedCluster& cluster, std::span<const PodToPlace> rest) {
  CpuBackend fresh(cluster.cache(), bench.scenario.objects, bench.scenario.config, bench.scenario.engine, bench.tuning);
  std::vector<PodToPlace> compiled;
  for (const PodToPlace& pod : rest) compiled.push_back({pod.pod, pod.profile});
  fresh.compile(compiled);
  const std::vector<std::string> expected = place(fresh, compiled);
  EXPECT_EQ(place(*bench.backend, rest), expected);
}

/// Places a third of the pods, applies the changes, and compares on the rest.
void expect_as_fresh_after(const std::string& text, const std::vector<ClusterChange>& changes) {
  Bench bench(text);
  ChangedCluster cluster(bench);
  const std::span<const PodToPlace> pods(bench.pods);
  const std::size_t third = pods.size() / 3;
  cluster.place(pods.first(third), bench.backend->commit_batch(pods.first(third), {}), *bench.backend);
  bench.backend->apply(changes);
  cluster.change(changes);
  expect_as_fresh(bench, cluster, pods.subspan(third));
}

TEST(CpuBackendApplyTest, NothingChanged) { expect_as_fresh_after(kCluster, {}); }

TEST(CpuBackendApplyTest, ANodeIsAdded) {
  expect_as_fresh_after(kCluster, {NodeUpsert(node_from("node new cpu=64 memory=64Gi zone=y res:nvidia.com/gpu=4\n"))});
}

TEST(CpuBackendApplyTest, AnAddedNodeHasANewResource) {
  expect_as_fresh_after("node n*3 cpu=8\npod p*3 cpu=1\npod q*6 cpu=1 res:example.com/x=1\n",
                        {NodeUpsert(node_from("node new cpu=64 res:example.com/x=3\n"))});
}

TEST(CpuBackendApplyTest, ANodeIsRemovedAndAnotherTakesItsSlot) {
  expect_as_fresh_after(kCluster, {NodeRemoval{"c1"}});
  Bench bench(kCluster);
  bench.backend->apply(std::vector<ClusterChange>{NodeRemoval{"c1"}});
  const std::int32_t slots = bench.backend->slot_count();
  bench.backend->apply(std::vector<ClusterChange>{NodeUpsert(node_from("node new cpu=64 memory=64Gi zone=y\n"))});
  EXPECT_EQ(bench.backend->slot_count(), slots);
}

TEST(CpuBackendApplyTest, ANodeIsCordonedAndAnotherTainted) {
  expect_as_fresh_after(kCluster, {NodeUpsert(node_from("node a1 cpu=4 memory=8Gi zone=x unschedulable\n")),
                                   NodeUpsert(node_from("node c2 cpu=16 memory=64Gi zone=x taint=hard:NoExecute\n"))});
}

TEST(CpuBackendApplyTest, APodIsReplacedByAnother) {
  expect_as_fresh_after(std::string(kCluster) + "pod old*8 on=c0 cpu=1 memory=1Gi port=80\n",
                        {PodRemoval{"default/old0"}, PodUpsert{pod_from("pod fresh on=a2 cpu=3500m port=80\n")}});
}

TEST(CpuBackendApplyTest, AHeartbeatTouchesNoRow) {
  Bench told(kCluster);
  Bench untold(kCluster);
  for (Bench* bench : {&told, &untold}) place(*bench->backend, std::span(bench->pods).first(40));
  std::vector<ClusterChange> heartbeats;
  for (const NodePtr& node : told.scenario.objects.nodes) heartbeats.emplace_back(NodeUpsert(node));
  told.backend->apply(heartbeats);
  for (Bench* bench : {&told, &untold}) place(*bench->backend, std::span(bench->pods).subspan(40));
  EXPECT_EQ(told.backend->stats().node_evaluations, untold.backend->stats().node_evaluations);
}

TEST(CpuBackendApplyTest, RemovingAPodFromAFullNodeRemovesItsReasons) {
  Bench bench("node n cpu=2\npod old on=n cpu=2\npod p*2 cpu=1\n");
  EXPECT_EQ(place(*bench.backend, std::span(bench.pods).first(1)),
            (std::vector<std::string>{"0/1 nodes are available: 1 Insufficient cpu."}));
  bench.backend->apply(std::vector<ClusterChange>{PodRemoval{bench.scenario.objects.pods.front()->uid()}});
  EXPECT_EQ(place(*bench.backend, bench.pods), (std::vector<std::string>{"n 0", "n 0"}));
}

TEST(CpuBackendApplyTest, ANominationStaysOnItsNodeWhenTheOrderChanges) {
  // After the change the order is a, c, b: a reservation kept by position would move from b to c.
  const std::string text =
      "node a cpu=1 zone=x\nnode b cpu=4 zone=x\npod p*3 cpu=100m\npod chosen cpu=3 nominated=b priority=10\n"
      "pod q*5 cpu=2\n";
  Bench bench(text);
  ChangedCluster cluster(bench);
  const std::vector<ClusterChange> changes{NodeUpsert(node_from("node c cpu=4 zone=y\n"))};
  bench.backend->apply(changes);
  cluster.change(changes);
  expect_as_fresh(bench, cluster, std::span(bench.pods).subspan(4));
}

TEST(CpuBackendApplyTest, ANominationOnARemovedNodeIsDropped) {
  Bench bench("node a cpu=4\nnode b cpu=4\nnode c cpu=4\npod chosen cpu=3 nominated=c priority=10\npod q*6 cpu=2\n");
  ChangedCluster cluster(bench);
  const std::vector<ClusterChange> changes{NodeRemoval{"c"}};
  bench.backend->apply(changes);
  cluster.change(changes);
  const BatchResult result = bench.backend->commit_batch(std::span(bench.pods).first(1), {});
  EXPECT_FALSE(bench.backend->node_name(result.outcomes.front().node).empty());
  bench.backend->rollback({0});
  expect_as_fresh(bench, cluster, std::span(bench.pods).subspan(1));
}

TEST(CpuBackendApplyTest, AnUpdateOfAPendingPodThatIsPlacedNominatesItNowhere) {
  Bench bench("node a cpu=4\npod chosen cpu=3 nominated=a priority=10\npod q cpu=1\n");
  place(*bench.backend, std::span(bench.pods).first(1));
  bench.backend->apply(std::vector<ClusterChange>{PodUpsert{bench.pods.front().pod}});
  EXPECT_EQ(place(*bench.backend, std::span(bench.pods).subspan(1)), (std::vector<std::string>{"a 0"}));
}

TEST(CpuBackendApplyTest, APlacementInTheMiddleIsUndone) {
  Bench bench("node a cpu=4 memory=8Gi\nnode b cpu=4 memory=8Gi\npod p*3 cpu=1 port=80\npod q cpu=1 port=80\n");
  const std::vector<std::string> first = place(*bench.backend, std::span(bench.pods).first(3));
  ASSERT_EQ(first.back(), "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.");
  EXPECT_TRUE(bench.backend->undo(*bench.pods.front().pod));
  EXPECT_FALSE(bench.backend->undo(*bench.pods.front().pod));
  const std::string freed = first.front().substr(0, 1);
  EXPECT_EQ(place(*bench.backend, std::span(bench.pods).subspan(3)), (std::vector<std::string>{freed + " 0"}));
}

TEST(CpuBackendApplyTest, APlacementThatWasConfirmedIsNotUndone) {
  Bench bench("node a cpu=4\npod p cpu=1\n");
  const CommitMark mark = bench.backend->mark();
  place(*bench.backend, bench.pods);
  bench.backend->apply(std::vector<ClusterChange>{PodUpsert{pod_from("pod p on=a cpu=1\n")}});
  EXPECT_FALSE(bench.backend->undo(*bench.pods.front().pod));
  bench.backend->rollback(mark);
  const Evaluation evaluation = test::evaluated({pod_from("pod huge cpu=4\n"), 0}, *bench.backend);
  EXPECT_FALSE(evaluation.nodes.front().feasible) << "p still stands there";
}

TEST(CpuBackendApplyTest, ANominationOnALaterNodeCounts) {
  Bench bench("node a cpu=4\npod chosen cpu=3 nominated=late priority=10\npod q*4 cpu=2\n");
  ChangedCluster cluster(bench);
  const std::vector<ClusterChange> changes{NodeUpsert(node_from("node late cpu=4\n"))};
  bench.backend->apply(changes);
  cluster.change(changes);
  expect_as_fresh(bench, cluster, std::span(bench.pods).subspan(1));
}

/// The reference's sums wrap around like upstream's; ours must not lose the amounts of the node.
TEST(CpuBackendTest, AHugeNominationDoesNotChangeTheNodesAmounts) {
  Bench bench(
      "node a cpu=4 memory=4Gi\npod old on=a cpu=1 memory=3Gi\n"
      "pod chosen memory=9223372036854775807 nominated=a priority=10\npod q cpu=1 memory=2Gi\n");
  place(*bench.backend, std::span(bench.pods).subspan(1, 1));
  const Evaluation evaluation = test::evaluated(bench.pods[1], *bench.backend);
  ASSERT_EQ(evaluation.nodes.size(), 1u);
  EXPECT_FALSE(evaluation.nodes.front().feasible);
  place(*bench.backend, std::span(bench.pods).first(1));  // gives the nomination up
  EXPECT_EQ(place(*bench.backend, std::span(bench.pods).subspan(1, 1)),
            (std::vector<std::string>{"0/1 nodes are available: 1 Insufficient memory."}));
}

/// Running pods whose sum wraps around to below zero: absurd, but loadable.
class WrappedSumTest : public testing::TestWithParam<const char*> {};

TEST_P(WrappedSumTest, BackendsAgree) {
  Bench bench(std::string("config ") + GetParam() +
              "\nnode a cpu=4 memory=1Ti\nnode b*3 cpu=4 memory=1Ti\npod old on=a memory=9223372036854775807\n"
              "pod older on=a memory=9223367638808264705\npod p*5 cpu=100m memory=1Gi\npod q*3 memory=0\n");
  const auto reference = test::open_backend("reference", bench.cache, bench.scenario.objects, bench.scenario.config,
                                            bench.scenario.engine);
  std::vector<PodToPlace> pods = bench.pods;
  reference->compile(pods);
  const std::vector<std::string> expected = answers(reference->commit_batch(pods, {}), *reference);
  EXPECT_EQ(place(*bench.backend, bench.pods), expected);
}

INSTANTIATE_TEST_SUITE_P(Strategies, WrappedSumTest,
                         testing::Values("strategy=LeastAllocated", "strategy=MostAllocated",
                                         "strategy=RequestedToCapacityRatio shape=0:1,100:10"));

TEST(CpuBackendTest, StatsCountClassesAndRows) {
  Bench bench(kCluster);
  EXPECT_EQ(bench.backend->stats().class_count, 4);
  EXPECT_EQ(bench.backend->stats().rows_built, 0);
  place(*bench.backend, bench.pods);
  EXPECT_EQ(bench.backend->stats().rows_built, 4);
  EXPECT_GE(bench.backend->stats().node_evaluations, 4 * 14);
  EXPECT_GT(bench.backend->stats().row_bytes, 0u);
  EXPECT_GT(bench.backend->stats().column_bytes, 0u);
}

TEST(CpuBackendTest, AnEvaluationPlacesNothing) {
  Bench bench(kCluster);
  Bench other(kCluster);
  for (const PodToPlace& pod : bench.pods) test::evaluated(pod, *bench.backend);
  EXPECT_EQ(bench.backend->mark().position, 0u);
  EXPECT_EQ(place(*bench.backend, bench.pods), place(*other.backend, other.pods));
}

}  // namespace
}  // namespace berth
