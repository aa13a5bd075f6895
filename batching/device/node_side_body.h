// SPDX-License-Identifier: Apache-2.0
#pragma once

// The node side of a class on a device, one node per thread: verdicts and raw scores of the rules that
// batching/node_side_row.cpp evaluates on the host. Reasons are computed on the host, on demand.

#include "batching/device/views.h"
#include "plugins/node_affinity/rule.h"
#include "plugins/node_name/rule.h"
#include "plugins/node_unschedulable/rule.h"
#include "plugins/taint_toleration/rule.h"

namespace berth {

/// The rules of the node side that a device asks by itself. What the others refuse and score the host finds out, node
/// by node, and sends along: see host/engine/device/device_node_sides.cpp.
using DeviceNodeRules = RuleList<NodeUnschedulable, NodeName, TaintToleration, NodeAffinityRule>;

/// Where a rule's raw score lies in RawScores.
template <class Rule>
inline constexpr std::size_t kRawOf = NormalizedRules<Rules>::index_of<Rule>;

/// A list of node selector terms in device memory.
struct DeviceTerms {
  const NodeAffinityRule::Term* terms = nullptr;  ///< [count]
  std::int32_t count = 0;
  bool exists = false;  ///< false: the class has no such list

  BERTH_HD bool accepts(std::int32_t node) const {
    return !exists || NodeAffinityRule::matches_any(terms, count, node);
  }
  BERTH_HD std::int64_t score(std::int32_t node) const { return NodeAffinityRule::score(terms, count, node); }
};

struct DeviceNodeSide {
  std::int32_t node_count = 0;
  const std::uint8_t* unschedulable = nullptr;  ///< [node]
  const std::int32_t* taint_set = nullptr;      ///< [node]

  // Rules that are not enabled in the profile refuse nothing.
  bool checks_unschedulable = false;
  NodeUnschedulable::Params cordon{};
  bool checks_taints = false;
  bool scores_taints = false;
  TaintToleration::Params taints{};
  NodeName::Params wanted_node{NodeName::kAnyNode};
  DeviceTerms selector, required, added_required;
  DeviceTerms preferred, added_preferred;
  const std::uint8_t* refused_by_host = nullptr;  ///< [node] by rules that only the host evaluates; null: none
  const std::int32_t* fixed_total = nullptr;      ///< [node] scores that need no normaliser; null: 0 everywhere

  std::int32_t* base = nullptr;  ///< [node] output: fixed_total of the node, -1 where a rule refuses
};

/// Over the nodes that are accepted.
struct DeviceSideSummary {
  std::int64_t accepted_count = 0;
  RawScores minima;  ///< all 0 without an accepted node
  RawScores maxima;

  /// Accepted nodes are equal in all that is normalised.
  BERTH_HD bool is_uniform() const { return minima.is_within(maxima) && maxima.is_within(minima); }
};

struct CombineSummaries {
  BERTH_HD DeviceSideSummary operator()(const DeviceSideSummary& a, const DeviceSideSummary& b) const {
    if (a.accepted_count == 0) return b;
    if (b.accepted_count == 0) return a;
    DeviceSideSummary both = a;
    both.accepted_count += b.accepted_count;
    both.minima.lower_to(b.minima);
    both.maxima.raise_to(b.maxima);
    return both;
  }
};

BERTH_HD bool node_side_accepts(const DeviceNodeSide& side, std::int32_t node) {
  return (side.refused_by_host == nullptr || side.refused_by_host[node] == 0) &&
         (!side.checks_unschedulable || NodeUnschedulable::feasible(side.cordon, side.unschedulable[node] != 0)) &&
         NodeName::feasible(side.wanted_node, node) &&
         (!side.checks_taints || TaintToleration::feasible(side.taints, side.taint_set[node])) &&
         side.selector.accepts(node) && side.required.accepts(node) && side.added_required.accepts(node);
}

/// Writes the node's base. @return its part of the summary
BERTH_HD DeviceSideSummary evaluate_node_side(const DeviceNodeSide& side, std::int32_t node) {
  const bool accepted = node_side_accepts(side, node);
  const std::int32_t fixed = side.fixed_total != nullptr ? side.fixed_total[node] : 0;
  side.base[node] = accepted ? fixed : -1;
  if (!accepted) return {};
  RawScores raws;
  raws.of[kRawOf<TaintToleration>] = side.scores_taints ? TaintToleration::score(side.taints, side.taint_set[node]) : 0;
  raws.of[kRawOf<NodeAffinityRule>] = side.preferred.score(node) + side.added_preferred.score(node);
  return {1, raws, raws};
}

}  // namespace berth
