// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sum of a node's normalised node-side scores, for rows, groups and devices: the rules of NormalizedRules in the
// order of the list.

#include <compare>
#include <cstdint>

#include "plugins/normalize.h"
#include "plugins/rules.h"

namespace berth {

/// One value per rule: the raw scores of a node, or the largest ones of several nodes. 0 for a rule that does not
/// score.
template <class List>
struct RawScoresOf {
  static constexpr std::size_t kRules = NormalizedRules<List>::size;
  std::int64_t of[kRules] = {};

  BERTH_HD void raise_to(const RawScoresOf& other) {
    for (std::size_t r = 0; r < kRules; ++r) of[r] = of[r] < other.of[r] ? other.of[r] : of[r];
  }
  BERTH_HD void lower_to(const RawScoresOf& other) {
    for (std::size_t r = 0; r < kRules; ++r) of[r] = of[r] > other.of[r] ? other.of[r] : of[r];
  }
  BERTH_HD bool is_within(const RawScoresOf& maxima) const {
    bool within = true;
    for (std::size_t r = 0; r < kRules; ++r) within = within && of[r] <= maxima.of[r];
    return within;
  }
  friend auto operator<=>(const RawScoresOf&, const RawScoresOf&) = default;
};
using RawScores = RawScoresOf<Rules>;

/// The weights of the same rules for one class; 0: the rule does not score in the profile, or its PreScore skips.
template <class List>
struct NormalizedWeightsOf {
  std::int32_t of[NormalizedRules<List>::size] = {};
};
using NormalizedWeights = NormalizedWeightsOf<Rules>;

template <Normalizer kNormalizer>
BERTH_HD std::int64_t normalize_by_maximum(std::int64_t raw, std::int64_t maximum) {
  static_assert(kNormalizer == Normalizer::kByMaximum || kNormalizer == Normalizer::kByMaximumReversed);
  return default_normalize(raw, maximum, kNormalizer == Normalizer::kByMaximumReversed);
}

template <Normalizer kNormalizer>
BERTH_HD std::int64_t weighted_score(std::int64_t raw, std::int64_t maximum, std::int32_t weight) {
  return weight == 0 ? 0 : weight * normalize_by_maximum<kNormalizer>(raw, maximum);
}

template <class List, class... Normalized>
BERTH_HD std::int64_t normalized_total(const RawScoresOf<List>& raws, const RawScoresOf<List>& maxima,
                                       const NormalizedWeightsOf<List>& weights, RuleList<Normalized...> /*rules*/) {
  std::int64_t total = 0;
  int r = 0;
  ((total += weighted_score<Normalized::descriptor.normalizer>(raws.of[r], maxima.of[r], weights.of[r]), ++r), ...);
  return total;
}

template <class List, class... Normalized>
BERTH_HD RawScoresOf<List> normalized_scores(const RawScoresOf<List>& raws, const RawScoresOf<List>& maxima,
                                             const NormalizedWeightsOf<List>& weights,
                                             RuleList<Normalized...> /*rules*/) {
  RawScoresOf<List> scores;
  int r = 0;
  ((scores.of[r] =
        weights.of[r] == 0 ? 0 : normalize_by_maximum<Normalized::descriptor.normalizer>(raws.of[r], maxima.of[r]),
    ++r),
   ...);
  return scores;
}

/// The normalised scores of one node, each for itself. @param maxima  over the feasible nodes
template <class List>
BERTH_HD RawScoresOf<List> normalized_scores(const RawScoresOf<List>& raws, const RawScoresOf<List>& maxima,
                                             const NormalizedWeightsOf<List>& weights) {
  return normalized_scores(raws, maxima, weights, NormalizedRules<List>());
}

/// Weighted sum of the normalised scores of one node. @param maxima  over the feasible nodes
template <class List>
BERTH_HD std::int64_t normalized_total(const RawScoresOf<List>& raws, const RawScoresOf<List>& maxima,
                                       const NormalizedWeightsOf<List>& weights) {
  return normalized_total(raws, maxima, weights, NormalizedRules<List>());
}

}  // namespace berth
