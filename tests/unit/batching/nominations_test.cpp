// SPDX-License-Identifier: Apache-2.0
#include "batching/nominations.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace berth
