// SPDX-License-Identifier: Apache-2.0
#include "batching/feasible_list.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

using Totals = std::vector<std::int64_t>;

TEST(KubeHeapTest, E_SH_TheRootIsTheFirstHighestInPreOrder) {
  EXPECT_EQ(kube_heap_root(Totals{10, 10, 10}), 0u);
  EXPECT_EQ(kube_heap_root(Totals{10, 20, 20, 20}), 1u);
  EXPECT_EQ(kube_heap_root(Totals{10, 5, 20, 20}), 3u);
  EXPECT_EQ(kube_heap_root(Totals{1, 2, 3, 3, 3, 3, 3}), 3u);
  EXPECT_EQ(kube_heap_root(Totals{500, 640, 640, 300, 640}), 1u);
  EXPECT_EQ(kube_heap_root(Totals{7}), 0u);
}

std::vector<std::int32_t> all_nodes(std::int32_t count) {
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

/// Nodes with the load totals and draws that the test gives them.
struct GivenNodes : ClassOnNodes {
  std::vector<std::int64_t> totals;
  std::vector<Draw> draws;
  bool accepts(std::int32_t) const override { return true; }
  std::int64_t load_total(std::int32_t node) const override { return totals[static_cast<std::size_t>(node)]; }
  Draw draw(std::int32_t node) const override { return draws[static_cast<std::size_t>(node)]; }
};

TEST(ChooseFromListTest, TheTotalDecidesThenTheDrawThenTheNode) {
  test::CompiledCluster cluster("node n*4 cpu=4 memory=8Gi\npod p cpu=1\n");
  const auto chosen = [&](std::vector<std::int64_t> totals, std::vector<Draw> draws) {
    GivenNodes nodes;
    nodes.totals = std::move(totals);
    nodes.draws = std::move(draws);
    return choose_from_list({3, 1, 2, 0}, nodes, cluster.class_of(0), cluster.row_of(0), cluster.profile(),
                            cluster.snapshot, TieBreak::kLoad)
        .node;
  };
  EXPECT_EQ(chosen({1, 2, 5, 4}, {kHighestDraw, 1, 1, kHighestDraw}), 2);
  EXPECT_EQ(chosen({5, 2, 5, 5}, {1, kHighestDraw, kHighestDraw, kHighestDraw - 1}), 2);
  EXPECT_EQ(chosen({5, 5, 5, 4}, {7, 9, 9, 99}), 1) << "the first in node order, not in the list";
  EXPECT_EQ(chosen({1ll << 40, 5, 5, 1ll << 40}, {7, 9, 9, 8}), 3) << "totals beyond what a key holds";
}

TEST(SampleTest, E_S_1_RejectionsBeforeTheStopAreRecorded) {
  const FeasibleList list = visit_sample(all_nodes(300), 0, 144, -1, [](std::int32_t i) { return i % 3 != 0; });
  EXPECT_EQ(list.nodes.size(), 144u);
  EXPECT_EQ(list.recorded, 73u);
}

TEST(SampleTest, E_S_2_TheSearchWrapsAround) {
  const auto all = [](std::int32_t) { return true; };
  const FeasibleList list = visit_sample(all_nodes(600), 552, 276, -1, all);
  ASSERT_EQ(list.nodes.size(), 276u);
  EXPECT_EQ(list.nodes.front(), 552);
  EXPECT_EQ(list.nodes.back(), 227);
  EXPECT_EQ(list.recorded, 0u);
}

TEST(SampleTest, E_S_3_EveryOtherNodeIsFeasible) {
  const FeasibleList list = visit_sample(all_nodes(200), 0, 100, -1, [](std::int32_t i) { return i % 2 != 0; });
  EXPECT_EQ(list.nodes.size(), 100u);
  EXPECT_EQ(list.recorded, 100u);
}

TEST(SampleTest, ARejectingNominatedNodeIsRecordedOnce) {
  const auto feasible = [](std::int32_t i) { return i != 1; };
  EXPECT_EQ(visit_sample(all_nodes(10), 0, 10, 1, feasible).recorded, 1u);
  EXPECT_EQ(visit_sample(all_nodes(10), 5, 2, 1, feasible).recorded, 1u) << "it was not met, but it has a status";
}

TEST(WantedFeasibleTest, TheNumberOfNodesFollowsTheTable) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates());
  const Profile& profile = config.profiles.front();
  const std::vector<std::pair<std::size_t, std::size_t>> table = {
      {99, 99},    {100, 100},  {206, 100},  {249, 122},  {250, 120},  {300, 144},   {500, 230},   {600, 276},
      {1000, 420}, {2000, 680}, {5000, 500}, {5625, 281}, {6000, 300}, {10000, 500}, {15000, 750}, {100000, 5000}};
  for (const auto& [nodes, wanted] : table) EXPECT_EQ(wanted_feasible(profile, config, nodes), wanted) << nodes;
}

TEST(WantedFeasibleTest, TheProfilesPercentageOverridesTheGlobalOne) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  config.percentage_of_nodes_to_score = 30;
  EXPECT_EQ(wanted_feasible(config.profiles.front(), config, 5000), 1500u);
  config.profiles.front().percentage_of_nodes_to_score = 100;
  EXPECT_EQ(wanted_feasible(config.profiles.front(), config, 5000), 5000u);
  config.profiles.front().percentage_of_nodes_to_score = 10;
  EXPECT_EQ(wanted_feasible(config.profiles.front(), config, 50), 50u);
  EXPECT_EQ(wanted_feasible(config.profiles.front(), config, 500), 100u);
}

TEST(WantedFeasibleTest, WithoutScoresOneNodeIsEnough) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  config.profiles.front().plugins[static_cast<std::size_t>(ExtensionPoint::kScore)].clear();
  EXPECT_EQ(wanted_feasible(config.profiles.front(), config, 5000), 1u);
}

}  // namespace
}  // namespace berth
