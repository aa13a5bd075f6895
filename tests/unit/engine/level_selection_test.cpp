// SPDX-License-Identifier: Apache-2.0
// A planned run against serial placement: select the best node, apply, refresh, repeat.
#include "host/engine/cpu/level_selection.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

struct Taken {
  std::int32_t node;
  std::int64_t total;
  friend bool operator==(const Taken&, const Taken&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Taken& t) { return out << t.node << "@" << t.total; }
};

std::vector<Taken> walk_serially(test::CompiledCluster& cluster, std::int64_t count) {
  const std::vector<std::int32_t> classes{cluster.pods.front().class_index};
  Snapshot snapshot = cluster.snapshot;
  RowTile tile(classes, cluster.table, snapshot);
  tile.build(snapshot);
  std::vector<Taken> taken;
  while (static_cast<std::int64_t>(taken.size()) < count && tile.best(0, snapshot.node_order()).key > 0) {
    const std::int32_t node = tile.best(0, snapshot.node_order()).node;
    taken.push_back({node, total_of(tile.best(0, snapshot.node_order()).key)});
    snapshot.apply(node, cluster.table[classes.front()].delta, 1);
    tile.refresh(snapshot, node);
    tile.finish_refresh(snapshot);
  }
  return taken;
}

/// Runs of `step` pods, each planned at once, until `count` pods or no node is left.
std::vector<Taken> walk_in_runs(test::CompiledCluster& cluster, std::int64_t count, std::int64_t step) {
  const std::vector<std::int32_t> classes{cluster.pods.front().class_index};
  const PodClass& pod_class = cluster.table[classes.front()];
  Snapshot snapshot = cluster.snapshot;
  RowTile tile(classes, cluster.table, snapshot);
  tile.build(snapshot);
  std::vector<Taken> taken;
  while (static_cast<std::int64_t>(taken.size()) < count) {
    const std::int64_t rest = count - static_cast<std::int64_t>(taken.size());
    const auto picks = select_run(tile, 0, snapshot, pod_class, std::min(step, rest));
    EXPECT_LE(static_cast<std::int64_t>(picks.size()), std::min(step, rest));
    if (picks.empty()) break;
    for (const RunPick& pick : picks) {
      taken.push_back({pick.node, pick.total});
      snapshot.apply(pick.node, pod_class.delta, 1);
    }
    for (const RunPick& pick : picks) tile.refresh(snapshot, pick.node);
    tile.finish_refresh(snapshot);
  }
  return taken;
}

class LevelSelectionTest : public testing::TestWithParam<const char*> {};

TEST_P(LevelSelectionTest, ARunEqualsSerialPlacement) {
  for (const char* ties : {"load", "random", "first"}) {
    test::CompiledCluster cluster(std::string("engine ties=") + ties + "\n" + GetParam());
    for (const std::int64_t count : {1, 5, 40, 400}) {
      const std::vector<Taken> expected = walk_serially(cluster, count);
      for (const std::int64_t step : {std::int64_t{1}, std::int64_t{7}, std::int64_t{33}, count})
        ASSERT_EQ(walk_in_runs(cluster, count, step), expected)
            << ties << ", " << count << " pods, " << step << " a run";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Clusters, LevelSelectionTest,
    testing::Values(
        "node n*20 cpu=4 memory=16Gi\npod p cpu=300m memory=500Mi\n",
        // Scores rise with every copy, so that a started node is filled, and the run is cut inside the rise.
        "config strategy=MostAllocated\nnode n*20 cpu=4 memory=16Gi\npod p cpu=300m memory=500Mi\n",
        "config strategy=MostAllocated\nnode n*9 cpu=4 memory=16Gi pods=3\nnode m*9 cpu=9 memory=9Gi\npod p cpu=100m\n",
        // The shape rises, then falls.
        "config strategy=RequestedToCapacityRatio shape=0:0,50:10,100:0\nnode n*20 cpu=4 memory=16Gi\n"
        "pod p cpu=300m memory=500Mi\n",
        // Nodes with the highest and the lowest taint score fill up, and every other score changes.
        "node soft*4 cpu=2 memory=4Gi taint=a:PreferNoSchedule\n"
        "node softer*2 cpu=8 memory=8Gi taint=a:PreferNoSchedule taint=b:PreferNoSchedule\n"
        "node free*3 cpu=1 memory=16Gi\npod p cpu=250m memory=100Mi\n",
        "node ssd*3 cpu=2 memory=4Gi label:disk=ssd\nnode hdd*5 cpu=4 memory=8Gi label:disk=hdd\nnode none*4 cpu=3 "
        "memory=9Gi\n"
        "pod p cpu=250m memory=100Mi prefer=80:disk:In:ssd prefer=30:disk:In:hdd\n",
        "config disable=NodeResourcesFit\nnode n*5 cpu=4 memory=16Gi\npod p cpu=3\n",
        "config release=1.36\nnode n*6 cpu=4 memory=16Gi\nnode m*6 cpu=16 memory=8Gi\npod p cpu=300m memory=200Mi\n",
        "node n*10 cpu=4 memory=9007199254740995\nnode m*10 cpu=4 memory=16Gi\npod p cpu=300m memory=500Mi\n",
        "node n*3 cpu=4 memory=16Gi\npod old*5 on=n1 cpu=500m\npod p\n",
        // Totals hardly move, so that the draw orders the copies: emptier first, and fuller first.
        "node n*20 cpu=400 memory=1600Gi\nnode m*9 cpu=300 memory=800Gi\npod p cpu=1m memory=1Mi\n",
        "config strategy=MostAllocated\nnode n*20 cpu=400 memory=1600Gi\nnode m*9 cpu=300 memory=800Gi pods=7\n"
        "pod p cpu=1m memory=1Mi\n",
        "config strategy=RequestedToCapacityRatio shape=0:3,100:9\nnode n*20 cpu=400 memory=1600Gi pods=30\npod p\n"));

TEST(LevelSelectionTest, ARunOnAFullClusterIsEmpty) {
  test::CompiledCluster cluster("node n*3 cpu=1\npod p cpu=2\n");
  EXPECT_TRUE(walk_in_runs(cluster, 10, 10).empty());
}

TEST(LevelSelectionTest, TheCopyThatFillsItsNodeIsMarked) {
  test::CompiledCluster cluster("node n cpu=1 memory=4Gi\nnode m cpu=3 memory=4Gi\npod p cpu=500m\n");
  const std::vector<std::int32_t> classes{0};
  RowTile tile(classes, cluster.table, cluster.snapshot);
  tile.build(cluster.snapshot);
  const auto picks = select_run(tile, 0, cluster.snapshot, cluster.table[0], 100);
  ASSERT_EQ(picks.size(), 8u);
  std::vector<int> seen(2);
  for (const RunPick& pick : picks) {
    const int copy = ++seen[static_cast<std::size_t>(pick.node)];
    const int all = cluster.snapshot.node(pick.node).name == "n" ? 2 : 6;
    EXPECT_EQ(pick.last_copy, copy == all);
  }
}

/// Random clusters of few sizes, so that ties are common.
TEST(LevelSelectionTest, RunsOnRandomClustersEqualSerialPlacement) {
  std::mt19937 random(11);
  const auto upto = [&](unsigned n) { return static_cast<int>(random() % (n + 1)); };
  for (int round = 0; round < 60; ++round) {
    std::string text = "config strategy=";
    text += round % 3 == 0   ? "LeastAllocated"
            : round % 3 == 1 ? "MostAllocated"
                             : "RequestedToCapacityRatio shape=0:2,40:9,90:1";
    text += "\n";
    for (int kind = 0; kind < 3; ++kind) {
      text += "node k" + std::to_string(kind) + "-*" + std::to_string(1 + upto(9)) +
              " cpu=" + std::to_string(1 + upto(5)) + " memory=" + std::to_string(1 + upto(5)) +
              "Gi pods=" + std::to_string(upto(12));
      if (upto(3) == 0) text += " taint=t" + std::to_string(upto(1)) + ":PreferNoSchedule";
      if (upto(3) == 0) text += " label:disk=d" + std::to_string(upto(1));
      text += "\n";
    }
    text += "pod p cpu=" + std::to_string(100 * upto(9)) + "m memory=" + std::to_string(128 * upto(8)) + "Mi";
    if (upto(2) == 0) text += " prefer=" + std::to_string(1 + upto(20)) + ":disk:In:d0 prefer=5:disk:Exists";
    const char* ties = std::array{"load", "random", "first"}[static_cast<std::size_t>(upto(2))];
    test::CompiledCluster cluster(std::string("engine ties=") + ties + "\n" + text + "\n");
    ASSERT_EQ(walk_in_runs(cluster, 120, 1 + upto(50)), walk_serially(cluster, 120)) << ties << "\n" << text;
  }
}

}  // namespace
}  // namespace berth
