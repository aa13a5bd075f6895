// SPDX-License-Identifier: Apache-2.0
#pragma once

// The checker's part for hard spread constraints and required pod affinity: whether a placement was allowed depends on
// the other placements at that moment, so they are replayed in order. docs/behaviour/plugins-topology.md 2
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

/// The topology settings of a configuration.
struct TopologyRules {
  bool spread = true;                                         ///< the Filter of PodTopologySpread is enabled
  bool pod_affinity = true;                                   ///< the Filter of InterPodAffinity is enabled
  std::vector<TopologySpreadConstraint> default_constraints;  ///< of defaultingType List; System has no hard ones
  bool merges_match_keys = true;                              ///< gate MatchLabelKeysInPodTopologySpread
  bool compares_taints = false;                               ///< gate TaintTolerationComparisonOperators
  UpstreamBugs bugs;
};

/// @param placements  in the order of the run
/// @return one line per placement and violated rule
std::vector<std::string> check_topology(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                        const TopologyRules& rules);

}  // namespace berth::test
