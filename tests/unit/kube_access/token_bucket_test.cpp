// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/token_bucket.h"

#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

TEST(TokenBucket, GivesTheBurstAtOnceAndThenTheRate) {
  VirtualClock clock(1'000'000);
  TokenBucket bucket(4, 3, clock);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
  clock.advance_by(249'999);
  EXPECT_FALSE(bucket.try_take());
  clock.advance_by(1);
  EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
  clock.advance_by(3'600'000'000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
}

TEST(TokenBucket, ReservationsFollowOneAnother) {
  VirtualClock clock(0);
  TokenBucket bucket(10, 1, clock);
  EXPECT_EQ(bucket.reserve_us(), 0);
  EXPECT_EQ(bucket.reserve_us(), 100'000);
  EXPECT_EQ(bucket.reserve_us(), 200'000);
  clock.advance_to(150'000);
  EXPECT_EQ(bucket.reserve_us(), 300'000);
  EXPECT_FALSE(bucket.try_take());
}

TEST(TokenBucket, NegativeRateIsNoLimit) {
  VirtualClock clock(5);
  TokenBucket bucket(-1, 0, clock);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.try_take());
  EXPECT_EQ(bucket.reserve_us(), 5);
}

TEST(TokenBucket, AllowsTheRateOverAnyTime) {
  VirtualClock clock(0);
  TokenBucket bucket(50, 100, clock);
  int taken = 0;
  for (int ms = 0; ms < 100'000; ms += 7) {
    clock.advance_to(std::int64_t{ms} * 1000);
    while (bucket.try_take()) ++taken;
  }
  EXPECT_GE(taken, 100 + 50 * 99);
  EXPECT_LE(taken, 100 + 50 * 100);
}

TEST(TokenBucket, RefusesLimitsThatNobodyCanMeet) {
  VirtualClock clock(0);
  EXPECT_THROW(TokenBucket(0, 1, clock), std::invalid_argument);
  EXPECT_THROW(TokenBucket(1, 0, clock), std::invalid_argument);
  EXPECT_THROW(TokenBucket(std::numeric_limits<double>::quiet_NaN(), 1, clock), std::invalid_argument);
}

}  // namespace
}  // namespace berth
