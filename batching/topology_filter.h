// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verdict of PodTopologySpread and InterPodAffinity on one node, from the current tables.

#include <cstdint>

#include "batching/backend.h"
#include "batching/compiled_profile.h"
#include "batching/node_overlay.h"
#include "batching/topology_program.h"
#include "batching/topology_rules.h"
#include "host/cluster/topology_counts.h"

namespace berth {

struct TopologyVerdict {
  SpreadVerdict spread = SpreadVerdict::kAccepted;
  AffinityVerdict affinity = AffinityVerdict::kAccepted;
  bool accepts() const { return spread == SpreadVerdict::kAccepted && affinity == AffinityVerdict::kAccepted; }
  friend bool operator==(const TopologyVerdict&, const TopologyVerdict&) = default;
};

/// InterPodAffinity's PreFilter skips: its Filter, AddPod and RemovePod are not called.
bool affinity_pre_filter_skips(const TopologyProgram& program, const TopologyCounts& counts);

/// Changes when a table does that filter_topology() reads: each write gives a table a version above all others.
std::uint64_t version_of_filter_tables(const TopologyProgram& program, const TopologyCounts& counts);

/// @param affinity_skips  affinity_pre_filter_skips() at the time of PreFilter
TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips = false);
/// The same for the node of an overlay.
TopologyVerdict filter_topology(const TopologyProgram& program, const OverlaidCounts& counts, bool affinity_skips);

}  // namespace berth
