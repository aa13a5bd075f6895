// SPDX-License-Identifier: Apache-2.0
// How many nodes a plugin on the host is asked about again, by what changed.
#include "batching/host_columns.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/host_plugins.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

constexpr std::int64_t kNodes = 6;

class HostColumnsTest : public testing::Test {
 protected:
  /// @param claims  of the pod that the column is about
  void open(const std::string& claims) {
    cluster_ = std::make_unique<test::CompiledCluster>(
        "node a*3 zone=x\nnode b*2 zone=y\nnode c\n"
        "pod plain\npod claims-k claim=k1\npod claims-zone claim=done\npod claims-x claim=x1\npod p " +
        claims);
    columns_ =
        std::make_unique<HostColumns>(test::make_host_plugins(state_), cluster_->cluster, cluster_->snapshot, true);
    side_ = columns_->side(pod("p"), cluster_->scenario.config.profiles.front());
    columns_->refill(side_);
  }
  const PodPtr& pod(std::string_view name) const {
    for (const PodToPlace& pod : cluster_->pods)
      if (pod.pod->name == name) return pod.pod;
    throw std::invalid_argument("no such pod");
  }
  /// Nodes asked by the refill after what came before.
  std::int64_t asked_again() {
    const bool was_current = columns_->is_current(side_);
    const std::int64_t before = columns_->stats().nodes_asked;
    columns_->refill(side_);
    const std::int64_t asked = columns_->stats().nodes_asked - before;
    EXPECT_EQ(was_current, asked == 0);
    EXPECT_TRUE(columns_->is_current(side_));
    return asked;
  }
  std::int32_t slot(std::string_view node) const { return cluster_->snapshot.find_node(node); }

  std::shared_ptr<test::HostPluginState> state_ = std::make_shared<test::HostPluginState>();
  std::unique_ptr<test::CompiledCluster> cluster_;
  std::unique_ptr<HostColumns> columns_;
  HostSide side_;
};

TEST_F(HostColumnsTest, PluginsThatSkipThePodAskNoNode) {
  open("");
  EXPECT_TRUE(side_.is_idle());
  EXPECT_EQ(columns_->stats().nodes_asked, 0);
  EXPECT_EQ(columns_->stats().columns_filled, 0);
}

TEST_F(HostColumnsTest, APodThatReachesNothingMakesNothingStale) {
  open("claim=k1");
  EXPECT_EQ(columns_->stats().nodes_asked, kNodes);
  columns_->note_pod(*pod("plain"), slot("a0"));
  EXPECT_EQ(asked_again(), 0);
}

TEST_F(HostColumnsTest, APodThatReachesItsNodeMakesOneAnswerStale) {
  open("claim=k1");
  columns_->note_pod(*pod("claims-k"), slot("a0"));
  columns_->note_pod(*pod("claims-k"), slot("a0"));
  EXPECT_EQ(asked_again(), 1) << "once, although two pods came";
}

TEST_F(HostColumnsTest, APodThatReachesItsDomainMakesTheAnswersThereStale) {
  open("claim=done");
  EXPECT_EQ(columns_->stats().nodes_asked, 2 * kNodes) << "by VolumeBinding and NodeVolumeLimits";
  columns_->note_pod(*pod("claims-zone"), slot("a1"));
  EXPECT_EQ(asked_again(), 3 + 1) << "the zone, and the node of its limit";
  columns_->note_pod(*pod("claims-zone"), slot("c"));
  EXPECT_EQ(asked_again(), 1 + 1) << "without the label, the node alone";
}

TEST_F(HostColumnsTest, APodThatReachesEverythingMakesTheColumnStale) {
  open("claim=x2");
  EXPECT_EQ(columns_->stats().columns_filled, 2);
  columns_->note_pod(*pod("claims-x"), slot("b0"));
  EXPECT_EQ(asked_again(), kNodes + 1);
  EXPECT_EQ(columns_->stats().columns_filled, 3);
}

TEST_F(HostColumnsTest, ANodeThatChangesIsAskedAgainByEachPlugin) {
  open("claim=done");
  columns_->note_node(slot("b1"), false, false);
  EXPECT_EQ(asked_again(), 2);
  columns_->note_node(slot("b1"), false, true);
  EXPECT_EQ(asked_again(), 2 * kNodes) << "its pods may count elsewhere now";
}

TEST_F(HostColumnsTest, ANodeSetIsAskedForAgainWhenNodesComeOrGo) {
  open("claim=zset");
  const std::int64_t filled = columns_->stats().columns_filled;
  columns_->note_node(slot("a2"), true, false);
  EXPECT_EQ(asked_again(), kNodes + 1) << "VolumeZone names nodes; the limit of the node";
  EXPECT_EQ(columns_->stats().columns_filled, filled + 1);
}

TEST_F(HostColumnsTest, AnotherVersionMakesTheColumnsOfThatPluginStale) {
  open("claim=z1");
  ++state_->version;
  EXPECT_EQ(asked_again(), kNodes);
}

TEST_F(HostColumnsTest, AColumnThatHasMissedMoreThanItsNodesIsFilledAgain) {
  open("claim=k1");
  const std::int64_t filled = columns_->stats().columns_filled;
  for (int i = 0; i < 10'000; ++i) columns_->note_pod(*pod("claims-k"), slot("a0"));
  EXPECT_EQ(asked_again(), kNodes);
  EXPECT_EQ(columns_->stats().columns_filled, filled + 1);
}

TEST_F(HostColumnsTest, AnErrorIsRetriedWithoutAChange) {
  open("claim=zbroken");
  EXPECT_TRUE(columns_->is_current(side_));
  const std::int64_t before = columns_->stats().nodes_asked;
  columns_->refill(side_);
  EXPECT_EQ(columns_->stats().nodes_asked - before, kNodes);
}

TEST_F(HostColumnsTest, PodsThatAreSignedAlikeShareColumns) {
  open("claim=k1");
  const std::int64_t filled = columns_->stats().columns_filled;
  const HostSide other = columns_->side(pod("claims-k"), cluster_->scenario.config.profiles.front());
  EXPECT_TRUE(columns_->is_current(other));
  columns_->refill(other);
  EXPECT_EQ(columns_->stats().columns_filled, filled);
}

}  // namespace
}  // namespace berth
