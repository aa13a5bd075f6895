// SPDX-License-Identifier: Apache-2.0
// A device's evaluation of one class on one node, compared with the scalar path.
#include "batching/device/node_evaluation.h"

#include <gtest/gtest.h>

#include "batching/feasible_list.h"
#include "batching/node_filter.h"
#include "tests/unit/batching_device/drawn_amounts.h"
#include "tests/unit/engine_device/device_cluster.h"

namespace berth {
namespace {

NodeKey plain_key(test::DeviceCluster& cluster, std::int32_t c, std::int32_t node) {
  const NodeSideRow& side = cluster.table.node_side(c);
  const CompiledProfile& profile = cluster.table.profile_of(c);
  const UncachedClass uncached(cluster.table[c], profile, side, cluster.snapshot);
  if (!uncached.accepts(node)) return 0;
  return make_node_key(side.fixed_total(cluster.snapshot, node) + uncached.load_total(node), uncached.draw(node));
}

/// @return how many keys were compared
std::int64_t expect_plain_keys(test::DeviceCluster& cluster) {
  const DeviceState state = cluster.bring_up_all();
  std::int64_t feasible = 0;
  for (std::int32_t c = 0; c < cluster.table.size(); ++c) {
    if (scores_may_leave_range(cluster.table[c], cluster.snapshot)) continue;  // the device is not asked then
    const DeviceLayout& layout = cluster.classes.layout(cluster.classes.layout_of(c));
    for (std::int32_t node = 0; node < cluster.snapshot.node_count(); ++node) {
      const NodeKey key = evaluate_node(state, state.classes.classes[c], layout.base[node], {state.columns, node});
      EXPECT_EQ(key, plain_key(cluster, c, node)) << "class " << c << " on node " << node;
      feasible += key > 0 ? 1 : 0;
    }
  }
  return feasible;
}

TEST(NodeEvaluationTest, KeysEqualTheScalarPathForAnyAmounts) {
  std::mt19937 dice(4);
  std::int64_t feasible = 0;
  std::int64_t wide = 0;
  for (int again = 0; again < 400; ++again) {
    const std::string text = test::draw_cluster_of_any_amounts(dice);
    test::DeviceCluster cluster(text);
    feasible += expect_plain_keys(cluster);
    for (std::int32_t c = 0; c < cluster.table.size(); ++c) wide += cluster.table[c].needs_int64 ? 1 : 0;
    if (HasFailure()) FAIL() << text;
  }
  EXPECT_GT(feasible, 1000);
  EXPECT_GT(wide, 100);
}

TEST(NodeEvaluationTest, KeysFollowPlacementsAndRollbacks) {
  std::mt19937 dice(5);
  for (int again = 0; again < 100; ++again) {
    test::DeviceCluster cluster(test::draw_cluster_of_any_amounts(dice));
    cluster.bring_up_all();
    std::vector<std::pair<const PodToPlace*, std::int32_t>> placed;
    for (int step = 0; step < 6; ++step) {
      const PodToPlace& pod = cluster.pods[dice() % cluster.pods.size()];
      const auto node = static_cast<std::int32_t>(dice() % static_cast<std::uint32_t>(cluster.snapshot.node_count()));
      if (plain_key(cluster, pod.class_index, node) == 0) continue;  // what does not fit is not placed
      cluster.place(pod, node);
      placed.emplace_back(&pod, node);
      expect_plain_keys(cluster);
    }
    for (; !placed.empty(); placed.pop_back()) cluster.take_back(*placed.back().first, placed.back().second);
    expect_plain_keys(cluster);
    if (HasFailure()) break;
  }
}

TEST(NodeEvaluationTest, ANodeRejectedByItsObjectHasNoKey) {
  test::DeviceCluster cluster("node a cpu=4\nnode b cpu=4\npod p cpu=1");
  const DeviceState state = cluster.bring_up_all();
  EXPECT_GT(evaluate_node(state, state.classes.classes[0], 0, {state.columns, 0}), 0);
  EXPECT_EQ(evaluate_node(state, state.classes.classes[0], -1, {state.columns, 0}), 0);
}

TEST(NodeEvaluationTest, ASingleNodeTermIsPartOfTheKey) {
  DeviceTuning tuning;
  tuning.coarse_domains_max = 0;
  test::DeviceCluster cluster(
      "node a cpu=4 host\nnode b cpu=4 host\nnode c cpu=4\npod p cpu=1 label:app=x pod-anti-affinity=host match=app=x",
      tuning);
  const auto key = [&](std::int32_t node) {
    const DeviceState state = cluster.bring_up_all();
    const DeviceLayout& layout = cluster.classes.layout(cluster.classes.layout_of(0));
    return evaluate_node(state, state.classes.classes[0], layout.base[node], {state.columns, node});
  };
  for (std::int32_t node = 0; node < 3; ++node) EXPECT_GT(key(node), 0);
  cluster.place(cluster.pods[0], 1);
  EXPECT_GT(key(0), 0);
  EXPECT_EQ(key(1), 0);
  EXPECT_GT(key(2), 0);
  cluster.place(cluster.pods[0], 2);
  EXPECT_GT(key(2), 0) << "a node without the label lies in no domain";
  cluster.take_back(cluster.pods[0], 1);
  EXPECT_GT(key(1), 0);
}

}  // namespace
}  // namespace berth
