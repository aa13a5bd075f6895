// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/timeline.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

TimelineSample sample(std::int64_t second, std::int64_t pending, std::int64_t placed) {
  TimelineSample result;
  result.time_us = second * kSecondUs;
  result.state.pending = pending;
  result.events.placed = placed;
  return result;
}

TEST(Timeline, KeepsASampleForEachChange) {
  Timeline timeline;
  timeline.add(sample(0, 5, 0));
  timeline.add(sample(3, 4, 1));
  timeline.add(sample(3, 3, 1));
  ASSERT_EQ(timeline.samples().size(), 2u);
  EXPECT_EQ(timeline.interval_us(), 0);
  EXPECT_EQ(timeline.samples()[1].state.pending, 3);
  EXPECT_EQ(timeline.samples()[1].events.placed, 2);
}

TEST(Timeline, StepsBecomeLongerWhenThereAreTooManySamples) {
  Timeline timeline(10);
  std::int64_t placed = 0;
  for (int second = 0; second < 1000; ++second) timeline.add(sample(second, second, 1));
  EXPECT_LE(timeline.samples().size(), 10u);
  EXPECT_GT(timeline.samples().size(), 2u);
  EXPECT_GT(timeline.interval_us(), 0);
  for (const TimelineSample& each : timeline.samples()) {
    EXPECT_EQ(each.time_us % timeline.interval_us(), 0);
    placed += each.events.placed;
  }
  EXPECT_EQ(placed, 1000);
  EXPECT_EQ(timeline.samples().back().state.pending, 999);
}

TEST(Fold, AStepHasTheStateAtItsEndAndTheSumOfItsEvents) {
  const std::vector<TimelineSample> samples = {sample(0, 9, 1), sample(1, 8, 1), sample(10, 7, 1), sample(11, 6, 1),
                                               sample(35, 5, 1)};
  const std::vector<TimelineSample> folded = fold(samples, 10 * kSecondUs, 36 * kSecondUs);
  ASSERT_EQ(folded.size(), 4u);
  EXPECT_EQ(folded[0].time_us, 0);
  EXPECT_EQ(folded[0].events.placed, 1);
  EXPECT_EQ(folded[1].time_us, 10 * kSecondUs);
  EXPECT_EQ(folded[1].state.pending, 7);
  EXPECT_EQ(folded[1].events.placed, 2);
  EXPECT_EQ(folded[2].time_us, 20 * kSecondUs);
  EXPECT_EQ(folded[3].time_us, 36 * kSecondUs) << "not after the end";
}

TEST(Fold, IntervalZeroChangesNothing) {
  const std::vector<TimelineSample> samples = {sample(0, 9, 1), sample(1, 8, 1)};
  EXPECT_EQ(fold(samples, 0, 10 * kSecondUs).size(), 2u);
  EXPECT_TRUE(fold({}, 5, 5).empty());
}

TEST(StepFor, IsTheShortestThatSuffices) {
  EXPECT_EQ(step_for(0, 60), 0);
  EXPECT_EQ(step_for(1, 60), kSecondUs);
  EXPECT_EQ(step_for(60 * kSecondUs, 60), kSecondUs);
  EXPECT_EQ(step_for(60 * kSecondUs + 1, 60), 2 * kSecondUs);
  EXPECT_EQ(step_for(3600 * kSecondUs, 60), 60 * kSecondUs);
  const std::int64_t long_us = std::int64_t{876'000} * 3'600 * kSecondUs;
  EXPECT_GE(step_for(long_us, 1), long_us);
  EXPECT_LT(step_for(long_us, 1), 2 * long_us);
}

TEST(Utilisation, IsZeroWithoutCapacity) {
  ClusterState state;
  EXPECT_EQ(utilisation(state, 0), 0);
  state.allocatable[0] = 4;
  state.requested[0] = 1;
  EXPECT_EQ(utilisation(state, 0), 0.25);
}

}  // namespace
}  // namespace berth
