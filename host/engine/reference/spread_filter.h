// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreFilter and Filter of PodTopologySpread: docs/behaviour/plugins-topology.md 2.3 to 2.7.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/engine/reference/request.h"
#include "host/engine/reference/spread_constraints.h"
#include "host/framework/status.h"

namespace berth::reference {

/// Counts of the hard constraints of one incoming pod.
struct SpreadState {
  std::vector<SpreadConstraint> constraints;
  /// Per constraint: the domains that exist and the matching pods in each. May fall below 0 when pods are taken off
  /// that were not counted (Q3).
  std::vector<std::map<std::string, std::int64_t, std::less<>>> counts;
};

SpreadState count_domains(std::vector<SpreadConstraint> constraints, const Request& request);

/// AddPod (delta 1) and RemovePod (delta -1) of 2.7: `other` comes to or leaves `node`.
void update(SpreadState& state, const Request& request, const Pod& other, const Node& node, std::int64_t delta);

Status filter(const SpreadState& state, const Request& request, const Node& node);

}  // namespace berth::reference
