// SPDX-License-Identifier: Apache-2.0
// Tiles against the integer path of batching/node_filter.cpp and against brute force.
#include "host/engine/cpu/row_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

std::vector<std::int32_t> all_classes(const ClassTable& table) {
  std::vector<std::int32_t> classes;
  for (std::int32_t c = 0; c < table.size() && c < kMaxSlots; ++c) classes.push_back(c);
  return classes;
}

/// The key from the scalar rules, normalised over the nodes that are feasible now.
/// @param left_out  nodes that count as infeasible
NodeKey expected_key(test::CompiledCluster& cluster, std::int32_t c, std::int32_t node, const ExcludedNodes& left_out) {
  const PodClass& pod_class = cluster.table[c];
  const CompiledProfile& profile = cluster.table.profile_of(c);
  const NodeSideRow& row = cluster.table.node_side(c);
  RawScores maxima;
  const auto feasible = [&](std::int32_t i) {
    return !left_out.contains(i) && row.refusal(i) == NodeSideRow::kAccepted &&
           load_accepts(pod_class, profile, cluster.snapshot, i);
  };
  if (!feasible(node)) return 0;
  for (std::int32_t i = 0; i < cluster.snapshot.node_count(); ++i) {
    if (!feasible(i)) continue;
    maxima.raise_to(row.raws(cluster.snapshot, i));
  }
  const std::int64_t total =
      row.total(cluster.snapshot, node, maxima) + load_total(pod_class, profile, cluster.snapshot, node);
  const NodeDraw node_part = node_draw(profile.draw, cluster.snapshot, node);
  return make_node_key(total, draw_of_class(profile.draw.order, node_part, pod_class.draw_seed));
}

/// @param left_out  [slot]; empty: no node
void expect_right(const RowTile& tile, test::CompiledCluster& cluster,
                  const std::vector<ExcludedNodes>& left_out = {}) {
  for (int slot = 0; slot < static_cast<int>(tile.classes().size()); ++slot) {
    NodeKey best = 0;
    std::int32_t best_node = 0;
    std::int64_t feasible = 0;
    for (std::int32_t i = 0; i < cluster.snapshot.node_count(); ++i) {
      const auto s = static_cast<std::size_t>(slot);
      const ExcludedNodes none;
      const NodeKey key = expected_key(cluster, tile.classes()[s], i, left_out.empty() ? none : left_out[s]);
      ASSERT_EQ(std::max<NodeKey>(tile.key(slot, i), 0), key)
          << "slot " << slot << ", node " << cluster.snapshot.node(i).name;
      feasible += key > 0 ? 1 : 0;
      if (key > best) best = key, best_node = i;
    }
    ASSERT_EQ(tile.best(slot, cluster.snapshot.node_order()).key, best);
    ASSERT_EQ(tile.feasible_count(slot), feasible);
    ASSERT_EQ(best > 0 ? tile.best(slot, cluster.snapshot.node_order()).node : 0, best_node);
  }
}

constexpr const char* kMixed =
    "node small*30 cpu=2 memory=4Gi pods=4 zone=a\n"
    "node large*20 cpu=16 memory=64Gi ephemeral=100Gi zone=b label:disk=ssd taint=soft:PreferNoSchedule\n"
    "node gpu*7 cpu=8 memory=32Gi res:nvidia.com/gpu=4 taint=gpu:NoSchedule label:disk=hdd image=500Mi*app:latest\n"
    "node cordoned cpu=8 memory=32Gi unschedulable\n"
    "node empty\n"
    "pod plain cpu=500m memory=1Gi\n"
    "pod tiny\n"
    "pod big cpu=7 memory=20Gi ephemeral=10Gi\n"
    "pod gpu cpu=1 res:nvidia.com/gpu=1 tolerate=gpu image=app\n"
    "pod ssd cpu=100m prefer=50:disk:In:ssd prefer=7:disk:Exists tolerate=soft\n"
    "pod port memory=1Gi port=8080\n"
    "pod nothing-fits cpu=900\n"
    "pod picky select:disk=hdd\n";

class RowTileConfigTest : public testing::TestWithParam<const char*> {};

TEST_P(RowTileConfigTest, KeysEqualTheIntegerPathThroughRandomPlacements) {
  for (const char* ties : {"load", "random", "first"}) {
    test::CompiledCluster cluster(std::string("engine ties=") + ties + "\nconfig " + GetParam() + "\n" + kMixed);
    RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
    tile.build(cluster.snapshot);
    expect_right(tile, cluster);
    std::mt19937 random(5);
    for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
      for (int change = 0; change < 4; ++change) {
        const auto slot = static_cast<int>(random() % tile.classes().size());
        if (tile.best(slot, cluster.snapshot.node_order()).key == 0) continue;
        const std::int32_t node = tile.best(slot, cluster.snapshot.node_order()).node;
        cluster.snapshot.apply(node, cluster.table[tile.classes()[static_cast<std::size_t>(slot)]].delta, 1);
        tile.refresh(cluster.snapshot, node);
      }
      tile.finish_refresh(cluster.snapshot);
      expect_right(tile, cluster);
    }
  }
}

TEST_P(RowTileConfigTest, NodesThatAreLeftOutCountAsInfeasible) {
  test::CompiledCluster cluster(std::string("config ") + GetParam() + "\n" + kMixed);
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  tile.build(cluster.snapshot);
  std::vector<ExcludedNodes> left_out(tile.classes().size());
  std::mt19937 random(6);
  const auto any_node = [&] {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(cluster.snapshot.node_count()));
  };
  for (std::uint64_t round = 1; round < 80 && !HasFatalFailure(); ++round) {
    for (int change = 0; change < 3; ++change) {
      const auto slot = static_cast<int>(random() % tile.classes().size());
      const std::int32_t node = random() % 2 == 0 ? any_node() : tile.best(slot, cluster.snapshot.node_order()).node;
      cluster.snapshot.apply(node, cluster.table[tile.classes()[static_cast<std::size_t>(slot)]].delta, 1);
      tile.refresh(cluster.snapshot, node);
    }
    tile.finish_refresh(cluster.snapshot);
    const auto slot = static_cast<int>(random() % tile.classes().size());
    ExcludedNodes& nodes = left_out[static_cast<std::size_t>(slot)];
    for (auto n = random() % 20; n > 0; --n) {
      const std::int32_t node = random() % 2 == 0 && tile.best(slot, cluster.snapshot.node_order()).key > 0
                                    ? tile.best(slot, cluster.snapshot.node_order()).node
                                    : any_node();
      if (random() % 2 == 0) {
        nodes.insert(node);
      } else {
        nodes.erase(node);
      }
    }
    // All nodes with the largest raw scores of some rule, so that normalisers move.
    if (round % 8 == 0)
      for (std::int32_t node = 30; node < 57; ++node) nodes.insert(node);
    if (round % 16 == 0) nodes.clear();
    tile.leave_out(cluster.snapshot, slot, nodes, nodes.empty() ? 0 : round);
    expect_right(tile, cluster, left_out);
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, RowTileConfigTest,
                         testing::Values("strategy=LeastAllocated", "strategy=MostAllocated",
                                         "strategy=RequestedToCapacityRatio shape=20:0,70:10,100:3",
                                         "resources=cpu:3,memory:1,nvidia.com/gpu:5 balanced=cpu,memory,nvidia.com/gpu",
                                         "release=1.36", "disable=NodeResourcesFit", "disable=NodePorts",
                                         "disable=TaintToleration",
                                         "weight=NodeAffinity:7 weight=NodeResourcesBalancedAllocation:3",
                                         "resources=example.com/none:2,memory:1"));

TEST(RowTileTest, TieBreakFirstTakesTheLowestNode) {
  test::CompiledCluster cluster("engine ties=first\nnode n*9 cpu=4 memory=8Gi\npod p cpu=1\n");
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  tile.build(cluster.snapshot);
  EXPECT_EQ(tile.best(0, cluster.snapshot.node_order()).node, 0);
}

TEST(RowTileTest, EachClassHasItsSlot) {
  test::CompiledCluster cluster(kMixed);
  const std::vector<std::int32_t> some{3, 1};
  const RowTile tile(some, cluster.table, cluster.snapshot);
  EXPECT_EQ(tile.slot_of(3), 0);
  EXPECT_EQ(tile.slot_of(1), 1);
  EXPECT_EQ(tile.slot_of(0), -1);
}

TEST(RowTileTest, TheBestNodeIsFoundAcrossPages) {
  test::CompiledCluster cluster(
      "node n*2500 cpu=4 memory=8Gi\nnode best cpu=64 memory=512Gi\npod p cpu=1 memory=1Gi\n");
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  tile.build(cluster.snapshot);
  EXPECT_EQ(cluster.snapshot.node(tile.best(0, cluster.snapshot.node_order()).node).name, "best");
  EXPECT_EQ(tile.feasible_count(0), 2501);
}

TEST(RowTileTest, ReusedTileMemoryLeavesNoOldValues) {
  test::CompiledCluster cluster(kMixed);
  const std::vector<std::int32_t> first{0, 1, 2};
  const std::vector<std::int32_t> second{3, 4};
  RowTile retired(first, cluster.table, cluster.snapshot);
  retired.build(cluster.snapshot);
  RowTile tile(second, cluster.table, cluster.snapshot, &retired);
  tile.build(cluster.snapshot);
  expect_right(tile, cluster);
}

TEST(RowTileTest, AmountsBeyondExactDoublesUseIntegers) {
  test::CompiledCluster cluster(
      "node n*5 cpu=8 memory=9007199254740995\nnode m*3 cpu=8 memory=1Gi\n"
      "pod huge memory=9007199254740993\npod p memory=1\n");
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  EXPECT_TRUE(tile.lanes().needs_integers());
  tile.build(cluster.snapshot);
  expect_right(tile, cluster);
  for (std::int32_t i = 0; i < 5; ++i) {
    cluster.snapshot.apply(i, cluster.table[0].delta, 1);
    tile.refresh(cluster.snapshot, i);
  }
  tile.finish_refresh(cluster.snapshot);
  expect_right(tile, cluster);
}

TEST(RowTileTest, OneNodeBeyondExactDoublesUsesIntegersWhileOthersUseLanes) {
  test::CompiledCluster cluster(
      "node n*5 cpu=8 memory=9007199254740995\nnode m*3 cpu=8 memory=1Gi\npod p cpu=1 memory=1\n");
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  EXPECT_FALSE(tile.lanes().needs_integers());
  tile.build(cluster.snapshot);
  expect_right(tile, cluster);
}

/// Sums of running pods wrap around at the int64 range. In lanes a utilization below 0 would read outside the shape's
/// table.
TEST(RowTileTest, ANodeWithNegativeWrappedSumsUsesIntegers) {
  test::CompiledCluster cluster(
      "config strategy=RequestedToCapacityRatio shape=0:1,100:10\nnode a cpu=4 memory=1Ti\nnode b cpu=4 memory=1Ti\n"
      "pod old on=a memory=9223372036854775807\npod older on=a memory=9223367638808264705\npod p cpu=100m "
      "memory=1Gi\n");
  const std::int32_t a = cluster.snapshot.find_node("a");
  ASSERT_EQ(cluster.snapshot.requested(kMemoryColumn, a), -(std::int64_t{1} << 42));
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  NodeLanes lanes;
  EXPECT_FALSE(tile.lanes().fill_node(cluster.snapshot, a, lanes));
  EXPECT_TRUE(tile.lanes().fill_node(cluster.snapshot, cluster.snapshot.find_node("b"), lanes));
  tile.build(cluster.snapshot);
  expect_right(tile, cluster);
}

TEST(RowTileTest, MoreThanEightResourcesUseIntegers) {
  std::string text = "node n*4 cpu=8 memory=8Gi";
  for (int r = 0; r < 10; ++r) text += " res:example.com/r" + std::to_string(r) + "=" + std::to_string(r + 1);
  text += "\npod p cpu=1";
  for (int r = 0; r < 10; ++r) text += " res:example.com/r" + std::to_string(r) + "=1";
  test::CompiledCluster cluster(text + "\n");
  RowTile tile(all_classes(cluster.table), cluster.table, cluster.snapshot);
  EXPECT_TRUE(tile.lanes().needs_integers());
  tile.build(cluster.snapshot);
  expect_right(tile, cluster);
}

}  // namespace
}  // namespace berth
