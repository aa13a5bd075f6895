// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreScore, Score and NormalizeScore of PodTopologySpread: docs/behaviour/plugins-topology.md 2.9 to 2.11.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/engine/reference/request.h"
#include "host/engine/reference/spread_constraints.h"

namespace berth::reference {

/// Counts of the soft constraints of one incoming pod over its feasible nodes.
struct SoftSpreadState {
  std::vector<SpreadConstraint> constraints;
  bool requires_all_keys;
  std::set<const NodeState*> ignored;  ///< feasible nodes that lack a key, where all are required
  /// Per constraint: the domains that a feasible node is in and the matching pods in each; empty for the hostname,
  /// whose pods are counted node by node.
  std::vector<std::map<std::string, std::int64_t, std::less<>>> counts;
  std::vector<double> weights;  ///< per constraint
};

SoftSpreadState pre_score(std::vector<SpreadConstraint> constraints, const Request& request,
                          std::span<const NodeState* const> feasible);

/// The higher, the more crowded; 0 for an ignored node.
std::int64_t score(const SoftSpreadState& state, const Request& request, const NodeState& node);

/// `scores` as long as `nodes`, in their order.
void normalize(const SoftSpreadState& state, std::span<const NodeState* const> nodes,
               std::vector<std::int64_t>& scores);

/// Go's natural logarithm on amd64, bit for bit; `x` is finite and at least 1.
double go_log(double x);

}  // namespace berth::reference
