// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/victims.h"

#include <gtest/gtest.h>

#include "tests/unit/preemption/preemption_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

NodeInfo node_with(std::vector<PodPtr> pods) {
  NodeInfo node;
  node.name = "n";
  node.pods = std::move(pods);
  return node;
}

/// In the order in which they are reprieved; those that violate a budget have a "!".
Names victims_of(std::vector<PodPtr> pods, std::int32_t priority,
                 const std::vector<PodDisruptionBudget>& budgets = {}) {
  const NodeInfo node = node_with(std::move(pods));
  Names names;
  for (const Victim& victim : potential_victims(node, priority, DisruptionBudgets(budgets)))
    names.push_back((victim.violates_budget ? "!" : "") + victim.pod->name);
  return names;
}

TEST(Victims, OnlyPodsOfLowerPriorityMayBeEvicted) {
  EXPECT_EQ(victims_of({make_pod("lower", 4), make_pod("equal", 5), make_pod("higher", 6)}, 5), Names{"lower"});
}

TEST(Victims, TheMoreImportantComeFirst) {
  EXPECT_EQ(victims_of(
                {make_pod("late", 1, 20), make_pod("low", 0, 1), make_pod("early", 1, 10), make_pod("high", 2, 30)}, 9),
            (Names{"high", "early", "late", "low"}));
}

TEST(Victims, EquallyImportantOnesKeepNodeOrderWhereTheyHaveAStartTime) {
  EXPECT_EQ(victims_of({make_pod("a", 1, 7), make_pod("b", 1, 7), make_pod("c", 1, 7)}, 9), (Names{"a", "b", "c"}));
}

TEST(Victims, VictimsWithoutAStartTimeComeLastInReverseNodeOrder) {
  EXPECT_EQ(victims_of({make_pod("a", 1, 0), make_pod("b", 1, 0), make_pod("c", 1, 7)}, 9), (Names{"c", "b", "a"}));
}

/// docs/behaviour/scheduler-core.md 4.6
TEST(Victims, ABudgetCountsInOrderOfImportanceAndLeavesOutWhatIsDisruptedAlready) {
  EXPECT_EQ(victims_of({make_pod("p3", 3), make_pod("p4", 4), make_pod("p5", 5)}, 9, {budget(1, {"p4"})}),
            (Names{"!p3", "p5", "p4"}));
}

TEST(Victims, EveryMatchingBudgetIsUsedUpAlsoBehindAViolatedOne) {
  EXPECT_EQ(victims_of({make_pod("p3", 3), make_pod("p4", 4), make_pod("p5", 5)}, 9, {budget(0), budget(2)}),
            (Names{"!p5", "!p4", "!p3"}));
}

TEST(Victims, ABudgetThatSelectsEverythingNothingOrCannotBeReadProtectsNoPod) {
  PodDisruptionBudget everything = budget(0);
  everything.selector = LabelSelector{};
  PodDisruptionBudget nothing = budget(0);
  nothing.selector.reset();
  PodDisruptionBudget unreadable = budget(0);
  unreadable.selector->match_expressions = {{"app", SelectorOperator::kIn, {}}};
  PodDisruptionBudget elsewhere = budget(0);
  elsewhere.namespace_ = "other";
  EXPECT_EQ(victims_of({make_pod("p", 1)}, 9, {everything, nothing, unreadable, elsewhere}), Names{"p"});
  EXPECT_EQ(victims_of({make_pod("p", 1)}, 9, {budget(0)}), Names{"!p"});
}

TEST(Victims, APodWithoutLabelsIsInNoBudget) {
  auto pod = make_pod("p", 1);
  pod->labels = {};
  PodDisruptionBudget without_key = budget(0);
  without_key.selector = LabelSelector{};
  without_key.selector->match_expressions = {{"app", SelectorOperator::kDoesNotExist, {}}};
  EXPECT_EQ(victims_of({pod}, 9, {without_key}), Names{"p"});
}

TEST(Victims, TheEvictedComeByImportanceWhateverGroupTheyWereIn) {
  const NodeInfo node = node_with({make_pod("p3", 3), make_pod("p4", 4), make_pod("p5", 5)});
  const std::vector<Victim> list = potential_victims(node, 9, DisruptionBudgets(std::vector{budget(1, {"p4"})}));
  DryRunAnswer answer;
  answer.kept_count = 1;
  answer.violations = 1;
  const DryRunResult result{{answer}, {0b010}};  // p3 and p4 have to go, p5 stays
  Names names;
  for (const Pod* pod : evicted_victims(list, result, result.answers.front())) names.push_back(pod->name);
  EXPECT_EQ(names, (Names{"p4", "p3"}));
}

}  // namespace
}  // namespace berth
