// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "host/objects/errors.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

/// A backend over a cluster from text, with its cache for changes.
struct Bench {
  explicit Bench(const std::string& text, const CpuTuning& cpu_tuning = {})
      : scenario(test::parse_scenario(text)), cache(test::fill_cache(scenario.objects)), tuning(cpu_tuning) {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    backend = open();
    backend->compile(pods);
  }
  std::unique_ptr<CpuBackend> open() const {
    return std::make_unique<CpuBackend>(*cache, scenario.objects, scenario.config, scenario.engine, tuning);
  }

  test::Scenario scenario;
  std::unique_ptr<ClusterCache> cache;
  CpuTuning tuning;
  std::vector<PodToPlace> pods;
  std::unique_ptr<CpuBackend> backend;
};

/// "node score", or the message.
std::vector<std::string> answers(const BatchResult& result, const Backend& backend) {
  std::vector<std::string> lines;
  for (const Outcome& outcome : result.outcomes)
    lines.push_back(outcome.kind == OutcomeKind::kPlaced
                        ? std::string(backend.node_name(outcome.node)) + " " + std::to_string(outcome.score)
                        : result.messages[static_cast<std::size_t>(outcome.message)].text);
  return lines;
}

std::vector<std::string> place(CpuBackend& backend, std::span<const PodToPlace> pods, const BatchLimits& limits = {}) {
  return answers(backend.commit_batch(pods, limits), backend);
}

/// Assumes the backend's placements in the cache, as a caller of sync() must.
void assume(ClusterCache& cache, std::span<const PodToPlace> pods, const BatchResult& result, const Backend& backend) {
  for (std::size_t i = 0; i < result.outcomes.size(); ++i)
    if (result.outcomes[i].kind == OutcomeKind::kPlaced) {
      ASSERT_EQ(cache.assume_pod(pods[i].pod, backend.node_name(result.outcomes[i].node)), CacheResult::kOk);
    }
}

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

TEST(CpuBackendTest, WeightsTooLargeForKeysAreRefusedWithTheProfile) {
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

TEST(CpuBackendTest, AMarkFromBeforeASyncIsInvalid) {
  Bench bench(kCluster);
  const CommitMark mark = bench.backend->mark();
  const std::span<const PodToPlace> first(bench.pods.data(), 3);
  assume(*bench.cache, first, bench.backend->commit_batch(first, {}), *bench.backend);
  bench.backend->sync();
  EXPECT_THROW(bench.backend->rollback(mark), std::out_of_range);
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

// sync(): the backend must equal one that is opened on the changed cache.

void expect_as_fresh(Bench& bench, std::span<const PodToPlace> rest) {
  const std::unique_ptr<CpuBackend> fresh = bench.open();
  std::vector<PodToPlace> compiled(rest.begin(), rest.end());
  for (PodToPlace& pod : compiled) pod.class_index = -1;
  fresh->compile(compiled);
  const std::vector<std::string> expected = place(*fresh, compiled);
  EXPECT_EQ(place(*bench.backend, rest), expected);
}

/// Places a third of the pods, changes the cache, and compares on the rest.
template <class Change>
void expect_sync_as_fresh(const std::string& text, Change change) {
  Bench bench(text);
  const std::span<const PodToPlace> pods(bench.pods);
  const std::size_t third = pods.size() / 3;
  assume(*bench.cache, pods.first(third), bench.backend->commit_batch(pods.first(third), {}), *bench.backend);
  change(*bench.cache);
  bench.backend->sync();
  expect_as_fresh(bench, pods.subspan(third));
}

TEST(CpuBackendSyncTest, NothingChanged) {
  expect_sync_as_fresh(kCluster, [](ClusterCache&) {});
}

TEST(CpuBackendSyncTest, ANodeIsAdded) {
  expect_sync_as_fresh(kCluster, [](ClusterCache& cache) {
    cache.add_node(node_from("node new cpu=64 memory=64Gi zone=y res:nvidia.com/gpu=4\n"));
  });
}

TEST(CpuBackendSyncTest, AnAddedNodeHasANewResource) {
  expect_sync_as_fresh("node n*3 cpu=8\npod p*3 cpu=1\npod q*6 cpu=1 res:example.com/x=1\n",
                       [](ClusterCache& cache) { cache.add_node(node_from("node new cpu=64 res:example.com/x=3\n")); });
}

TEST(CpuBackendSyncTest, ANodeIsRemoved) {
  expect_sync_as_fresh(kCluster, [](ClusterCache& cache) { cache.remove_node("c1"); });
}

TEST(CpuBackendSyncTest, ANodeIsCordonedAndAnotherTainted) {
  expect_sync_as_fresh(kCluster, [](ClusterCache& cache) {
    cache.update_node(node_from("node a1 cpu=4 memory=8Gi zone=x unschedulable\n"));
    cache.update_node(node_from("node c2 cpu=16 memory=64Gi zone=x taint=hard:NoExecute\n"));
  });
}

TEST(CpuBackendSyncTest, APodIsReplacedByAnother) {
  expect_sync_as_fresh(std::string(kCluster) + "pod old*8 on=c0 cpu=1 memory=1Gi port=80\n", [](ClusterCache& cache) {
    for (const NodeInfo* info : cache.nodes_in_order())
      if (info->name == "c0") {
        ASSERT_EQ(cache.remove_pod(PodPtr(info->pods.front())->uid()), CacheResult::kOk);
        break;
      }
    ASSERT_EQ(cache.add_pod(pod_from("pod fresh on=a2 cpu=3500m port=80\n")), CacheResult::kOk);
  });
}

TEST(CpuBackendSyncTest, RemovingAPodFromAFullNodeRemovesItsReasons) {
  Bench bench("node n cpu=2\npod old on=n cpu=2\npod p*2 cpu=1\n");
  EXPECT_EQ(place(*bench.backend, std::span(bench.pods).first(1)),
            (std::vector<std::string>{"0/1 nodes are available: 1 Insufficient cpu."}));
  ASSERT_EQ(bench.cache->remove_pod(bench.scenario.objects.pods.front()->uid()), CacheResult::kOk);
  bench.backend->sync();
  EXPECT_EQ(place(*bench.backend, bench.pods), (std::vector<std::string>{"n 0", "n 0"}));
}

TEST(CpuBackendSyncTest, ANominationStaysOnItsNodeWhenTheOrderChanges) {
  // After the change the order is a, c, b: a reservation kept by position would move from b to c.
  const std::string text =
      "node a cpu=1 zone=x\nnode b cpu=4 zone=x\npod p*3 cpu=100m\npod chosen cpu=3 nominated=b priority=10\n"
      "pod q*5 cpu=2\n";
  Bench bench(text);
  const std::span<const PodToPlace> pods(bench.pods);
  bench.cache->add_node(node_from("node c cpu=4 zone=y\n"));
  bench.backend->sync();
  expect_as_fresh(bench, pods.subspan(4));
}

TEST(CpuBackendSyncTest, ANominationOnARemovedNodeIsDropped) {
  Bench bench("node a cpu=4\nnode b cpu=4\nnode c cpu=4\npod chosen cpu=3 nominated=c priority=10\npod q*6 cpu=2\n");
  ASSERT_EQ(bench.cache->remove_node("c"), CacheResult::kOk);
  bench.backend->sync();
  const BatchResult result = bench.backend->commit_batch(std::span(bench.pods).first(1), {});
  ASSERT_LT(result.outcomes.front().node.value, bench.backend->node_count());
  bench.backend->rollback({0});
  expect_as_fresh(bench, std::span(bench.pods).subspan(1));
}

TEST(CpuBackendSyncTest, ANominationOnALaterNodeCounts) {
  Bench bench("node a cpu=4\npod chosen cpu=3 nominated=late priority=10\npod q*4 cpu=2\n");
  bench.cache->add_node(node_from("node late cpu=4\n"));
  bench.backend->sync();
  expect_as_fresh(bench, std::span(bench.pods).subspan(1));
}

/// The reference's sums wrap around like upstream's; ours must not lose the amounts of the node.
TEST(CpuBackendTest, AHugeNominationDoesNotChangeTheNodesAmounts) {
  Bench bench(
      "node a cpu=4 memory=4Gi\npod old on=a cpu=1 memory=3Gi\n"
      "pod chosen memory=9223372036854775807 nominated=a priority=10\npod q cpu=1 memory=2Gi\n");
  place(*bench.backend, std::span(bench.pods).subspan(1, 1));
  const Evaluation evaluation = bench.backend->evaluate(bench.pods[1]);
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
  const auto reference = test::open_backend("reference", *bench.cache, bench.scenario.objects, bench.scenario.config,
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
  for (const PodToPlace& pod : bench.pods) bench.backend->evaluate(pod);
  EXPECT_EQ(bench.backend->mark().position, 0u);
  EXPECT_EQ(place(*bench.backend, bench.pods), place(*other.backend, other.pods));
}

}  // namespace
}  // namespace berth
