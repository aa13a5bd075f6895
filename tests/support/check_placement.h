// SPDX-License-Identifier: Apache-2.0
#pragma once

// An independent checker of results: it validates the final state, and for topology rules the placements in order. It
// shares no code with any engine.

#include <optional>
#include <string>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "tests/support/check_topology.h"

namespace berth::test {

/// Rules that a configuration disables or adds.
struct CheckRules {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  std::optional<NodeAffinity> added_affinity;
  bool compares_taints = false;                ///< gate TaintTolerationComparisonOperators
  bool declared_features = false;              ///< gate NodeDeclaredFeatures
  std::optional<TopologyRules> topology = {};  ///< nullopt: topology is not checked
  bool taints = true;                          ///< TaintToleration filters
  bool node_affinity = true;                   ///< NodeAffinity filters: node selector, affinity and the added one
};
/// The rules for a run with this configuration and profile, topology included.
CheckRules check_rules(const SchedulerConfig& config, const Profile& profile, const EngineConfig& engine);

/// Recounts every node with a new pod and checks each rule on the final state: capacity of each resource that a new pod
/// requests, number of pods, host ports, taints, cordon, node selector and affinity, declared features; also that a
/// pod was placed once, was pending, not gated and not terminating, and that its node exists.
/// Violations among running pods are ignored. With rules.topology the placements are also
/// replayed in the order given: check_topology().
/// @return one line per violation, empty when there is none
std::vector<std::string> check_placement(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                         const CheckRules& rules = {});

}  // namespace berth::test
