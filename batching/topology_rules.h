// SPDX-License-Identifier: Apache-2.0
#pragma once

// How PodTopologySpread and InterPodAffinity combine counts per topology domain into a verdict and scores: which terms
// refuse and in which order, what a skew is measured from, when a pod may be the first of a series, how raw scores are
// summed and normalised. Written once for every holder of counts: the plain walk reads a node from the tables
// (node_topology.h), rows of the cpu backend read a group of nodes (host/engine/cpu/grouped_row.cpp), a device reads a
// cell (device/cell_selection.h). The arithmetic of each plugin is in its rule.h.
//
// A Place is a node, or nodes whose counts are equal, as one class sees it. A function calls only the members that its
// part of the list names; sizes and indexes are std::int32_t.
//   DoNotSchedule constraints:
//     hard_size(), hard(h)            .max_skew and .self of a constraint
//     lacks_hard_key(h)               the place lies in no domain of the constraint's key
//     hard_count(h), hard_minimum(h)  matching pods in the domain of the place; global_minimum() of the constraint
//   Required affinity and anti-affinity:
//     affinity_size(), lacks_affinity_key(t), affinity_count(t), matches_itself()
//     no_pod_matches_affinity()       the function of that name, for the class
//     anti_size(), anti_count(t)                    the class's own terms: pods that match one
//     existing_anti_size(), existing_anti_count(t)  terms of existing pods that match the class
//   ScheduleAnyway constraints:
//     soft_size(), soft(s)            .max_skew and .counts_nodes of a constraint
//     has_soft_label(s), soft_domain(s), soft_count(s)
//     is_ignored()                    left out of PodTopologySpread's scores
//     node_count()                    feasible nodes of the place
//   Preferred terms, of the class and of existing pods:
//     preferred_size(), preferred_multiplier(t), preferred_count(t)
//     folded_score()                  part of the sum that the holder has added up already

#include <cstdint>

#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {

// Filter

enum class SpreadVerdict : std::uint8_t { kAccepted, kMissingLabel, kSkew };
enum class AffinityVerdict : std::uint8_t { kAccepted, kAffinity, kAntiAffinity, kExistingAntiAffinity };

/// The minimum that a constraint's skew is measured from: 0 while there are fewer domains than minDomains.
/// @param minimum  returns the smallest count of an existing domain; called only where it is needed
template <class Minimum>
BERTH_HD std::int64_t global_minimum(std::int32_t existing_domains, std::int32_t min_domains, Minimum minimum) {
  return existing_domains < min_domains ? 0 : minimum();
}

/// No pod anywhere matches the required affinity of a class, so that a first pod may start a series.
/// @param total  total(t) returns the matching pods in all domains of term t's key
template <class Total>
BERTH_HD bool no_pod_matches_affinity(std::int32_t affinity_size, Total total) {
  for (std::int32_t t = 0; t < affinity_size; ++t)
    if (total(t) != 0) return false;
  return true;
}

/// The first constraint that refuses decides.
template <class Place>
BERTH_HD SpreadVerdict spread_verdict(const Place& place) {
  for (std::int32_t h = 0; h < place.hard_size(); ++h) {
    if (place.lacks_hard_key(h)) return SpreadVerdict::kMissingLabel;
    if (PodTopologySpread::exceeds_skew(place.hard_count(h), place.hard(h).self, place.hard_minimum(h),
                                        place.hard(h).max_skew))
      return SpreadVerdict::kSkew;
  }
  return SpreadVerdict::kAccepted;
}

/// Every required affinity term has a matching pod in the place's domain.
template <class Place>
BERTH_HD bool holds_every_affinity_term(const Place& place) {
  for (std::int32_t t = 0; t < place.affinity_size(); ++t)
    if (place.affinity_count(t) <= 0) return false;
  return true;
}

template <class Place>
BERTH_HD bool affinity_accepts(const Place& place) {
  // Without a term's key a node refuses the first pod of a series, too.
  for (std::int32_t t = 0; t < place.affinity_size(); ++t)
    if (place.lacks_affinity_key(t)) return false;
  return InterPodAffinity::affinity_holds(holds_every_affinity_term(place), place.no_pod_matches_affinity(),
                                          place.matches_itself());
}

/// The class's own terms come before those of existing pods.
template <class Place>
BERTH_HD AffinityVerdict anti_affinity_verdict(const Place& place) {
  for (std::int32_t t = 0; t < place.anti_size(); ++t)
    if (place.anti_count(t) > 0) return AffinityVerdict::kAntiAffinity;
  for (std::int32_t t = 0; t < place.existing_anti_size(); ++t)
    if (place.existing_anti_count(t) > 0) return AffinityVerdict::kExistingAntiAffinity;
  return AffinityVerdict::kAccepted;
}

template <class Place>
BERTH_HD AffinityVerdict affinity_verdict(const Place& place) {
  return affinity_accepts(place) ? anti_affinity_verdict(place) : AffinityVerdict::kAffinity;
}

template <class Place>
BERTH_HD bool topology_accepts(const Place& place) {
  return spread_verdict(place) == SpreadVerdict::kAccepted && affinity_verdict(place) == AffinityVerdict::kAccepted;
}

// Score

/// The node lacks the label of some soft constraint. Unless the constraints are system defaults, such nodes are
/// ignored.
template <class Place>
BERTH_HD bool lacks_soft_label(const Place& place) {
  for (std::int32_t s = 0; s < place.soft_size(); ++s)
    if (!place.has_soft_label(s)) return true;
  return false;
}

/// Adds a feasible place to the sizes that soft constraints are weighted by (DomainWeights).
/// @param mark  mark(s, domain) notes that a domain of constraint s holds a feasible node
/// @return nodes to count for constraints with `counts_nodes`, which have a domain per node
template <class Place, class Mark>
BERTH_HD std::int64_t mark_soft_domains(const Place& place, Mark mark) {
  if (place.is_ignored()) return 0;
  for (std::int32_t s = 0; s < place.soft_size(); ++s)
    if (!place.soft(s).counts_nodes) mark(s, place.soft_domain(s));
  return place.node_count();
}

template <class Place>
BERTH_HD std::int64_t raw_affinity_score(const Place& place) {
  std::int64_t raw = place.folded_score();
  for (std::int32_t t = 0; t < place.preferred_size(); ++t)
    raw += place.preferred_multiplier(t) * place.preferred_count(t);
  return raw;
}

/// Raw scores of one place.
struct RawTopologyScores {
  bool spread_counts = false;  ///< false: ignored, or without soft constraints; the normalised score is 0
  std::int64_t spread = 0;
  std::int64_t affinity = 0;
};

/// @param domain_weights  [soft constraint]
template <class Place>
BERTH_HD RawTopologyScores raw_topology_scores(const Place& place, const double* domain_weights) {
  RawTopologyScores raw;
  raw.spread_counts = place.soft_size() > 0 && !place.is_ignored();
  if (raw.spread_counts) {
    double cost = 0;
    for (std::int32_t s = 0; s < place.soft_size(); ++s)
      if (place.has_soft_label(s))
        cost = PodTopologySpread::add_cost(cost, place.soft_count(s), domain_weights[s], place.soft(s).max_skew);
    raw.spread = PodTopologySpread::raw_score(cost);
  }
  raw.affinity = raw_affinity_score(place);
  return raw;
}

/// Smallest and largest raw score so far.
struct RawRange {
  std::int64_t min = INT64_MAX;
  std::int64_t max = INT64_MIN;
  BERTH_HD void add(std::int64_t raw) {
    min = raw < min ? raw : min;
    max = raw > max ? raw : max;
  }
  BERTH_HD void merge(const RawRange& other) {
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
  friend bool operator==(const RawRange&, const RawRange&) = default;
};

/// What raw scores are normalised by: their ranges over the feasible nodes.
struct TopologyRanges {
  RawRange spread = {INT64_MAX, 0};  ///< ignored nodes left out; the maximum begins at 0, as upstream's does
  RawRange affinity;
  BERTH_HD void add(const RawTopologyScores& raw) {
    if (raw.spread_counts) spread.add(raw.spread);
    affinity.add(raw.affinity);
  }
  BERTH_HD void merge(const TopologyRanges& other) {
    spread.merge(other.spread);
    affinity.merge(other.affinity);
  }
  friend bool operator==(const TopologyRanges&, const TopologyRanges&) = default;
};

// Normalised scores of a place that was added to `ranges`.

BERTH_HD std::int64_t spread_score(const RawTopologyScores& raw, const TopologyRanges& ranges) {
  return raw.spread_counts ? PodTopologySpread::normalize(raw.spread, ranges.spread.min, ranges.spread.max) : 0;
}

BERTH_HD std::int64_t affinity_score(const RawTopologyScores& raw, const TopologyRanges& ranges) {
  return InterPodAffinity::normalize(raw.affinity, ranges.affinity.min, ranges.affinity.max);
}

/// Weighted sum of both.
BERTH_HD std::int64_t topology_total(const RawTopologyScores& raw, const TopologyRanges& ranges,
                                     std::int32_t weight_spread, std::int32_t weight_affinity) {
  return weight_spread * spread_score(raw, ranges) + weight_affinity * affinity_score(raw, ranges);
}

}  // namespace berth
