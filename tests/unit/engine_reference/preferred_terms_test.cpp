// SPDX-License-Identifier: Apache-2.0
#include "host/framework/preferred_terms.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::optional<std::string> problem(SelectorRequirement requirement) {
  return preferred_terms_problem({{5, {{std::move(requirement)}, {}}}});
}

TEST(PreferredTerms, HaveNoProblemWhenValid) {
  EXPECT_EQ(problem({"gen", SelectorOperator::kGt, {"4"}}), std::nullopt);
  EXPECT_EQ(preferred_terms_problem({}), std::nullopt);
}

TEST(PreferredTerms, OfWeightZeroAreNotParsed) {
  EXPECT_EQ(preferred_terms_problem({{0, {{{"gen", SelectorOperator::kIn, {}}}, {}}}}), std::nullopt);
}

TEST(PreferredTerms, NameThePathAndTheRule) {
  EXPECT_EQ(
      problem({"gen", SelectorOperator::kIn, {}}),
      "[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
  EXPECT_EQ(
      problem({"gen", SelectorOperator::kExists, {"a"}}),
      "[0].matchExpressions[0].values: Invalid value: [\"a\"]: values set must be empty for exists and does not exist");
  EXPECT_EQ(problem({"gen", SelectorOperator::kLt, {"x"}}),
            "[0].matchExpressions[0].values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an "
            "integer");
  EXPECT_EQ(problem({"gen", SelectorOperator::kIn, {std::string(64, 'a')}}),
            "[0].matchExpressions[0].values[0][gen]: Invalid value: \"" + std::string(64, 'a') +
                "\": must be no more than 63 bytes");
}

TEST(PreferredTerms, ListEachProblemOnce) {
  const std::optional<std::string> text = problem({"gen", SelectorOperator::kGt, {"-x", "1"}});
  ASSERT_TRUE(text);
  EXPECT_EQ(text->front(), '[');
  EXPECT_NE(text->find("exactly one value is required, "), std::string::npos);
  EXPECT_NE(text->find("the value must be an integer, "), std::string::npos);
}

TEST(PreferredTerms, CheckFieldRules) {
  const auto field = [](SelectorOperator op, std::vector<std::string> values) {
    return preferred_terms_problem({{5, {{}, {{"metadata.name", op, std::move(values)}}}}});
  };
  EXPECT_EQ(field(SelectorOperator::kIn, {"a"}), std::nullopt);
  EXPECT_EQ(field(SelectorOperator::kIn, {"a", "b"}),
            "[0].matchFields[0].values: Invalid value: [\"a\",\"b\"]: must have one element");
  EXPECT_EQ(field(SelectorOperator::kExists, {}),
            "[0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", \"NotIn\"");
}

}  // namespace
}  // namespace berth
