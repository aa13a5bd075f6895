// SPDX-License-Identifier: Apache-2.0
#include "host/framework/cycle_state.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

constexpr StateKey<std::vector<int>> kCounts{"Test/counts"};
constexpr StateKey<std::vector<int>> kShared{"Test/shared", Cloning::kShare};

TEST(CycleState, ReturnsWrittenValues) {
  CycleState state;
  EXPECT_EQ(state.read(kCounts), nullptr);
  state.write(kCounts, {1, 2});
  ASSERT_NE(state.read(kCounts), nullptr);
  EXPECT_EQ(*state.read(kCounts), (std::vector<int>{1, 2}));
  state.write(kCounts, {3});
  EXPECT_EQ(*state.read(kCounts), std::vector<int>{3});
  state.erase(kCounts.name);
  EXPECT_EQ(state.read(kCounts), nullptr);
}

TEST(CycleState, AValueOfAnotherTypeIsNotReturned) {
  CycleState state;
  state.write(StateKey<int>{"Test/counts"}, 7);
  EXPECT_EQ(state.read(kCounts), nullptr);
}

TEST(CycleState, ACloneHasItsOwnCopies) {
  CycleState state;
  state.write(kCounts, {1});
  CycleState clone = state.clone();
  state.read(kCounts)->push_back(2);
  clone.read(kCounts)->push_back(9);
  EXPECT_EQ(*state.read(kCounts), (std::vector<int>{1, 2}));
  EXPECT_EQ(*clone.read(kCounts), (std::vector<int>{1, 9}));
}

TEST(CycleState, SharedValuesAndSkipSetsAreTheSameInAClone) {
  CycleState state;
  state.write(kShared, {1});
  state.write(kPodsToActivate, {});
  CycleState clone = state.clone();
  clone.read(kShared)->push_back(2);
  clone.skipped_filters().insert("NodePorts");
  EXPECT_EQ(*state.read(kShared), (std::vector<int>{1, 2}));
  EXPECT_TRUE(state.skipped_filters().contains("NodePorts"));
  EXPECT_EQ(state.read(kPodsToActivate), clone.read(kPodsToActivate));
}

}  // namespace
}  // namespace berth
