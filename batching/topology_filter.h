// SPDX-License-Identifier: Apache-2.0
#pragma once

// What PodTopologySpread and InterPodAffinity say of one node, from the tables as they stand.

#include <cstdint>

#include "batching/compiled_profile.h"
#include "batching/topology_program.h"
#include "host/cluster/topology_counts.h"
#include "host/framework/status.h"

namespace berth {

enum class SpreadVerdict : std::uint8_t { kAccepted, kMissingLabel, kSkew };
enum class AffinityVerdict : std::uint8_t { kAccepted, kAffinity, kAntiAffinity, kExistingAntiAffinity };

struct TopologyVerdict {
  SpreadVerdict spread = SpreadVerdict::kAccepted;
  AffinityVerdict affinity = AffinityVerdict::kAccepted;
  bool accepts() const { return spread == SpreadVerdict::kAccepted && affinity == AffinityVerdict::kAccepted; }
  friend bool operator==(const TopologyVerdict&, const TopologyVerdict&) = default;
};

/// The minimum that a constraint's skew is measured from: 0 while there are fewer domains than it wants.
std::int64_t global_minimum(const HardSpread& hard, const TopologyCounts& counts);

/// No pod anywhere meets the required affinity of the class, so that a first pod may start a series.
bool nothing_meets_affinity(const TopologyProgram& program, const TopologyCounts& counts);

/// InterPodAffinity's PreFilter has nothing to look at: its Filter is not called, nor are its AddPod and RemovePod.
bool affinity_pre_filter_skips(const TopologyProgram& program, const TopologyCounts& counts);

/// @param affinity_skips  affinity_pre_filter_skips() as PreFilter found it
TopologyVerdict filter_topology(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                bool affinity_skips = false);

/// The status of a refusal; the plugin that comes first in the profile's order speaks.
/// @return its rank, kNotEnabled where nothing is refused
std::int32_t rank_of_refusal(const TopologyVerdict& verdict, const CompiledProfile& profile);
Status status_of(const TopologyVerdict& verdict, const CompiledProfile& profile);

}  // namespace berth
