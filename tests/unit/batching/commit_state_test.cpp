// SPDX-License-Identifier: Apache-2.0
#include "batching/commit_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "batching/engine_fork.h"
#include "host/objects/pod_copy.h"
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

/// A fork of a cluster whose pods come and go.
struct JournalTest : testing::Test {
  void tell(ClusterChange change) {
    state.apply({&change, 1});
    longest = std::max(longest, state.cluster.journal()->size());
  }
  PodPtr standing(int number) {
    const std::shared_ptr<Pod> pod = copy_of(*scenario.objects.pods.front());
    pod->name = "p" + std::to_string(number);
    pod->node_name = "n";
    return pod;
  }
  std::unique_ptr<Fork> open() { return state.open_fork(std::make_shared<const ForkParent>()); }

  test::Scenario scenario = test::parse_scenario("node n cpu=1\npod p\n");
  CommitState state{test::fill_cache(scenario.objects), scenario.objects, scenario.config, scenario.engine, "cpu"};
  std::size_t longest = 0;
};

TEST_F(JournalTest, IsBoundedWhileAForkStaysOpen) {
  const auto fork = open();
  for (int i = 0; i < 10'000; ++i) {
    tell(PodUpsert{standing(i)});
    tell(PodRemoval{standing(i)->uid()});
  }
  EXPECT_LE(longest, 4096u);
  EXPECT_GT(longest, 4000u) << "or forks are detached too often";
}

TEST_F(JournalTest, HoldsAChangeOfEachPodOfALargerCluster) {
  for (int i = 0; i < 6000; ++i) tell(PodUpsert{standing(i)});
  const auto fork = open();
  for (int i = 6000; i < 14'000; ++i) {
    tell(PodUpsert{standing(i)});
    tell(PodRemoval{standing(i)->uid()});
  }
  EXPECT_LE(longest, 6000u);
  EXPECT_GT(longest, 5900u);
}

TEST_F(JournalTest, IsBoundedWhenTheEngineItselfPlacesAndUndoes) {
  const auto fork = open();
  for (int i = 0; i < 6000; ++i) {
    std::vector<PodToPlace> pods{{standing(i), 0, -1}};
    state.compile(pods);
    state.place(pods.front(), "n");
    EXPECT_TRUE(state.undo(*pods.front().pod));
    longest = std::max(longest, state.cluster.journal()->size());
    state.release(pods);
  }
  EXPECT_LE(longest, 4096u);
  EXPECT_GT(longest, 4000u);
}

TEST_F(JournalTest, ForgetsWhatForksNeededThatAreGone) {
  std::unique_ptr<Fork> fork = open();
  for (int i = 0; i < 4000; ++i) tell(PodUpsert{standing(i)});
  fork = open();
  for (int i = 0; i < 200; ++i) tell(PodRemoval{standing(i)->uid()});
  EXPECT_EQ(state.cluster.journal()->size(), 200u) << "the second fork still reads the engine";
}

}  // namespace
}  // namespace berth
