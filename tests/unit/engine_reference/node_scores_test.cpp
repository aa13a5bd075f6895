// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/node_scores.h"

#include <gtest/gtest.h>

#include <limits>

#include "host/engine/reference/score_table.h"

namespace berth::reference {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(ReferenceImageShare, E_IL_8_TruncatesTheProductOfALargeImage) {
  EXPECT_EQ(image_share(900000000, 29, 100), 260999999);
}
TEST(ReferenceImageShare, E_IL_9_TruncatesTheProductOfASmallImage) { EXPECT_EQ(image_share(100, 29, 100), 28); }
TEST(ReferenceImageShare, OutOfRangeGivesTheSmallestInt64) { EXPECT_EQ(image_share(kHuge, 1, 1), INT64_MIN); }

TEST(ReferenceImageName, GetsADefaultTag) {
  EXPECT_EQ(normalized_image_name("app"), "app:latest");
  EXPECT_EQ(normalized_image_name("reg.example:5000/app"), "reg.example:5000/app:latest");
  EXPECT_EQ(normalized_image_name("app@sha256:beef"), "app@sha256:beef");
  EXPECT_EQ(normalized_image_name("r/app:v1"), "r/app:v1");
  EXPECT_EQ(normalized_image_name(""), ":latest");
}

TEST(ReferenceHeap, E_SH_FindsTheFirstHighestInPreOrder) {
  const auto root = [](std::vector<std::int64_t> totals) { return heap_root(totals); };
  EXPECT_EQ(root({10, 10, 10}), 0u);
  EXPECT_EQ(root({10, 20, 20, 20}), 1u);
  EXPECT_EQ(root({10, 5, 20, 20}), 3u);
  EXPECT_EQ(root({1, 2, 3, 3, 3, 3, 3}), 3u);
  EXPECT_EQ(root({500, 640, 640, 300, 640}), 1u);
  EXPECT_EQ(root({7}), 0u);
}

TEST(ReferenceBalance, AcceptsNegativeAndAbsentResources) {
  EXPECT_EQ(balance_score({}), 100);
  EXPECT_EQ(balance_score({{0, 0}, {0, 0}}), 100);
  EXPECT_EQ(balance_score({{8, 4}, {0, 4}}), 50);
}

TEST(ReferenceBalance, LeavesItsRangeForNegativeWrappedSums) {
  EXPECT_EQ(balance_score({{-8, 4}, {0, 4}}), 0);
  EXPECT_EQ(balance_score({{-16, 4}, {0, 4}}), -100);
  EXPECT_EQ(balance_score({{INT64_MIN, 1}, {0, 4}}), INT64_MIN);
}

TEST(ReferenceStrategy, WrapsAroundForHugeAmounts) {
  NodeResourcesFitArgs args;
  EXPECT_EQ(strategy_score(args, {{0, kHuge / 100}, {0, kHuge / 100}}), 100);
  EXPECT_EQ(strategy_score(args, {{0, kHuge / 100 + 1}, {0, kHuge / 100 + 1}}), -99);
  EXPECT_EQ(strategy_score(args, {{kHuge / 2, kHuge}, {0, kHuge}}), 0);
  EXPECT_EQ(strategy_score(args, {{INT64_MIN, 1}, {2, 1}}), 50);
  args.strategy = ScoringStrategyType::kMostAllocated;
  EXPECT_EQ(strategy_score(args, {{kHuge, kHuge}, {kHuge, 1}}), 50);
  EXPECT_EQ(strategy_score(args, {{-3, 1}, {0, 1}}), -150);
  args.strategy = ScoringStrategyType::kRequestedToCapacityRatio;
  args.shape = {{10, 3}, {90, 7}};
  EXPECT_EQ(strategy_score(args, {{-3, 1}, {-3, 1}}), 30);
}

TEST(ReferenceStrategy, IsZeroWhenNoResourceCounts) {
  NodeResourcesFitArgs args;
  EXPECT_EQ(strategy_score(args, {{}, {}}), 0);
  args.strategy = ScoringStrategyType::kRequestedToCapacityRatio;
  args.shape = {{0, 0}, {100, 10}};
  EXPECT_EQ(strategy_score(args, {{0, 5}, {0, 5}}), 0);
}

}  // namespace
}  // namespace berth::reference
