// SPDX-License-Identifier: Apache-2.0
#include "host/generate/random_selector.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

bool takes_values(const SelectorRequirement& requirement) {
  return requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
}

/// The rules of docs/behaviour/plugins-topology.md 1.4.
bool parses(const LabelSelector& selector) {
  for (const auto& [key, value] : selector.match_labels) {
    if (!is_qualified_name(key) || !is_label_value(value)) return false;
  }
  return std::all_of(
      selector.match_expressions.begin(), selector.match_expressions.end(), [](const SelectorRequirement& requirement) {
        return is_qualified_name(requirement.key) && takes_values(requirement) == !requirement.values.empty() &&
               std::all_of(requirement.values.begin(), requirement.values.end(), is_label_value);
      });
}

TEST(RandomSelector, APlainSelectorParsesAndRequiresSomething) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const LabelMap own = random_labels(random, LabelsOf::kPod);
    const LabelSelector selector = random_selector(random, LabelsOf::kPod, own);
    EXPECT_TRUE(parses(selector));
    EXPECT_FALSE(selector.match_labels.empty() && selector.match_expressions.empty());
  }
}

TEST(RandomSelector, AMalformedSelectorNeverParses) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    LabelSelector selector = random_selector(random, LabelsOf::kPod, LabelMap());
    make_malformed(random, selector);
    EXPECT_FALSE(parses(selector));
  }
}

TEST(RandomSelector, ANegativeSelectorMatchesUnlabelledObjects) {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const LabelSelector selector = random_negative_selector(random, LabelsOf::kNamespace);
    EXPECT_TRUE(parses(selector));
    EXPECT_TRUE(selector.match_labels.empty());
    EXPECT_FALSE(selector.match_expressions.empty());
    for (const SelectorRequirement& requirement : selector.match_expressions) {
      EXPECT_TRUE(requirement.op == SelectorOperator::kNotIn || requirement.op == SelectorOperator::kDoesNotExist);
    }
  }
}

TEST(RandomSelector, UnsetSelectorsAreNullOrEmpty) {
  Random random(4);
  int null_count = 0;
  for (int i = 0; i < 200; ++i) {
    const auto selector = random_optional_selector(random, LabelsOf::kPod, LabelMap(), {100, 100});
    EXPECT_EQ(selector.value_or(LabelSelector{}), LabelSelector{});
    null_count += selector ? 0 : 1;
  }
  EXPECT_GT(null_count, 50);
  EXPECT_LT(null_count, 150);
}

}  // namespace
}  // namespace berth
