// SPDX-License-Identifier: Apache-2.0
// Preemption asks the engine of the cluster where nothing else has happened, and otherwise an engine that is opened for
// the call. Both say the same, while the cluster changes.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/capi/world.h"

namespace berth::test {
namespace {

class Life {
 public:
  Life(const char* backend, std::uint64_t seed) : random_(seed), cluster_(make_cluster(backend, seed)) {
    for (int i = 0; i < 6; ++i) change_node(i);
  }

  void change() {
    switch (below(8)) {
      case 0:
        return change_node(below(8));
      case 1:
        berth_cluster_delete(cluster_.get(), "Node", nullptr, ("n" + std::to_string(below(8))).c_str(), nullptr,
                             nullptr);
        return;
      case 2:
        return change_budget();
      case 3:
        berth_cluster_delete(cluster_.get(), "Pod", nullptr, nullptr, ("uid-" + name()).c_str(), nullptr);
        return;
      default:
        return upsert(pod_json({.name = name(),
                                .milli_cpu = 500 + 500 * below(4),
                                .app = below(3),
                                .priority = 10 * below(3),
                                .node = "n" + std::to_string(below(8)),
                                .alone = below(4) == 0}));
    }
  }

  /// What each preemptor would evict, by a snapshot and by a fork that knows only that something happened to it.
  void expect_equal() {
    berth_snapshot* taken = nullptr;
    ASSERT_EQ(berth_snapshot_create(cluster_.get(), &taken, nullptr), BERTH_OK);
    const OwnedSnapshot snapshot(taken);
    for (const PodShape& shape : {PodShape{.name = "p", .milli_cpu = 3000, .priority = 15},
                                  PodShape{.name = "q", .milli_cpu = 4000, .app = 1, .priority = 100, .alone = true},
                                  PodShape{.name = "r", .milli_cpu = 2000, .app = 2, .priority = 5, .spreads = true}}) {
      const std::string text = pod_json(shape);
      berth_pod* made = nullptr;
      ASSERT_EQ(berth_pod_create(cluster_.get(), text.data(), text.size(), nullptr, &made, nullptr), BERTH_OK);
      const OwnedPod pod(made);
      berth_fork* opened = nullptr;
      ASSERT_EQ(berth_snapshot_fork(taken, &opened, nullptr), BERTH_OK);
      const OwnedFork fork(opened);
      berth_result *of_snapshot = nullptr, *of_fork = nullptr, *of_reverted = nullptr;
      ASSERT_EQ(berth_snapshot_preempt(taken, made, 0, &of_snapshot, nullptr), BERTH_OK);
      ASSERT_EQ(berth_fork_preempt(opened, made, 0, &of_fork, nullptr), BERTH_OK);
      ASSERT_EQ(berth_fork_revert(opened, nullptr), BERTH_OK);
      ASSERT_EQ(berth_fork_preempt(opened, made, 0, &of_reverted, nullptr), BERTH_OK);
      const OwnedResult owned(of_snapshot);
      const std::string expected = text_of(*OwnedResult(of_reverted));
      EXPECT_EQ(text_of(*of_snapshot), expected);
      EXPECT_EQ(text_of(*OwnedResult(of_fork)), expected);
      berth_column candidates{};
      ASSERT_EQ(berth_result_column(of_snapshot, BERTH_COLUMN_NODE, &candidates, nullptr), BERTH_OK);
      found_ += candidates.length;
    }
  }
  std::size_t found() const { return found_; }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  std::string name() { return "pod" + std::to_string(below(16)); }
  void upsert(const std::string& text) {
    ASSERT_EQ(berth_cluster_upsert(cluster_.get(), text.data(), text.size(), nullptr), BERTH_OK) << text;
  }
  void change_node(int node) {
    upsert(node_json({.name = "n" + std::to_string(node), .cpu = 4, .zone = below(3), .cordoned = below(6) == 0}));
  }
  void change_budget() {
    upsert(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"default"},
"spec":{"selector":{"matchLabels":{"app":"x)" +
           std::to_string(below(3)) + R"("}}},"status":{"disruptionsAllowed":)" + std::to_string(below(3)) + "}}");
  }

  std::mt19937_64 random_;
  OwnedCluster cluster_;
  std::size_t found_ = 0;
};

TEST(PreemptionOfTheCluster, SaysWhatAnEngineOfItsOwnSays) {
  std::size_t found = 0;
  for (const char* backend : {"cpu", "reference"})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Life life(backend, seed);
      for (int round = 0; round < 40; ++round) {
        for (int changes = 0; changes < 3; ++changes) life.change();
        life.expect_equal();
        if (testing::Test::HasFailure()) FAIL() << backend << ", seed " << seed << ", round " << round;
      }
      found += life.found();
    }
  EXPECT_GT(found, 100u);
}

}  // namespace
}  // namespace berth::test
