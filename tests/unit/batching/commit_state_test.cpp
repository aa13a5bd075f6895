// SPDX-License-Identifier: Apache-2.0
#include "batching/commit_state.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

struct CommitStateTest : testing::Test {
  CommitStateTest() {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    state.compile(pods);
  }
  /// Lengths that equal_pods() returns while a batch advances by `step` pods.
  std::vector<std::size_t> lengths(std::size_t step, std::size_t limit = SIZE_MAX) {
    std::vector<std::size_t> found;
    BatchResult result;
    state.result = &result;
    state.run_batch(pods, {}, [&](std::span<const PodToPlace> rest, std::size_t) {
      found.push_back(state.equal_pods(rest, limit));
      for (const PodToPlace& pod : rest.first(std::min(step, rest.size())))
        state.fail(pod, OutcomeKind::kUnschedulable, {"text", {}, 0});
    });
    state.result = nullptr;
    return found;
  }
  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod a*4 cpu=2\npod b*2 cpu=3\npod c cpu=2\n");
  std::shared_ptr<ClusterCache> cache = test::fill_cache(scenario.objects);
  CommitState state{cache, scenario.objects, scenario.config, scenario.engine, "cpu"};
  std::vector<PodToPlace> pods;
};

TEST_F(CommitStateTest, EqualPodsAreCountedFromTheFrontOfTheRest) {
  EXPECT_EQ(lengths(1), (std::vector<std::size_t>{4, 3, 2, 1, 2, 1, 1}));
  EXPECT_EQ(lengths(3), (std::vector<std::size_t>{4, 1, 1}));
  EXPECT_EQ(lengths(1, 2), (std::vector<std::size_t>{2, 2, 2, 1, 2, 1, 1}));
}

// Otherwise a million equal unplaced pods take quadratic time.
TEST_F(CommitStateTest, EachPodOfABatchIsComparedWithItsPredecessorOnce) {
  BatchResult result;
  state.result = &result;
  std::vector<std::size_t> found;
  state.run_batch(pods, {}, [&](std::span<const PodToPlace> rest, std::size_t) {
    found.push_back(state.equal_pods(rest, SIZE_MAX));
    pods[3].class_index = -1;  // would end the run at its third pod if it were compared again
    state.fail(rest.front(), OutcomeKind::kUnschedulable, {"text", {}, 0});
  });
  EXPECT_EQ(found[1], 3u);
}

TEST_F(CommitStateTest, ANewBatchStartsCountingAgain) {
  lengths(7);
  pods[2].class_index = -1;
  EXPECT_EQ(lengths(7), (std::vector<std::size_t>{2}));
}

}  // namespace
}  // namespace berth
