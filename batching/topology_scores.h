// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scores of PodTopologySpread and InterPodAffinity over an explicit list of feasible nodes, for explanations and where
// rows are not enough (feasible_list.h). Rows compute the same from groups of nodes (host/engine/cpu/grouped_row.h).

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "batching/compiled_profile.h"
#include "batching/rule_score.h"
#include "batching/topology_program.h"
#include "batching/topology_rules.h"
#include "host/cluster/topology_counts.h"

namespace berth {

struct TopologyScores {
  bool spread = false;                 ///< PodTopologySpread scores: its PreScore does not skip
  bool affinity = false;               ///< InterPodAffinity scores
  std::vector<RawTopologyScores> raw;  ///< [node of the list]
  TopologyRanges ranges;

  std::int64_t spread_normalized(std::size_t i) const { return spread ? spread_score(raw[i], ranges) : 0; }
  std::int64_t affinity_normalized(std::size_t i) const { return affinity ? affinity_score(raw[i], ranges) : 0; }
  /// The score of one plugin. nullopt: it is no topology rule, or its PreScore skips.
  std::optional<RuleScore> score(std::string_view plugin, std::size_t i) const {
    if (plugin == PodTopologySpread::name && spread) return RuleScore{raw[i].spread, spread_normalized(i)};
    if (plugin == InterPodAffinity::name && affinity) return RuleScore{raw[i].affinity, affinity_normalized(i)};
    return std::nullopt;
  }
  /// Weighted sum of both; 0 without scores.
  std::int64_t total(std::size_t i, const CompiledProfile& profile) const {
    return profile.weight<PodTopologySpread>() * spread_normalized(i) +
           profile.weight<InterPodAffinity>() * affinity_normalized(i);
  }
};

TopologyScores score_topology(const TopologyProgram& program, const TopologyCounts& counts,
                              const std::vector<std::int32_t>& feasible);

/// Some term contributes to some node, even if the sum is 0: InterPodAffinity's PreScore does not skip.
bool affinity_contributes(const TopologyProgram& program, const TopologyCounts& counts);

}  // namespace berth
