// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the rules: lanes of doubles must give the integers of kube-scheduler.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "plugins/image_locality/rule.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"
#include "plugins/normalize.h"
#include "plugins/rule.h"

namespace berth {
namespace {

void expect_same_quotient(std::int64_t a, std::int64_t b) {
  const auto lane = static_cast<double>(a);
  EXPECT_EQ(static_cast<std::int64_t>(divide_truncated(lane, LaneDivisor(static_cast<double>(b)))), a / b)
      << a << " / " << b;
  EXPECT_EQ(static_cast<std::int64_t>(divide_truncated(lane, static_cast<double>(b))), a / b) << a << " / " << b;
}

TEST(DivideTruncatedTest, LanesGiveTheIntegerQuotientOfRandomAmounts) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 300000 && !testing::Test::HasFailure(); ++i) {
    const auto bits = static_cast<int>(1 + random() % 43);
    const auto b = static_cast<std::int64_t>(1 + random() % ((std::uint64_t{1} << bits) - 1));
    expect_same_quotient(static_cast<std::int64_t>(random() % (100 * static_cast<std::uint64_t>(b) + 1)), b);
  }
}

TEST(DivideTruncatedTest, LanesGiveTheIntegerQuotientAroundMultiples) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
    const std::int64_t b = i < 40 ? kExactBelow - 1 - i : static_cast<std::int64_t>(1 + random() % (kExactBelow - 1));
    for (std::int64_t k = 0; k <= 100; ++k)
      for (const std::int64_t near : {-1, 0, 1})
        if (const std::int64_t a = k * b + near; a >= 0 && a <= 100 * b) expect_same_quotient(a, b);
  }
}

TEST(DivideTruncatedTest, SmallDivisorsAreExact) {
  for (std::int64_t b = 1; b <= 300; ++b)
    for (std::int64_t a = 0; a <= 100 * b; ++a) expect_same_quotient(a, b);
}

TEST(MultiplyTest, IntegersWrapAroundAsInGo) {
  EXPECT_EQ(multiply(INT64_MAX, std::int64_t{2}), -2);
  EXPECT_EQ(multiply(INT64_MIN, std::int64_t{-1}), INT64_MIN);
}

TEST(ToIntegerTest, TruncatesAndGivesTheSmallestInt64OutOfRange) {
  EXPECT_EQ(to_integer(-1.9), -1);
  EXPECT_EQ(to_integer(-0x1p63), INT64_MIN);
  EXPECT_EQ(to_integer(0x1p63), INT64_MIN);
  EXPECT_EQ(to_integer(-1e30), INT64_MIN);
  EXPECT_EQ(to_integer(__builtin_nan("")), INT64_MIN);
  EXPECT_EQ(to_integer(0x1.fffffffffffffp62), INT64_MAX - 1023);
}

std::vector<std::int64_t> normalized(const std::vector<std::int64_t>& raws, bool reverse) {
  std::int64_t highest = 0;
  for (const std::int64_t raw : raws) highest = std::max(highest, raw);
  std::vector<std::int64_t> scores;
  for (const std::int64_t raw : raws) scores.push_back(default_normalize(raw, highest, reverse));
  return scores;
}
using Scores = std::vector<std::int64_t>;

TEST(DefaultNormalizeTest, E_DN_1_TruncatesBeforeReversing) {
  EXPECT_EQ(normalized({0, 3, 7}, false), (Scores{0, 42, 100}));
  EXPECT_EQ(normalized({0, 3, 7}, true), (Scores{100, 58, 0}));
}
TEST(DefaultNormalizeTest, E_DN_2_AllZerosStayZeroOrBecomeHundredInReverse) {
  EXPECT_EQ(normalized({0, 0}, false), (Scores{0, 0}));
  EXPECT_EQ(normalized({0, 0}, true), (Scores{100, 100}));
}
TEST(DefaultNormalizeTest, E_DN_3_ASingleScoreIsTheMaximum) {
  EXPECT_EQ(normalized({5}, false), (Scores{100}));
  EXPECT_EQ(normalized({5}, true), (Scores{0}));
}
TEST(DefaultNormalizeTest, E_DN_4_ThirdsAreTruncated) {
  EXPECT_EQ(normalized({1, 2, 3}, false), (Scores{33, 66, 100}));
  EXPECT_EQ(normalized({1, 2, 3}, true), (Scores{67, 34, 0}));
}
TEST(DefaultNormalizeTest, E_TT_7_TaintScores) {
  EXPECT_EQ(normalized({1, 0, 2}, true), (Scores{50, 100, 0}));
  EXPECT_EQ(normalized({3, 1, 2}, true), (Scores{0, 67, 34}));
  EXPECT_EQ(normalized({2, 2}, true), (Scores{0, 0}));
}

// NodeResourcesFit

TEST(NodeResourcesFitTest, ThePodLimitIncludesTheIncomingPod) {
  EXPECT_FALSE(NodeResourcesFit::too_many_pods<std::int64_t>(109, 110));
  EXPECT_TRUE(NodeResourcesFit::too_many_pods<std::int64_t>(110, 110));
  EXPECT_TRUE(NodeResourcesFit::too_many_pods<std::int64_t>(0, 0));
}

TEST(NodeResourcesFitTest, ARequestOfTheFreeAmountFits) {
  EXPECT_FALSE(NodeResourcesFit::is_short<std::int64_t>(5, 10, 5));
  EXPECT_TRUE(NodeResourcesFit::is_short<std::int64_t>(6, 10, 5));
  EXPECT_FALSE(NodeResourcesFit::is_short<std::int64_t>(0, 10, 50));
}

TEST(NodeResourcesFitTest, CopiesThatFitAreThoseThatTheRuleAcceptsInARow) {
  for (std::int64_t allocatable = 0; allocatable <= 12; ++allocatable)
    for (std::int64_t requested = 0; requested <= 15; ++requested)
      for (std::int64_t request = 1; request <= 7; ++request) {
        std::int64_t copies = 0;
        while (!NodeResourcesFit::is_short(request, allocatable, requested + copies * request)) ++copies;
        EXPECT_EQ(NodeResourcesFit::requests_left(request, allocatable - requested), copies);
        const double in_doubles =
            NodeResourcesFit::requests_left(static_cast<double>(request), static_cast<double>(allocatable - requested));
        EXPECT_EQ(static_cast<std::int64_t>(in_doubles), copies);
      }
  for (std::int64_t allowed = 0; allowed <= 5; ++allowed)
    for (std::int64_t pods = 0; pods <= 8; ++pods) {
      std::int64_t copies = 0;
      while (!NodeResourcesFit::too_many_pods(pods + copies, allowed)) ++copies;
      EXPECT_EQ(NodeResourcesFit::slots_left(pods, allowed), copies);
    }
}

TEST(NodeResourcesFitTest, CopiesOfLargeAmountsAreExactInDoubles) {
  std::mt19937_64 dice(1);
  for (int i = 0; i < 200000; ++i) {
    const auto request = static_cast<std::int64_t>(1 + dice() % (std::uint64_t{1} << (1 + dice() % 43)));
    // Around multiples, where a quotient might be rounded up.
    const auto most = static_cast<std::uint64_t>((std::int64_t{1} << 53) / request);
    const std::int64_t free = std::max<std::int64_t>(
        static_cast<std::int64_t>(dice() % most) * request - static_cast<std::int64_t>(dice() % 2), 0);
    const double in_doubles = NodeResourcesFit::requests_left(static_cast<double>(request), static_cast<double>(free));
    ASSERT_EQ(static_cast<std::int64_t>(in_doubles), NodeResourcesFit::requests_left(request, free))
        << request << " " << free;
  }
}

template <class Strategy>
void expect_lanes_equal_integers() {
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000 && !testing::Test::HasFailure(); ++i) {
    const auto allocatable = static_cast<std::int64_t>(1 + random() % (kExactBelow - 1)) >> (random() % 40);
    if (allocatable == 0) continue;
    const auto requested = static_cast<std::int64_t>(random() % (2 * static_cast<std::uint64_t>(allocatable)));
    const double lane = Strategy::part(static_cast<double>(requested), LaneDivisor(static_cast<double>(allocatable)));
    EXPECT_EQ(static_cast<std::int64_t>(lane), Strategy::part(requested, allocatable))
        << requested << " " << allocatable;
  }
}

struct Utilization {
  template <class Number, class Divisor>
  static Number part(Number requested, const Divisor& allocatable) {
    return RequestedToCapacityRatio::utilization(requested, allocatable);
  }
};

TEST(NodeResourcesFitTest, LeastAllocatedIsTheSameInLanesAndIntegers) { expect_lanes_equal_integers<LeastAllocated>(); }
TEST(NodeResourcesFitTest, MostAllocatedIsTheSameInLanesAndIntegers) { expect_lanes_equal_integers<MostAllocated>(); }
TEST(NodeResourcesFitTest, UtilizationIsTheSameInLanesAndIntegers) { expect_lanes_equal_integers<Utilization>(); }

TEST(NodeResourcesFitTest, HalvesAreRoundedUp) {
  EXPECT_EQ(RequestedToCapacityRatio::rounded_mean(65, 2), 33);
  EXPECT_EQ(RequestedToCapacityRatio::rounded_mean(97, 3), 32);
  EXPECT_EQ(RequestedToCapacityRatio::rounded_mean(0, 1), 0);
}

// NodeResourcesBalancedAllocation

std::int64_t balance(const std::vector<std::pair<double, double>>& requested_of_allocatable) {
  std::array<double, 8> fractions{};
  std::array<bool, 8> counts{};
  int r = 0;
  for (const auto& [requested, allocatable] : requested_of_allocatable) {
    counts[static_cast<std::size_t>(r)] = allocatable != 0;
    if (allocatable != 0)
      fractions[static_cast<std::size_t>(r)] = NodeResourcesBalancedAllocation::fraction(requested, allocatable);
    ++r;
  }
  return static_cast<std::int64_t>(NodeResourcesBalancedAllocation::score(fractions.data(), counts.data(), r));
}

constexpr double kGi = 1073741824.0;

TEST(BalancedAllocationTest, E_BA_1_TwoFractionsDeviateByHalfTheirDifference) {
  EXPECT_EQ(balance({{1500, 4000}, {3 * kGi, 16 * kGi}}), 90);
}
TEST(BalancedAllocationTest, E_BA_2_RoundingErrorGives89InsteadOf90) {
  EXPECT_EQ(balance({{600, 1000}, {2400, 3000}}), 89);
}
TEST(BalancedAllocationTest, E_BA_3_RoundingErrorGives90InsteadOf91) {
  EXPECT_EQ(balance({{500, 1000}, {6800, 10000}}), 90);
}
TEST(BalancedAllocationTest, E_BA_4_RoundingErrorGives64InsteadOf65) {
  EXPECT_EQ(balance({{100, 1000}, {800, 1000}}), 64);
}
TEST(BalancedAllocationTest, E_BA_5_AFractionIsClippedToOne) {
  EXPECT_EQ(balance({{4600, 4000}, {4 * kGi, 16 * kGi}}), 62);
}
TEST(BalancedAllocationTest, E_BA_6_ThreeFractions) { EXPECT_EQ(balance({{800, 4000}, {6400, 16000}, {9, 10}}), 70); }
TEST(BalancedAllocationTest, E_BA_7_ThreeFractionsWithGpus) {
  EXPECT_EQ(balance({{2000, 8000}, {4 * kGi, 16 * kGi}, {6, 8}}), 76);
}
TEST(BalancedAllocationTest, E_BA_8_AResourceWithoutCapacityIsIgnored) {
  EXPECT_EQ(balance({{1500, 4000}, {0, 0}}), 100);
}
TEST(BalancedAllocationTest, NoFractionIsBalanced) { EXPECT_EQ(balance({{0, 0}, {0, 0}}), 100); }
TEST(BalancedAllocationTest, AnUnchangedBalanceScores75) {
  EXPECT_EQ(NodeResourcesBalancedAllocation::score_of_change(90, 90), 75);
  EXPECT_EQ(NodeResourcesBalancedAllocation::score_of_change(100, 0), 125);
  EXPECT_EQ(NodeResourcesBalancedAllocation::score_of_change(0, 100), 25);
  EXPECT_EQ(NodeResourcesBalancedAllocation::wrapping_score_of_change(0, 100), 25);
  EXPECT_EQ(NodeResourcesBalancedAllocation::wrapping_score_of_change(INT64_MIN, 100), 50 + (INT64_MAX - 49) / 2);
}

// ImageLocality

TEST(ImageLocalityTest, E_IL_8_And_9_FloatTermsAreTruncated) {
  EXPECT_EQ(ImageLocality::scaled_bytes(900000000, 29, 100), 260999999);
  EXPECT_EQ(ImageLocality::scaled_bytes(100, 29, 100), 28);
  EXPECT_EQ(ImageLocality::scaled_bytes(INT64_MAX, 1, 1), INT64_MIN);
}

TEST(ImageLocalityTest, SumsAreScaledBetweenTheThresholds) {
  EXPECT_EQ(ImageLocality::score(262144000, 1), 23);
  EXPECT_EQ(ImageLocality::score(524288000, 1), 48);
  EXPECT_EQ(ImageLocality::score(20971520, 1), 0);
  EXPECT_EQ(ImageLocality::score(std::int64_t{4} << 30, 1), 100);
  EXPECT_EQ(ImageLocality::score(262144000, 2), 11);
  EXPECT_EQ(ImageLocality::score(1101004800, 3), 34);
  EXPECT_EQ(ImageLocality::score(34361835, 1), 0);
  EXPECT_EQ(ImageLocality::score(34361836, 1), 1);
}

}  // namespace
}  // namespace berth
