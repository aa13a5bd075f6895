// SPDX-License-Identifier: Apache-2.0
#include "batching/pod_matches.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace berth {
namespace {

using Op = SelectorOperator;

PodLabelSelector selector_of(std::vector<SelectorRequirement> requirements) {
  return PodLabelSelector(LabelSelector{{}, std::move(requirements)});
}

Pod pod_of(const std::string& name_space, LabelMap labels) {
  Pod pod;
  pod.namespace_ = name_space;
  pod.labels = std::move(labels);
  return pod;
}

PodQuery query_of(PodLabelSelector selector, const std::string& name_space = "default") {
  return {{{{false, {name_space}}, std::move(selector)}}, false};
}

AffinityTerm term_of(PodLabelSelector selector, const std::string& key = "zone") {
  AffinityTerm term;
  term.key = key;
  term.namespaces.add("default");
  term.selector = std::move(selector);
  return term;
}

/// Few keys and values, so that labels often match queries.
class Dice {
 public:
  LabelMap labels() {
    std::vector<std::pair<std::string, std::string>> entries;
    for (int i = upto(4); i > 0; --i) entries.emplace_back(key(), value());
    return LabelMap(entries);
  }
  PodLabelSelector selector() {
    if (upto(12) == 0) return PodLabelSelector::nothing();
    std::vector<SelectorRequirement> requirements;
    for (int i = upto(3); i > 0; --i) {
      const Op op =
          std::vector{Op::kIn, Op::kIn, Op::kNotIn, Op::kExists, Op::kDoesNotExist}[static_cast<std::size_t>(upto(4))];
      requirements.push_back({key(), op, {}});
      if (op != Op::kIn && op != Op::kNotIn) continue;
      for (int v = 1 + upto(1); v > 0; --v) requirements.back().values.push_back(value());
    }
    return selector_of(std::move(requirements));
  }
  int upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  std::string name_space() { return upto(2) == 0 ? "other" : "default"; }

 private:
  std::string key() { return std::string(1, static_cast<char>('a' + upto(3))); }
  std::string value() { return std::to_string(upto(2)); }
  std::mt19937 random_{3};
};

TEST(PodMatchesTest, TheQueryIndexFindsTheSameMatchesAsAScan) {
  Dice dice;
  PodMatches matches{NamespaceLabels{}};
  std::vector<Pod> pods;
  for (int i = 0; i < 60; ++i) pods.push_back(pod_of(dice.name_space(), dice.labels()));
  std::size_t met = 0;
  for (int round = 0; round < 8; ++round) {  // queries are added between the checks
    for (int i = 0; i < 12; ++i) matches.add_query(query_of(dice.selector(), dice.name_space()));
    for (int i = 0; i < 12; ++i) matches.add_term(term_of(dice.selector()), TermRole::kPreferred);
    for (const Pod& pod : pods) {
      const std::int32_t identity = matches.identity_of(pod);
      std::vector<std::int32_t> queries, terms;
      for (std::int32_t q = 0; q < matches.query_end(); ++q)
        if (matches.query(q).matches(pod.namespace_, pod.labels)) queries.push_back(q);
      for (std::int32_t t = 0; t < matches.term_end(); ++t)
        if (matches.term(t).term.matches(pod.namespace_, {}, pod.labels)) terms.push_back(t);
      ASSERT_EQ(matches.matching_queries(identity), queries);
      ASSERT_EQ(matches.matching_terms(identity), terms);
      met += queries.size() + terms.size();
    }
  }
  EXPECT_GT(met, 1000u) << "queries without matches prove nothing";
}

TEST(PodMatchesTest, PodsWithEqualNamespaceAndLabelsAreOneIdentity) {
  PodMatches matches{NamespaceLabels{}};
  const std::int32_t first = matches.identity_of(pod_of("default", {{"app", "web"}}));
  EXPECT_NE(matches.identity_of(pod_of("other", {{"app", "web"}})), first);
  EXPECT_NE(matches.identity_of(pod_of("default", {{"app", "db"}})), first);
  EXPECT_NE(matches.identity_of(pod_of("default", {})), first);
  EXPECT_EQ(matches.identity_of(pod_of("default", {{"app", "web"}})), first);
}

TEST(PodMatchesTest, EqualQueriesAreSharedUnlessTerminatingPodsDiffer) {
  PodMatches matches{NamespaceLabels{}};
  const auto web = [] { return selector_of({{"app", Op::kIn, {"web"}}}); };
  const std::int32_t first = matches.add_query(query_of(web()));
  EXPECT_EQ(matches.add_query(query_of(PodLabelSelector(LabelSelector{{{"app", "web"}}, {}}))), first);
  EXPECT_NE(matches.add_query(query_of(web(), "other")), first);
  PodQuery skipping = query_of(web());
  skipping.skips_terminating = true;
  EXPECT_NE(matches.add_query(skipping), first);
  EXPECT_EQ(matches.query_end(), 3);
}

TEST(PodMatchesTest, ATermWithAnotherRoleIsAnotherTerm) {
  PodMatches matches{NamespaceLabels{}};
  const std::int32_t required = matches.add_term(term_of(PodLabelSelector::everything()), TermRole::kRequired);
  EXPECT_EQ(matches.add_term(term_of(PodLabelSelector::everything()), TermRole::kRequired), required);
  EXPECT_NE(matches.add_term(term_of(PodLabelSelector::everything()), TermRole::kAntiRequired), required);
  EXPECT_NE(matches.add_term(term_of(PodLabelSelector::everything(), "rack"), TermRole::kRequired), required);
}

TEST(PodMatchesTest, ATermCountsAsOftenAsItIsInTheSpec) {
  auto spec = std::make_shared<PodSpec>();
  PodAffinityTerm term;
  term.topology_key = "zone";
  term.label_selector = LabelSelector{};
  spec->pod_anti_affinity = PodAffinity{{term, term}, {}};
  Pod pod = pod_of("default", {});
  pod.spec = spec;
  PodMatches matches{NamespaceLabels{}};
  const std::int32_t owner = matches.owner_of(pod);
  EXPECT_EQ(matches.terms_of_owner(owner), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(matches.owner_of(pod), owner);
  pod.namespace_ = "other";
  EXPECT_NE(matches.owner_of(pod), owner) << "the term means the pods of its own namespace";
  pod.spec = std::make_shared<PodSpec>();
  EXPECT_EQ(matches.owner_of(pod), 0) << "without terms";
}

TEST(PodMatchesTest, ATermMatchesPodsOfTheSelectedNamespaces) {
  PodMatches matches(NamespaceLabels{{"default", LabelMap{{"team", "a"}}}, {"other", LabelMap{{"team", "b"}}}});
  AffinityTerm term = term_of(PodLabelSelector::everything());
  term.namespaces = {};
  term.namespace_selector = selector_of({{"team", Op::kIn, {"b"}}});
  const std::int32_t t = matches.add_term(term, TermRole::kRequired);
  EXPECT_EQ(matches.matching_terms(matches.identity_of(pod_of("other", {}))), (std::vector<std::int32_t>{t}));
  EXPECT_TRUE(matches.matching_terms(matches.identity_of(pod_of("default", {}))).empty());
  EXPECT_TRUE(matches.matching_terms(matches.identity_of(pod_of("unknown", {}))).empty());
}

TEST(PodMatchesTest, RelabellingANamespaceChangesWhatItsPodsMatchAndNothingElse) {
  PodMatches matches(NamespaceLabels{{"default", LabelMap{{"team", "a"}}}, {"other", LabelMap{{"team", "b"}}}});
  PodQueryTerm condition{{}, PodLabelSelector::everything()};
  condition.namespaces.selected = matches.namespaces_of(selector_of({{"team", Op::kIn, {"b"}}}));
  const std::int32_t q = matches.add_query({{condition}, false});
  const std::int32_t here = matches.identity_of(pod_of("default", {}));
  const std::int32_t there = matches.identity_of(pod_of("other", {}));
  const std::uint32_t version_there = matches.version(there);
  EXPECT_FALSE(matches.matches(here, q));
  const LabelMap now{{"team", "b"}};
  matches.change_namespace("default", &now);
  EXPECT_TRUE(matches.matches(here, q));
  EXPECT_TRUE(matches.matches(there, q));
  EXPECT_EQ(matches.version(there), version_there);
  EXPECT_EQ(matches.add_query({{condition}, false}), q) << "equal selectors still make equal queries";
  matches.change_namespace("other", nullptr);
  EXPECT_FALSE(matches.matches(there, q));
  EXPECT_TRUE(matches.matches(matches.identity_of(pod_of("default", {{"app", "new"}})), q));
}

}  // namespace
}  // namespace berth
