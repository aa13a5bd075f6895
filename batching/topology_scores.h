// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scores of PodTopologySpread and InterPodAffinity over an explicit list of feasible nodes: what explanations, node
// sampling and nominations need. Rows keep groups of nodes instead (host/engine/cpu/grouped_row.h) and come to the
// same.

#include <cstdint>
#include <vector>

#include "batching/compiled_profile.h"
#include "batching/topology_program.h"
#include "host/cluster/topology_counts.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// Smallest and largest raw score so far.
struct RawRange {
  std::int64_t min = INT64_MAX;
  std::int64_t max = INT64_MIN;
  void add(std::int64_t raw) {
    min = raw < min ? raw : min;
    max = raw > max ? raw : max;
  }
};

struct TopologyScores {
  bool spread = false;                       ///< PodTopologySpread scores: its PreScore does not skip
  std::vector<std::int64_t> spread_raw;      ///< [node of the list]
  std::vector<std::uint8_t> spread_ignored;  ///< [node of the list] raw and normalised are 0
  RawRange spread_range;
  bool affinity = false;  ///< InterPodAffinity scores
  std::vector<std::int64_t> affinity_raw;
  RawRange affinity_range;

  std::int64_t spread_normalized(std::size_t i) const;
  std::int64_t affinity_normalized(std::size_t i) const;
  /// Weighted sum of both.
  std::int64_t total(std::size_t i, const CompiledProfile& profile) const;
};

TopologyScores score_topology(const TopologyProgram& program, const TopologyCounts& counts,
                              const std::vector<std::int32_t>& feasible);

/// Some term contributed to some node, if only a sum of 0: InterPodAffinity's PreScore does not skip.
bool affinity_contributes(const TopologyProgram& program, const TopologyCounts& counts);

}  // namespace berth
