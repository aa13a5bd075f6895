// SPDX-License-Identifier: Apache-2.0
#pragma once

// The checker's part for hard spread constraints and required pod affinity: whether a placement was allowed depends on
// what lay where at that moment, so the placements are replayed in their order. docs/behaviour/plugins-topology.md 2
// and 3.

#include <string>
#include <vector>

#include "host/config/engine_config.h"
#include "host/objects/cluster_objects.h"

namespace berth::test {

struct PlacedPod {
  PodPtr pod;
  std::string node;
};

/// What a configuration says of topology.
struct TopologyRules {
  bool spread = true;                                         ///< the Filter of PodTopologySpread is enabled
  bool pod_affinity = true;                                   ///< the Filter of InterPodAffinity is enabled
  std::vector<TopologySpreadConstraint> default_constraints;  ///< of defaultingType List; System has no hard ones
  bool merges_match_keys = true;                              ///< gate MatchLabelKeysInPodTopologySpread
  bool compares_taints = false;                               ///< gate TaintTolerationComparisonOperators
  UpstreamBugs bugs;
};

/// @param placements  in the order in which they were made
/// @return one line per placement and rule that it broke
std::vector<std::string> check_topology(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                        const TopologyRules& rules);

}  // namespace berth::test
