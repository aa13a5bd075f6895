// SPDX-License-Identifier: Apache-2.0
#include "batching/engine_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "batching/engine_fork.h"
#include "tests/support/open_backend.h"
#include "tests/support/scenario.h"

namespace berth {
namespace {

struct EngineStateTest : testing::Test {
  EngineStateTest() {
    for (const PodPtr& pod : scenario.pending()) pods.push_back({pod, 0, -1});
    engine.ready().prepare(pods);
  }
  /// As when memory ran out in a call.
  void lose_state() { engine.ready().set_void(); }
  bool is_void() const {
    return engine.look([](const CommitState& state) { return state.is_void(); });
  }
  /// Nodes that the first pod fits on.
  std::int64_t accepting() const {
    return engine.read(pods, [&](const CommitState& state) -> std::int64_t {
      const std::vector<NodeVerdict> nodes = state.verdicts(pods.front()).nodes;
      return std::count_if(nodes.begin(), nodes.end(), [](const NodeVerdict& verdict) { return verdict.accepts(); });
    });
  }
  /// Runs the calls at once. A latch starts them, so that none is over before another begins.
  template <class... Calls>
  static void in_threads(Calls... calls) {
    std::latch begin(sizeof...(calls));
    std::vector<std::thread> threads;
    (threads.emplace_back([&] {
      begin.arrive_and_wait();
      calls();
    }),
     ...);
    for (std::thread& thread : threads) thread.join();
  }

  test::Scenario scenario = test::parse_scenario("node a cpu=4\nnode b cpu=1\npod p cpu=2\npod q cpu=1\n");
  std::shared_ptr<ClusterCache> cache = test::fill_cache(scenario.objects);
  EngineState<CommitState> engine{
      std::make_unique<CommitState>(cache, scenario.objects, scenario.config, scenario.engine, "cpu")};
  std::vector<PodToPlace> pods;
};

TEST_F(EngineStateTest, AReadingCallOpensAVoidStateAgain) {
  lose_state();
  EXPECT_TRUE(is_void());
  EXPECT_EQ(accepting(), 1);
  EXPECT_FALSE(is_void());
}

TEST_F(EngineStateTest, LookingOpensNothing) {
  lose_state();
  EXPECT_EQ(engine.look([](const CommitState& state) { return state.mark().position; }), 0u);
  EXPECT_TRUE(is_void());
}

/// ThreadSanitizer finds a state that goes while a call looks at it.
TEST_F(EngineStateTest, AStateStaysWhileACallLooksAtIt) {
  for (int round = 0; round < 20; ++round) {
    lose_state();
    std::atomic<int> wrong = 0;
    const auto look = [&] {
      for (int looks = 0; looks < 50; ++looks)
        wrong += engine.node_name(1) != "b" || engine.look([](const CommitState& state) {
          return state.snapshot.slot_count() < 2 || state.mark().position != 0;
        });
    };
    in_threads(look, look, [&] { wrong += accepting() != 1; }, [&] { wrong += accepting() != 1; });
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(EngineStateTest, ForksOfAVoidStateAreOpenedAtOnce) {
  const auto parent = std::make_shared<const ForkParent>();
  for (int round = 0; round < 10; ++round) {
    lose_state();
    std::atomic<int> opened = 0;
    const auto open = [&] { opened += engine.open_fork(parent) != nullptr; };
    in_threads(open, open, open, [&] { accepting(); });
    EXPECT_EQ(opened, 3);
  }
}

}  // namespace
}  // namespace berth
