// SPDX-License-Identifier: Apache-2.0
#include "host/framework/cycle_state.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

constexpr StateKey<std::vector<int>> kCounts{"Test/counts"};

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

}  // namespace
}  // namespace berth
