// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verdict of PodTopologySpread and InterPodAffinity on one node, from the current tables, and its status.

#include <cstdint>

#include "batching/compiled_profile.h"
#include "batching/topology_program.h"
#include "batching/topology_rules.h"
#include "host/cluster/topology_counts.h"
#include "host/framework/status.h"

namespace berth {

struct TopologyVerdict {
  SpreadVerdict spread = SpreadVerdict::kAccepted;
  AffinityVerdict affinity = AffinityVerdict::kAccepted;
  bool accepts() const { return spread == SpreadVerdict::kAccepted && affinity == AffinityVerdict::kAccepted; }
  friend bool operator==(const TopologyVerdict&, const TopologyVerdict&) = default;
};

/// InterPodAffinity's PreFilter skips: its Filter, AddPod and RemovePod are not called.
bool affinity_pre_filter_skips(const TopologyProgram& program, const TopologyCounts& counts);

/// @param affinity_skips  affinity_pre_filter_skips() at the time of PreFilter
TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips = false);

/// @return the rank of the refusing plugin that comes first in the profile's order; kNotEnabled where none refuses
std::int32_t rank_of_refusal(const TopologyVerdict& verdict, const CompiledProfile& profile);
/// The status of that plugin; success where none refuses.
Status status_of(const TopologyVerdict& verdict, const CompiledProfile& profile);

}  // namespace berth
