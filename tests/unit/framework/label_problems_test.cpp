// SPDX-License-Identifier: Apache-2.0
#include "host/framework/label_problems.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr const char* kKeyRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kSubdomainRule =
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

std::optional<std::string> problem(SelectorOperator op, std::vector<std::string> values, std::string key = "k") {
  return label_selector_problem(LabelSelector{{}, {{std::move(key), op, std::move(values)}}});
}

std::optional<std::string> key_problem(const std::string& key) { return problem(SelectorOperator::kExists, {}, key); }

TEST(LabelSelectorProblem, IsAbsentForAValidSelector) {
  EXPECT_EQ(label_selector_problem(std::nullopt), std::nullopt);
  EXPECT_EQ(label_selector_problem(LabelSelector{}), std::nullopt);
  EXPECT_EQ(problem(SelectorOperator::kIn, {"", "a"}, "example.com/k"), std::nullopt);
}

TEST(LabelSelectorProblem, MatchesUpstreamsParserErrors) {
  EXPECT_EQ(problem(SelectorOperator::kNotIn, {}),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
  EXPECT_EQ(problem(SelectorOperator::kDoesNotExist, {"a", "b"}),
            "values: Invalid value: [\"a\",\"b\"]: values set must be empty for exists and does not exist");
  EXPECT_EQ(problem(SelectorOperator::kIn, {"a", std::string(64, 'b')}),
            "values[1][k]: Invalid value: \"" + std::string(64, 'b') + "\": must be no more than 63 bytes");
}

TEST(LabelSelectorProblem, ListsTheProblemsOfAKey) {
  EXPECT_EQ(key_problem(""), "key: Invalid value: \"\": name part must be non-empty; " + std::string(kKeyRule));
  EXPECT_EQ(key_problem("-a"), "key: Invalid value: \"-a\": " + std::string(kKeyRule));
  EXPECT_EQ(key_problem("/a"), "key: Invalid value: \"/a\": prefix part must be non-empty");
  EXPECT_EQ(key_problem("Example.com/a"), "key: Invalid value: \"Example.com/a\": " + std::string(kSubdomainRule));
  const std::string long_prefix = std::string(254, 'p') + "/a";
  EXPECT_EQ(key_problem(long_prefix),
            "key: Invalid value: \"" + long_prefix + "\": prefix part must be no more than 253 bytes");
  EXPECT_TRUE(
      key_problem("a/b/c")->ends_with(" with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"));
}

TEST(LabelSelectorProblem, IsThatOfTheFirstBadRequirementLabelsFirst) {
  const LabelSelector selector{{{"a", "-"}}, {{"b", SelectorOperator::kIn, {}}}};
  EXPECT_TRUE(label_selector_problem(selector)->starts_with("values[0][a]: Invalid value: \"-\": "));
}

TEST(LabelSelectorProblem, ListsSeveralProblemsOfOneRequirementInBrackets) {
  const auto text = problem(SelectorOperator::kExists, {"-"}, "-");
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("[key: Invalid value: \"-\": "));
  EXPECT_NE(text->find(", values: Invalid value: [\"-\"]: "), std::string::npos);
  EXPECT_NE(text->find(", values[0][-]: Invalid value: \"-\": "), std::string::npos);
  EXPECT_EQ(text->back(), ']');
}

}  // namespace
}  // namespace berth
