// SPDX-License-Identifier: Apache-2.0
#include "host/perf/throughput.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

TEST(Throughput, HasNoSummaryWithoutSamples) { EXPECT_FALSE(summarize({}).has_value()); }

TEST(Throughput, TakesTheSampleAtTheRoundedUpRank) {
  std::vector<double> samples;
  for (int i = 20; i >= 1; --i) samples.push_back(i);
  const ThroughputSummary summary = *summarize(samples);
  EXPECT_DOUBLE_EQ(summary.average, 10.5);
  EXPECT_DOUBLE_EQ(summary.perc50, 10);
  EXPECT_DOUBLE_EQ(summary.perc90, 18);
  EXPECT_DOUBLE_EQ(summary.perc95, 19);
  EXPECT_DOUBLE_EQ(summary.perc99, 20);
}

TEST(ThroughputSampler, LeavesTheFirstSecondWithPodsOut) {
  ThroughputSampler sampler(0);
  sampler.update(kSecond, 0);
  sampler.update(2 * kSecond, 500);
  EXPECT_TRUE(sampler.samples().empty());
  sampler.update(3 * kSecond, 600);
  EXPECT_EQ(sampler.samples(), std::vector<double>({100}));
}

TEST(ThroughputSampler, SpreadsPodsOverSecondsWithoutAny) {
  ThroughputSampler sampler(0);
  sampler.update(kSecond, 10);
  sampler.update(2 * kSecond, 10);
  sampler.update(3 * kSecond, 10);
  sampler.update(4 * kSecond, 40);
  EXPECT_EQ(sampler.samples(), std::vector<double>({10, 10, 10}));
}

TEST(ThroughputSampler, CountsFromTheTimeOfTheSampleWhenItComesLate) {
  ThroughputSampler sampler(0);
  sampler.update(kSecond + 1, 10);
  EXPECT_EQ(sampler.next_sample_us(), 2 * kSecond);
  sampler.update(3 * kSecond + kSecond / 2 + 1, 35);
  EXPECT_EQ(sampler.samples(), std::vector<double>({10}));
  EXPECT_EQ(sampler.next_sample_us(), 4 * kSecond);
}

}  // namespace
}  // namespace berth
