// SPDX-License-Identifier: Apache-2.0
// Copies of a class on one node, compared with placing them one by one.
#include "batching/device/run_body.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "batching/feasible_list.h"
#include "batching/node_filter.h"
#include "tests/unit/batching_device/drawn_amounts.h"
#include "tests/unit/engine_device/device_cluster.h"

namespace berth {
namespace {

bool same(const std::vector<DevicePick>& some, const std::vector<DevicePick>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const DevicePick& a, const DevicePick& b) {
                      return a.level == b.level && a.node == b.node && a.total == b.total && a.is_last == b.is_last;
                    });
}

/// One copy after another on a separate snapshot.
std::vector<DevicePick> plain_copies(test::DeviceCluster& cluster, std::int32_t c, std::int32_t node, NodeKey threshold,
                                     std::int32_t copies_max) {
  Snapshot snapshot = cluster.snapshot;
  const NodeSideRow& side = cluster.table.node_side(c);
  const CompiledProfile& profile = cluster.table.profile_of(c);
  const UncachedClass uncached(cluster.table[c], profile, side, snapshot);
  std::vector<DevicePick> picks;
  NodeKey level = INT64_MAX;
  while (uncached.accepts(node) && static_cast<std::int32_t>(picks.size()) < copies_max) {
    const std::int64_t total = side.fixed_total(snapshot, node) + uncached.load_total(node);
    level = std::min(level, make_node_key(total, uncached.draw(node)));
    if (level < threshold) break;
    snapshot.apply(node, cluster.table[c].delta, 1);
    picks.push_back({level, node, static_cast<std::int32_t>(total), !uncached.accepts(node)});
  }
  return picks;
}

std::vector<DevicePick> walked(const DeviceState& state, const DeviceRow& row, std::int32_t node, NodeKey threshold,
                               std::int32_t copies_max) {
  std::vector<DevicePick> picks;
  const std::int32_t count =
      walk_copies(state, row, node, threshold, copies_max, [&](std::int32_t copy, const DevicePick& pick) {
        EXPECT_EQ(copy, static_cast<std::int32_t>(picks.size()));
        picks.push_back(pick);
      });
  EXPECT_EQ(count, static_cast<std::int32_t>(picks.size()));
  return picks;
}

struct Seen {
  int rising = 0;
  int last = 0;
  int cut = 0;
};

/// Every class and node, with thresholds around the existing levels.
void expect_plain_walks(test::DeviceCluster& cluster, Seen& seen) {
  const DeviceState state = cluster.bring_up_all();
  for (std::int32_t c = 0; c < cluster.table.size(); ++c)
    for (std::int32_t node = 0; node < cluster.snapshot.node_count(); ++node) {
      const std::vector<DevicePick> all = plain_copies(cluster, c, node, 1, 20);
      Snapshot after = cluster.snapshot;
      for (std::size_t copy = 0; copy < all.size(); ++copy) after.apply(node, cluster.table[c].delta, 1);
      if (scores_may_leave_range(cluster.table[c], after)) continue;  // picks behind that are not taken up
      std::vector<NodeKey> thresholds{1};
      for (const DevicePick& pick : all) thresholds.insert(thresholds.end(), {pick.level, pick.level + 1});
      for (const NodeKey threshold : thresholds)
        for (const std::int32_t copies_max : {1, 2, 20}) {
          const std::vector<DevicePick> expected = plain_copies(cluster, c, node, threshold, copies_max);
          ASSERT_TRUE(same(walked(state, cluster.rows.row(c), node, threshold, copies_max), expected))
              << "class " << c << " on node " << node << ", threshold " << threshold << ", at most " << copies_max;
          seen.cut += expected.size() < std::min<std::size_t>(all.size(), static_cast<std::size_t>(copies_max)) ? 1 : 0;
        }
      for (std::size_t i = 1; i < all.size(); ++i) seen.rising += all[i].total > all[i - 1].total ? 1 : 0;
      seen.last += !all.empty() && all.back().is_last ? 1 : 0;
    }
}

TEST(RunBodyTest, CopiesEqualPlacingOneByOne) {
  std::mt19937 dice(6);
  Seen seen;
  for (int again = 0; again < 150; ++again) {
    const std::string text = test::draw_cluster_of_any_amounts(dice);
    test::DeviceCluster cluster(text);
    expect_plain_walks(cluster, seen);
    if (testing::Test::HasFailure()) FAIL() << text;
  }
  EXPECT_GT(seen.last, 100);
}

TEST(RunBodyTest, RisingKeysKeepTheLowestLevel) {
  Seen seen;
  test::DeviceCluster fills(
      "config strategy=MostAllocated\nnode a cpu=8 memory=8Gi pods=7\nnode b cpu=16 memory=4Gi\n"
      "pod p cpu=1 memory=128Mi\npod q cpu=100m memory=1Gi\npod r cpu=3");
  expect_plain_walks(fills, seen);
  EXPECT_GT(seen.rising, 10);
  EXPECT_GT(seen.last, 3);
  EXPECT_GT(seen.cut, 10);
}

TEST(RunBodyTest, TheLastCopyOnANodeIsMarked) {
  test::DeviceCluster cluster("node a cpu=8 pods=2\nnode b cpu=3 pods=9\nnode c cpu=1\npod p cpu=1");
  const DeviceState state = cluster.bring_up_all();
  const DeviceRow& row = cluster.rows.row(0);
  const auto flags = [&](std::int32_t node, std::int32_t copies_max) {
    std::vector<bool> last;
    for (const DevicePick& pick : walked(state, row, node, 1, copies_max)) last.push_back(pick.is_last);
    return last;
  };
  EXPECT_EQ(flags(0, 100), (std::vector<bool>{false, true})) << "pod slots run out";
  EXPECT_EQ(flags(1, 100), (std::vector<bool>{false, false, true})) << "cpu runs out";
  EXPECT_EQ(flags(1, 2), (std::vector<bool>{false, false})) << "no more were asked for";
  EXPECT_EQ(flags(2, 1), std::vector<bool>{true});
}

TEST(RunBodyTest, PlacedCopiesUpdateColumnsAndCounters) {
  test::DeviceCluster cluster(
      "node a*3 cpu=8 memory=9Gi zone=1 res:example.com/x=9\npod p cpu=1 memory=1Gi label:app=x res:example.com/x=2\n"
      "pod other pod-anti-affinity=zone match=app=x");
  const DeviceState state = cluster.bring_up_all();
  const std::int32_t c = cluster.pods[0].class_index;
  ASSERT_FALSE(cluster.table[c].moves.empty());
  for (std::int32_t node = 0; node < 3; ++node) {
    place_copies(state, state.classes.classes[c], node, node * 2,
                 [](std::int64_t* counter, std::int64_t amount) { *counter += amount; });
    for (std::int32_t copy = 0; copy < node * 2; ++copy) cluster.place(cluster.pods[0], node);
  }
  const Snapshot& expected = cluster.snapshot;
  for (std::int32_t node = 0; node < 3; ++node) {
    for (std::int32_t r = 0; r < expected.resource_count(); ++r)
      EXPECT_EQ(state.columns.requested[r * state.columns.stride + node], expected.requested(r, node));
    EXPECT_EQ(state.columns.non_zero_milli_cpu[node], expected.non_zero_milli_cpu(node));
    EXPECT_EQ(state.columns.non_zero_memory_bytes[node], expected.non_zero_memory_bytes(node));
    EXPECT_EQ(state.columns.pod_count[node], expected.pod_count(node));
  }
  for (std::int32_t t = 0; t < expected.topology().table_count(); ++t) {
    EXPECT_EQ(state.counts.totals[t], expected.topology().total(t));
    EXPECT_EQ(state.counts.counts[state.counts.tables[t].first + 1], expected.topology().count(t, 1));
  }
}

}  // namespace
}  // namespace berth
