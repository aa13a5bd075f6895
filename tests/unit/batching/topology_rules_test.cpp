// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace berth {
namespace {

struct Hard {
  std::int64_t count;
  std::int64_t minimum = 0;
  std::int32_t max_skew = 1;
  std::int32_t self = 1;
  bool lacks_key = false;
};

struct Soft {
  std::int32_t domain = 1;
  std::int64_t count = 0;
  std::int32_t max_skew = 1;
  bool counts_nodes = false;
  bool has_label = true;
};

struct Affinity {
  std::int64_t count;
  bool lacks_key = false;
};

/// Handwritten counts.
struct FixedPlace {
  std::vector<Hard> hard_terms{};
  std::vector<Affinity> affinity{};
  std::vector<std::int64_t> anti{}, existing_anti{};
  std::vector<Soft> soft_terms{};
  std::vector<std::pair<std::int64_t, std::int64_t>> preferred{};  ///< (multiplier, count)
  bool series = false, self = false, ignores_incomplete = true;
  std::int64_t nodes = 1, folded = 0;

  template <class List>
  static std::int32_t size(const List& list) {
    return static_cast<std::int32_t>(list.size());
  }
  template <class List>
  static const auto& at(const List& list, std::int32_t i) {
    return list[static_cast<std::size_t>(i)];
  }
  std::int32_t hard_size() const { return size(hard_terms); }
  const Hard& hard(std::int32_t h) const { return at(hard_terms, h); }
  bool lacks_hard_key(std::int32_t h) const { return hard(h).lacks_key; }
  std::int64_t hard_count(std::int32_t h) const { return hard(h).count; }
  std::int64_t hard_minimum(std::int32_t h) const { return hard(h).minimum; }
  std::int32_t affinity_size() const { return size(affinity); }
  bool lacks_affinity_key(std::int32_t t) const { return at(affinity, t).lacks_key; }
  std::int64_t affinity_count(std::int32_t t) const { return at(affinity, t).count; }
  bool no_pod_matches_affinity() const { return series; }
  bool matches_itself() const { return self; }
  std::int32_t anti_size() const { return size(anti); }
  std::int64_t anti_count(std::int32_t t) const { return at(anti, t); }
  std::int32_t existing_anti_size() const { return size(existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const { return at(existing_anti, t); }
  std::int32_t soft_size() const { return size(soft_terms); }
  const Soft& soft(std::int32_t s) const { return at(soft_terms, s); }
  bool has_soft_label(std::int32_t s) const { return soft(s).has_label; }
  std::int32_t soft_domain(std::int32_t s) const { return soft(s).domain; }
  std::int64_t soft_count(std::int32_t s) const { return soft(s).count; }
  bool is_ignored() const { return ignores_incomplete && lacks_soft_label(*this); }
  std::int64_t node_count() const { return nodes; }
  std::int32_t preferred_size() const { return size(preferred); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(preferred, t).first; }
  std::int64_t preferred_count(std::int32_t t) const { return at(preferred, t).second; }
  std::int64_t folded_score() const { return folded; }
};

TEST(TopologyRulesTest, TheFirstHardConstraintThatRefusesDecides) {
  const Hard skewed{.count = 5};
  const Hard missing{.count = 0, .lacks_key = true};
  const Hard fine{.count = 1, .minimum = 1};
  EXPECT_EQ(spread_verdict(FixedPlace{.hard_terms = {fine, skewed, missing}}), SpreadVerdict::kSkew);
  EXPECT_EQ(spread_verdict(FixedPlace{.hard_terms = {fine, missing, skewed}}), SpreadVerdict::kMissingLabel);
  EXPECT_EQ(spread_verdict(FixedPlace{.hard_terms = {fine}}), SpreadVerdict::kAccepted);
}

TEST(TopologyRulesTest, MinimumIsZeroWhileThereAreFewerDomainsThanMinDomains) {
  const auto two = [] { return std::int64_t{2}; };
  EXPECT_EQ(global_minimum(3, 4, two), 0);
  EXPECT_EQ(global_minimum(4, 4, two), 2);
}

TEST(TopologyRulesTest, RequiredAffinityNeedsAPodForEveryTerm) {
  EXPECT_TRUE(affinity_accepts(FixedPlace{.affinity = {{1}, {2}}}));
  EXPECT_FALSE(affinity_accepts(FixedPlace{.affinity = {{1}, {0}}}));
  EXPECT_FALSE(affinity_accepts(FixedPlace{.affinity = {{1}, {0}}, .self = true})) << "some pod matches elsewhere";
  EXPECT_TRUE(affinity_accepts(FixedPlace{}));
}

TEST(TopologyRulesTest, FirstPodOfASeriesIsAcceptedOnlyWhereTheKeyExistsAndItMatchesItself) {
  EXPECT_TRUE(affinity_accepts(FixedPlace{.affinity = {{0}}, .series = true, .self = true}));
  EXPECT_FALSE(affinity_accepts(FixedPlace{.affinity = {{0}}, .series = true, .self = false}));
  EXPECT_FALSE(affinity_accepts(FixedPlace{.affinity = {{0, true}}, .series = true, .self = true}));
}

TEST(TopologyRulesTest, SeriesStartsOnlyWhileNoTermHasAPod) {
  const std::int64_t totals[] = {0, 3};
  const auto total = [&](std::int32_t t) { return totals[t]; };
  EXPECT_TRUE(no_pod_matches_affinity(1, total));
  EXPECT_FALSE(no_pod_matches_affinity(2, total));
}

TEST(TopologyRulesTest, AffinityRefusesBeforeOwnAntiAffinityAndThatBeforeExistingPods) {
  EXPECT_EQ(affinity_verdict(FixedPlace{.affinity = {{0}}, .anti = {1}, .existing_anti = {1}}),
            AffinityVerdict::kAffinity);
  EXPECT_EQ(affinity_verdict(FixedPlace{.anti = {0, 1}, .existing_anti = {1}}), AffinityVerdict::kAntiAffinity);
  EXPECT_EQ(affinity_verdict(FixedPlace{.anti = {0}, .existing_anti = {0, 1}}), AffinityVerdict::kExistingAntiAffinity);
  EXPECT_EQ(affinity_verdict(FixedPlace{.anti = {0}, .existing_anti = {0}}), AffinityVerdict::kAccepted);
}

TEST(TopologyRulesTest, EitherPluginRefuses) {
  EXPECT_TRUE(topology_accepts(FixedPlace{}));
  EXPECT_FALSE(topology_accepts(FixedPlace{.hard_terms = {{.count = 5}}}));
  EXPECT_FALSE(topology_accepts(FixedPlace{.anti = {1}}));
}

TEST(TopologyRulesTest, MarksDomainsOfPlacesThatAreNotIgnoredAndCountsTheirNodes) {
  std::vector<std::pair<std::int32_t, std::int32_t>> marked;
  const auto mark = [&](std::int32_t s, std::int32_t domain) { marked.emplace_back(s, domain); };
  FixedPlace place{.soft_terms = {{.domain = 7, .counts_nodes = true}, {.domain = 3}}, .nodes = 5};
  EXPECT_EQ(mark_soft_domains(place, mark), 5);
  EXPECT_EQ(marked, (std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 3}}));
  place.soft_terms[1].has_label = false;
  EXPECT_EQ(mark_soft_domains(place, mark), 0);
  EXPECT_EQ(marked.size(), 1u);
}

TEST(TopologyRulesTest, ConstraintsWithoutTheirLabelAddNothingToTheCost) {
  const double weights[] = {2.0, 3.0};
  FixedPlace place{.soft_terms = {{.count = 4, .max_skew = 2}, {.count = 1, .has_label = false}},
                   .ignores_incomplete = false};
  EXPECT_EQ(raw_topology_scores(place, weights).spread, 4 * 2 + 1);
  place.soft_terms[1].has_label = true;
  EXPECT_EQ(raw_topology_scores(place, weights).spread, 4 * 2 + 1 + 1 * 3);
}

TEST(TopologyRulesTest, IgnoredPlacesScoreZeroAndDoNotMoveTheRange) {
  const double weights[] = {1.0};
  const FixedPlace counted{.soft_terms = {{.count = 4}}};
  const FixedPlace crowded{.soft_terms = {{.count = 8}}};
  const FixedPlace ignored{.soft_terms = {{.count = 0, .has_label = false}}};
  TopologyRanges ranges;
  for (const FixedPlace& place : {counted, crowded, ignored}) ranges.add(raw_topology_scores(place, weights));
  EXPECT_EQ(spread_score(raw_topology_scores(counted, weights), ranges), 100);
  EXPECT_EQ(spread_score(raw_topology_scores(crowded, weights), ranges), 50);
  EXPECT_EQ(spread_score(raw_topology_scores(ignored, weights), ranges), 0);
}

TEST(TopologyRulesTest, AddsPreferredTermsToTheFoldedSumAndNormalizesFromTheLowestToTheHighest) {
  const FixedPlace low{.preferred = {{-10, 2}}, .folded = 5};
  const FixedPlace high{.preferred = {{3, 4}, {1, 3}}};
  const FixedPlace middle{};
  EXPECT_EQ(raw_affinity_score(low), -15);
  TopologyRanges ranges;
  for (const FixedPlace& place : {low, middle, high}) ranges.add(raw_topology_scores(place, nullptr));
  EXPECT_EQ(affinity_score(raw_topology_scores(low, nullptr), ranges), 0);
  EXPECT_EQ(affinity_score(raw_topology_scores(middle, nullptr), ranges), 50);
  EXPECT_EQ(affinity_score(raw_topology_scores(high, nullptr), ranges), 100);
  EXPECT_EQ(topology_total(raw_topology_scores(middle, nullptr), ranges, 7, 2), 100);
}

TEST(TopologyRulesTest, MergedRangesEqualRangesOverAll) {
  TopologyRanges left, right;
  left.add({.spread_counts = true, .spread = 9, .affinity = -4});
  right.add({.spread_counts = true, .spread = 3, .affinity = 6});
  left.merge(right);
  left.merge({});
  EXPECT_EQ(left.spread.min, 3);
  EXPECT_EQ(left.spread.max, 9);
  EXPECT_EQ(left.affinity.min, -4);
  EXPECT_EQ(left.affinity.max, 6);
}

}  // namespace
}  // namespace berth
