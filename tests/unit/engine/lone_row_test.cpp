// SPDX-License-Identifier: Apache-2.0
// Rows of pods that come alone, against the tile of the same class.
#include "host/engine/cpu/lone_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "host/engine/cpu/row_tile.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr const char* kMixed =
    "node small*30 cpu=2 memory=4Gi pods=4 zone=a\n"
    "node large*20 cpu=16 memory=64Gi ephemeral=100Gi zone=b label:disk=ssd\n"
    "node gpu*7 cpu=8 memory=32Gi res:nvidia.com/gpu=4 taint=gpu:NoSchedule label:disk=hdd image=500Mi*app:latest\n"
    "node cordoned cpu=8 memory=32Gi unschedulable\n"
    "node empty\n"
    "pod plain cpu=500m memory=1Gi\n"
    "pod tiny\n"
    "pod big cpu=7 memory=20Gi ephemeral=10Gi\n"
    "pod gpu cpu=1 res:nvidia.com/gpu=1 tolerate=gpu image=app\n"
    "pod ssd cpu=100m select:disk=ssd\n"
    "pod port memory=1Gi port=8080\n"
    "pod nothing-fits cpu=900\n"
    "pod picky select:disk=hdd\n";

/// A row of its own, filled from nothing, for comparison.
void expect_equal_to_tile(const LoneRow& lone, std::int32_t c, test::CompiledCluster& cluster) {
  RowTile tile({&c, 1}, cluster.table, cluster.snapshot);
  tile.build(cluster.snapshot);
  for (std::int32_t node = 0; node < cluster.snapshot.node_count(); ++node)
    ASSERT_EQ(lone.keys()[node], std::max<NodeKey>(tile.key(0, node), 0)) << cluster.snapshot.node(node).name;
  ASSERT_EQ(lone.feasible_count(), tile.feasible_count(0));
  ASSERT_EQ(lone.best_key(), tile.best(0, cluster.snapshot.node_order()).key);
  if (lone.best_key() != 0) {
    ASSERT_EQ(lone.best_node(cluster.snapshot.node_order()), tile.best(0, cluster.snapshot.node_order()).node);
  }
}

class LoneRowConfigTest : public testing::TestWithParam<const char*> {};

TEST_P(LoneRowConfigTest, KeysEqualThoseOfATileThroughRandomPlacements) {
  test::CompiledCluster cluster(std::string(GetParam()) + "\n" + kMixed);
  CommitLog log;
  LoneRow lone;
  std::mt19937 random(7);
  for (int round = 0; round < 200 && !HasFatalFailure(); ++round) {
    const std::int32_t c = cluster.pods[random() % cluster.pods.size()].class_index;
    ASSERT_TRUE(lone.evaluate(c, cluster.table, cluster.snapshot, log));
    expect_equal_to_tile(lone, c, cluster);
    if (lone.best_key() == 0) continue;
    const std::int32_t node = lone.best_node(cluster.snapshot.node_order());
    cluster.snapshot.apply(node, cluster.table[c].delta, 1);
    log.append({node, c, 1});
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, LoneRowConfigTest,
                         testing::Values("config strategy=LeastAllocated", "config strategy=MostAllocated",
                                         "engine ties=first", "config disable=NodePorts",
                                         "config weight=NodeResourcesBalancedAllocation:3"));

TEST(LoneRow, ScoresThatDependOnWhichNodesAreFeasibleAreLeftToTiles) {
  test::CompiledCluster cluster(
      "node a label:disk=ssd\nnode b\npod plain\npod picky prefer=50:disk:In:ssd\npod same prefer=50:cpu:Exists");
  LoneRow lone;
  const auto serves = [&](std::size_t pod) {
    return lone.evaluate(cluster.pods[pod].class_index, cluster.table, cluster.snapshot, CommitLog());
  };
  EXPECT_TRUE(serves(0));
  EXPECT_FALSE(serves(1));
  EXPECT_TRUE(serves(2)) << "no node has what is preferred";
}

TEST(LoneRow, AChangeThatTheLogDoesNotNameIsNotSeenBeforeTheRowIsCleared) {
  test::CompiledCluster cluster("node a cpu=4 memory=8Gi\nnode b cpu=2 memory=8Gi\npod p cpu=1 memory=1Gi");
  const std::int32_t c = cluster.pods.front().class_index;
  const CommitLog log;
  LoneRow lone;
  ASSERT_TRUE(lone.evaluate(c, cluster.table, cluster.snapshot, log));
  const NodeKey before = lone.keys()[0];
  cluster.snapshot.apply(0, cluster.table[c].delta, 1);
  ASSERT_TRUE(lone.evaluate(c, cluster.table, cluster.snapshot, log));
  EXPECT_EQ(lone.keys()[0], before);
  lone.clear();
  ASSERT_TRUE(lone.evaluate(c, cluster.table, cluster.snapshot, log));
  EXPECT_LT(lone.keys()[0], before);
}

class OtherProfileTest : public testing::TestWithParam<const char*> {};

TEST_P(OtherProfileTest, IsLeftToTiles) {
  test::CompiledCluster cluster(std::string(GetParam()) + "\n" + kMixed);
  LoneRow lone;
  for (const PodToPlace& pod : cluster.pods)
    EXPECT_FALSE(lone.evaluate(pod.class_index, cluster.table, cluster.snapshot, CommitLog()));
  EXPECT_EQ(lone.evaluations(), 0);
}

INSTANTIATE_TEST_SUITE_P(Configurations, OtherProfileTest,
                         testing::Values("config strategy=RequestedToCapacityRatio shape=20:0,70:10,100:3",
                                         "config resources=cpu:3,memory:1,nvidia.com/gpu:5", "config release=1.36",
                                         "config disable=NodeResourcesFit", "engine ties=random"));

}  // namespace
}  // namespace berth
