// SPDX-License-Identifier: Apache-2.0
#include "batching/nominations.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr std::string_view kCluster = "node a cpu=4\npod chosen cpu=3 nominated=a priority=10\npod other cpu=2\n";

TEST(NominationPhaseTest, PendingPodsHoldTheirNode) {
  test::CompiledCluster cluster(kCluster);
  const Nominations nominations(cluster.scenario.objects, cluster.scenario.config, cluster.snapshot, cluster.table);
  EXPECT_EQ(nominations.nominated_nodes(), std::vector<std::int32_t>{0});
  EXPECT_TRUE(nominations.any_against(*cluster.pods[1].pod, 0));
  EXPECT_FALSE(nominations.any_against(*cluster.pods[0].pod)) << "its own nomination";
}

TEST(NominationPhaseTest, FinishedPodsHoldNoNode) {
  test::CompiledCluster cluster(kCluster);
  std::const_pointer_cast<Pod>(cluster.scenario.objects.pods.front())->phase = PodPhase::kFailed;
  const Nominations nominations(cluster.scenario.objects, cluster.scenario.config, cluster.snapshot, cluster.table);
  EXPECT_TRUE(nominations.empty());
}

std::vector<std::string> names_on_node(const Nominations& nominations, const Pod& pod, std::int32_t node) {
  std::vector<std::string> names;
  nominations.for_each_against(pod, node, [&](const auto& nominated) { names.push_back(nominated.pod->name); });
  return names;
}

// Found by volumes_agree_test: a Filter plugin ends with the error of the first pod that it cannot read.
TEST(NominationPhaseTest, PodsOfANodeStayInTheirOrderWhenSlotsAreRenumbered) {
  std::string text = "node a cpu=64\npod other cpu=1\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back("pod-" + std::to_string(i));
    text += "pod " + expected.back() + " cpu=1 nominated=a priority=10\n";
  }
  test::CompiledCluster cluster(text);
  Nominations nominations(cluster.scenario.objects, cluster.scenario.config, cluster.snapshot, cluster.table);
  const Pod& other = *cluster.pods[0].pod;
  ASSERT_EQ(other.name, "other");
  EXPECT_EQ(names_on_node(nominations, other, 0), expected);
  nominations.rebuild(cluster.table, cluster.snapshot);
  EXPECT_EQ(names_on_node(nominations, other, 0), expected);
  nominations.leave_node(0);
  nominations.enter_node(0, cluster.table, cluster.snapshot);
  EXPECT_EQ(names_on_node(nominations, other, 0), expected);
}

}  // namespace
}  // namespace berth
