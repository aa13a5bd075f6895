// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <set>

namespace berth {
namespace {

TEST(Random, GivesThePublishedNumbersOfSplitmix64) {
  Random random(0);
  EXPECT_EQ(random.next(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(random.next(), 0x6E789E6AA1B965F4ULL);
  EXPECT_EQ(random.next(), 0x06C45D188009454FULL);
}

TEST(Random, StaysWithinItsBounds) {
  Random random(7);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t drawn = random.between(-2, 2);
    ASSERT_GE(drawn, -2);
    ASSERT_LE(drawn, 2);
    seen.insert(drawn);
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(random.below(0), 0U);
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_EQ(random.between(5, 4), 5);
}

TEST(Random, ChanceHandlesZeroAndOneHundredPercent) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(random.chance(0));
    ASSERT_TRUE(random.chance(100));
  }
}

TEST(Random, TheWholeIntegerRangeCanBeDrawn) {
  Random random(7);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t drawn =
        random.between(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    negative = negative || drawn < 0;
    positive = positive || drawn > 0;
  }
  EXPECT_TRUE(negative && positive);
}

TEST(Random, ASplitStreamDiffersFromItsOrigin) {
  Random random(7);
  Random other = random.split();
  EXPECT_NE(random.next(), other.next());
}

}  // namespace
}  // namespace berth
