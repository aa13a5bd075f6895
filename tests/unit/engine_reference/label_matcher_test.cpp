// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/label_matcher.h"

#include <gtest/gtest.h>

namespace berth::reference {
namespace {

bool holds(SelectorOperator op, std::vector<std::string> values, const LabelMap& labels) {
  return LabelMatcher(LabelSelector{{}, {{"k", op, std::move(values)}}}).matches(labels);
}

TEST(LabelMatcher, HandlesAnAbsentKey) {
  EXPECT_FALSE(holds(SelectorOperator::kIn, {"a", ""}, {}));
  EXPECT_TRUE(holds(SelectorOperator::kNotIn, {"a"}, {}));
  EXPECT_FALSE(holds(SelectorOperator::kExists, {}, {}));
  EXPECT_TRUE(holds(SelectorOperator::kDoesNotExist, {}, {}));
  EXPECT_FALSE(LabelMatcher(LabelMap{{"k", ""}}).matches({}));
}

TEST(LabelMatcher, HandlesAPresentKey) {
  const LabelMap labels = {{"k", "a"}};
  EXPECT_TRUE(holds(SelectorOperator::kIn, {"b", "a"}, labels));
  EXPECT_FALSE(holds(SelectorOperator::kIn, {"A"}, labels)) << "case counts";
  EXPECT_FALSE(holds(SelectorOperator::kNotIn, {"a"}, labels));
  EXPECT_TRUE(holds(SelectorOperator::kNotIn, {"b"}, labels));
  EXPECT_TRUE(holds(SelectorOperator::kExists, {}, labels));
  EXPECT_FALSE(holds(SelectorOperator::kDoesNotExist, {}, labels));
}

TEST(LabelMatcher, TreatsTheEmptyStringAsAValue) {
  EXPECT_TRUE(holds(SelectorOperator::kIn, {""}, {{"k", ""}}));
  EXPECT_TRUE(holds(SelectorOperator::kExists, {}, {{"k", ""}}));
}

TEST(LabelMatcher, CombinesLabelsAndExpressions) {
  const LabelMatcher both(LabelSelector{{{"a", "1"}}, {{"b", SelectorOperator::kExists, {}}}});
  EXPECT_TRUE(both.matches({{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(both.matches({{"a", "1"}}));
  EXPECT_FALSE(both.matches({{"b", "2"}}));
}

TEST(LabelMatcher, DistinguishesNullFromEmpty) {
  const LabelMatcher null(std::optional<LabelSelector>{});
  EXPECT_FALSE(null.matches({}));
  EXPECT_FALSE(null.is_empty());
  const LabelMatcher everything(LabelSelector{});
  EXPECT_TRUE(everything.matches({{"a", "b"}}));
  EXPECT_TRUE(everything.is_empty());
}

TEST(LabelMatcher, NullStaysNullWhenRequirementsAreAdded) {
  LabelMatcher null;
  null.require(LabelMap{{"a", "1"}});
  EXPECT_FALSE(null.matches({{"a", "1"}}));
  LabelMatcher everything(LabelSelector{});
  everything.require(LabelMap{{"a", "1"}});
  EXPECT_FALSE(everything.is_empty());
  EXPECT_FALSE(everything.matches({}));
}

}  // namespace
}  // namespace berth::reference
