// SPDX-License-Identifier: Apache-2.0
#pragma once

// The constraints of PodTopologySpread, and what both its halves ask of nodes: docs/behaviour/plugins-topology.md 1.5
// to 2.4.

#include <cstdint>
#include <string>
#include <vector>

#include "host/engine/reference/cluster_view.h"
#include "host/engine/reference/label_matcher.h"
#include "host/engine/reference/request.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth::reference {

struct SpreadConstraint {
  std::string topology_key;
  LabelMatcher selector;
  std::int64_t max_skew;
  std::int64_t min_domains;
  bool honors_node_affinity;
  bool honors_node_taints;
};

/// The constraints of one action, explicit or default.
struct SpreadConstraints {
  std::vector<SpreadConstraint> list;
  std::string problem;  ///< a selector does not parse; the list is of no use
};
SpreadConstraints hard_constraints(const Request& request);
SpreadConstraints soft_constraints(const Request& request);

/// 2.2: the selector that services and the controller of `pod` give default constraints.
LabelMatcher default_selector(const Pod& pod, const ClusterView& cluster);

bool has_all_keys(const std::vector<SpreadConstraint>& constraints, const Node& node);
/// The inclusion policies of 2.4.
bool includes(const SpreadConstraint& constraint, const Request& request, const Node& node);
/// cnt_i(n) of 2.4.
std::int64_t count_pods(const SpreadConstraint& constraint, const Request& request, const NodeState& state);

}  // namespace berth::reference
