// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_query.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Op = SelectorOperator;

LabelSelector selector_of(std::vector<SelectorRequirement> requirements) { return {{}, std::move(requirements)}; }

TEST(PodLabelSelectorTest, NullMatchesNothingAndEmptyMatchesEverything) {
  EXPECT_FALSE(PodLabelSelector(std::nullopt).matches({{"a", "b"}}));
  EXPECT_TRUE(PodLabelSelector(std::nullopt).matches_nothing());
  EXPECT_TRUE(PodLabelSelector(LabelSelector{}).matches({}));
  EXPECT_TRUE(PodLabelSelector(LabelSelector{}).is_empty());
}

TEST(PodLabelSelectorTest, EveryOperatorFollowsTheSpecification) {
  struct Row {
    SelectorRequirement requirement;
    bool absent, same, other;
  };
  const Row rows[] = {{{"k", Op::kIn, {"v"}}, false, true, false},
                      {{"k", Op::kNotIn, {"v"}}, true, false, true},
                      {{"k", Op::kExists, {}}, false, true, true},
                      {{"k", Op::kDoesNotExist, {}}, true, false, false}};
  for (const Row& row : rows) {
    const PodLabelSelector selector(selector_of({row.requirement}));
    EXPECT_EQ(selector.matches({}), row.absent) << to_string(row.requirement.op);
    EXPECT_EQ(selector.matches({{"k", "v"}}), row.same) << to_string(row.requirement.op);
    EXPECT_EQ(selector.matches({{"k", "x"}}), row.other) << to_string(row.requirement.op);
  }
}

TEST(PodLabelSelectorTest, EveryRequirementIsCheckedForRepeatedAndAbsentKeys) {
  const PodLabelSelector selector(selector_of(
      {{"b", Op::kIn, {"1", "2"}}, {"b", Op::kNotIn, {"2"}}, {"a", Op::kDoesNotExist, {}}, {"d", Op::kExists, {}}}));
  EXPECT_TRUE(selector.matches({{"b", "1"}, {"c", "x"}, {"d", ""}, {"e", "x"}}));
  EXPECT_FALSE(selector.matches({{"b", "2"}, {"d", ""}})) << "the second requirement of the key refuses";
  EXPECT_FALSE(selector.matches({{"a", ""}, {"b", "1"}, {"d", ""}}));
  EXPECT_FALSE(selector.matches({{"b", "1"}, {"c", "x"}, {"e", "x"}}));
}

TEST(PodLabelSelectorTest, AMatchHasTheRequiredLabels) {
  const PodLabelSelector selector(selector_of({{"a", Op::kIn, {"1"}},
                                               {"b", Op::kIn, {"1", "2"}},
                                               {"c", Op::kExists, {}},
                                               {"d", Op::kNotIn, {"1"}},
                                               {"e", Op::kIn, {""}}}));
  EXPECT_EQ(selector.demanded_labels(), (std::vector<LabelMap::Entry>{{"a", "1"}, {"e", ""}}));
}

TEST(PodLabelSelectorTest, TheEmptyStringIsAValue) {
  EXPECT_TRUE(PodLabelSelector(selector_of({{"k", Op::kIn, {""}}})).matches({{"k", ""}}));
  EXPECT_FALSE(PodLabelSelector(selector_of({{"k", Op::kIn, {""}}})).matches({}));
}

TEST(PodLabelSelectorTest, ANullSelectorMatchesNothingAlsoWithAddedRequirements) {
  PodLabelSelector selector = PodLabelSelector::nothing();
  selector.add_equal("a", "b");
  selector.add_all(PodLabelSelector::everything());
  EXPECT_FALSE(selector.matches({{"a", "b"}}));
}

TEST(PodLabelSelectorTest, OrderAndSpellingAreNotInTheSignature) {
  const PodLabelSelector labels(LabelSelector{{{"a", "1"}, {"b", "2"}}, {}});
  const PodLabelSelector expressions(selector_of({{"b", Op::kIn, {"2"}}, {"a", Op::kIn, {"1"}}}));
  EXPECT_EQ(labels.signature(), expressions.signature());
  EXPECT_EQ(PodLabelSelector(selector_of({{"a", Op::kIn, {"1", "2"}}})).signature(),
            PodLabelSelector(selector_of({{"a", Op::kIn, {"2", "1"}}})).signature());
}

TEST(PodLabelSelectorTest, DifferentQueriesHaveDifferentSignatures) {
  const auto in = [](std::vector<std::string> values) {
    return PodLabelSelector(selector_of({{"a", Op::kIn, std::move(values)}})).signature();
  };
  EXPECT_NE(in({"1"}), in({"2"}));
  EXPECT_NE(in({"1", "2"}), in({std::string("1\0002", 3)}));
  EXPECT_NE(in({"1"}), PodLabelSelector(selector_of({{"a", Op::kNotIn, {"1"}}})).signature());
  EXPECT_NE(PodLabelSelector::nothing().signature(), PodLabelSelector::everything().signature());
}

TEST(PodLabelSelectorTest, OnlyNegativeRequirementsMatchWithoutLabels) {
  EXPECT_TRUE(
      PodLabelSelector(selector_of({{"a", Op::kNotIn, {"1"}}, {"b", Op::kDoesNotExist, {}}})).holds_without_labels());
  EXPECT_FALSE(
      PodLabelSelector(selector_of({{"a", Op::kNotIn, {"1"}}, {"b", Op::kExists, {}}})).holds_without_labels());
  EXPECT_FALSE(PodLabelSelector::everything().holds_without_labels()) << "it has no requirement";
}

TEST(NamespaceSetTest, ContainsNamedAndSelectedNamespaces) {
  NamespaceSet set;
  set.add("named");
  set.selected = std::make_shared<const SelectedNamespaces>(SelectedNamespaces{"team", {"a", "b"}});
  EXPECT_TRUE(set.contains("named"));
  EXPECT_TRUE(set.contains("b"));
  EXPECT_FALSE(set.contains("c"));
}

TEST(PodQueryTest, TheSelectedNamespacesArePartOfTheQuery) {
  const auto signature = [](std::shared_ptr<const SelectedNamespaces> selected) {
    return PodQuery{{{{false, {"a"}, std::move(selected)}, PodLabelSelector::everything()}}, false}.signature();
  };
  const auto selected = [](const std::string& selector) {
    return std::make_shared<const SelectedNamespaces>(SelectedNamespaces{selector, {}});
  };
  EXPECT_NE(signature(nullptr), signature(selected("x")));
  EXPECT_NE(signature(selected("x")), signature(selected("y")));
  EXPECT_EQ(signature(selected("x")), signature(selected("x")));
}

TEST(PodQueryTest, EveryConditionMustHold) {
  NamespaceSet here;
  here.add("here");
  const PodQueryTerm app{here, PodLabelSelector(LabelSelector{{{"app", "db"}}, {}})};
  const PodQueryTerm anywhere{{true, {}}, PodLabelSelector(LabelSelector{{{"tier", "x"}}, {}})};
  const PodQuery both{{app, anywhere}, false};
  EXPECT_TRUE(both.matches("here", {{"app", "db"}, {"tier", "x"}}));
  EXPECT_FALSE(both.matches("there", {{"app", "db"}, {"tier", "x"}}));
  EXPECT_FALSE(both.matches("here", {{"app", "db"}}));
  EXPECT_FALSE(PodQuery{}.matches("here", {})) << "a query without a condition matches nothing";
}

}  // namespace
}  // namespace berth
