// SPDX-License-Identifier: Apache-2.0
#pragma once

// An independent judge of results: it looks at the final state, and for topology at the placements one after the other.
// It shares no code with any engine.

#include <optional>
#include <string>
#include <vector>

#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "tests/support/check_topology.h"

namespace berth::test {

/// What a configuration takes off the rules, or puts on top.
struct CheckRules {
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;
  std::optional<NodeAffinity> added_affinity;
  bool compares_taints = false;                ///< gate TaintTolerationComparisonOperators
  bool declared_features = false;              ///< gate NodeDeclaredFeatures
  std::optional<TopologyRules> topology = {};  ///< nullopt: topology is not checked
};
/// What a run with this configuration and profile has to obey, topology included.
CheckRules check_rules(const SchedulerConfig& config, const Profile& profile, const EngineConfig& engine);

/// Recounts every node that got a pod and holds each rule against the final state: capacity of each resource that a new
/// pod asks for, number of pods, host ports, taints, cordon, node selector and affinity, declared features; also that a
/// pod was placed once, was pending, not gated and not terminating, and that its node exists.
/// What running pods did among themselves is not held against the result. With rules.topology the placements are also
/// replayed in the order given: check_topology().
/// @return one line per violation, empty when there is none
std::vector<std::string> check_placement(const ClusterObjects& objects, const std::vector<PlacedPod>& placements,
                                         const CheckRules& rules = {});

}  // namespace berth::test
