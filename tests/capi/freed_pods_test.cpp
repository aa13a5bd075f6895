// SPDX-License-Identifier: Apache-2.0
// Pods that are freed by the thousand, of classes of their own: the engine numbers its classes again, and snapshots and
// forks that were opened before answer as before.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/capi/answers.h"
#include "tests/capi/counting_world.h"

namespace berth::test {
namespace {

constexpr int kNodes = 40;

struct FreedPods : testing::Test {
  FreedPods() {
    for (int i = 0; i < kNodes; ++i) world.upsert(node_json({.name = "n" + std::to_string(i), .zone = i % 3}));
    for (int i = 0; i < kNodes; ++i)
      world.upsert(pod_json({.name = "runs" + std::to_string(i),
                             .milli_cpu = 300 * (i % 9),
                             .app = i % 4,
                             .node = "n" + std::to_string(i),
                             .alone = i % 5 == 0}));
    for (int app = 0; app < 4; ++app) {
      pods.push_back(world.pod({.name = "asks" + std::to_string(app), .app = app, .spreads = app == 1}));
      asked.push_back(pods.back().get());
    }
    snapshot = world.snapshot();
  }

  /// So many that calls tell the engine of them. The version of the cluster stays.
  void create_and_free() {
    for (int i = 0; i < 6000; ++i)
      world.pod({.name = "freed", .milli_cpu = 1 + i, .app = 10 + ++freed, .spreads = i % 3 == 0, .alone = i % 2 == 0});
  }
  std::string answers() {
    berth_result* made = nullptr;
    EXPECT_EQ(berth_snapshot_check_bulk(snapshot.get(), asked.data(), asked.size(), nullptr, BERTH_WITH_SCORES, &made,
                                        nullptr),
              BERTH_OK);
    return text_of(*OwnedResult(made));
  }
  std::string answers_of(berth_fork* fork) {
    berth_result* made = nullptr;
    EXPECT_EQ(berth_fork_check_bulk(fork, asked.data(), asked.size(), nullptr, BERTH_WITH_SCORES, &made, nullptr),
              BERTH_OK);
    return text_of(*OwnedResult(made));
  }
  std::uint64_t snapshot_bytes() {
    std::uint64_t bytes = 0;
    EXPECT_EQ(berth_snapshot_memory(snapshot.get(), &bytes, nullptr), BERTH_OK);
    return bytes;
  }

  CountingWorld world{"cpu", 1};
  std::vector<OwnedPod> pods;
  std::vector<const berth_pod*> asked;
  OwnedSnapshot snapshot;
  int freed = 0;
};

TEST_F(FreedPods, LeaveASnapshotOfTheClustersVersionWithoutAnEngineOfItsOwn) {
  const std::string before = answers();
  const std::uint64_t bytes = snapshot_bytes();
  create_and_free();
  EXPECT_EQ(answers(), before);
  EXPECT_LT(snapshot_bytes(), 4 * bytes) << "an engine takes nine times as much";
}

TEST_F(FreedPods, LeaveOlderSnapshotsAndForksTheirAnswers) {
  const OwnedFork fork = fork_of(snapshot.get());
  ASSERT_EQ(berth_fork_add_pod(fork.get(), pods[1].get(), 7, nullptr), BERTH_OK);
  const std::string before = answers();
  const std::string of_fork = answers_of(fork.get());
  EXPECT_NE(before, of_fork);
  create_and_free();
  EXPECT_EQ(answers_of(fork.get()), of_fork);
  world.upsert(pod_json({.name = "comes", .milli_cpu = 3000, .app = 1, .node = "n3"}));
  create_and_free();
  EXPECT_EQ(answers(), before);
  EXPECT_EQ(answers_of(fork.get()), of_fork);
}

}  // namespace
}  // namespace berth::test
