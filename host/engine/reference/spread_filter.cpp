// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_filter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace berth::reference {
namespace {

/// g of 2.5: the minimum that the skew is measured from.
std::int64_t global_minimum(const SpreadConstraint& constraint,
                            const std::map<std::string, std::int64_t, std::less<>>& counts) {
  if (static_cast<std::int64_t>(counts.size()) < constraint.min_domains) return 0;
  std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const auto& [domain, count] : counts) lowest = std::min(lowest, count);
  return lowest;
}

}  // namespace

SpreadState count_domains(std::vector<SpreadConstraint> constraints, const Request& request) {
  SpreadState state{std::move(constraints), {}};
  state.counts.resize(state.constraints.size());
  for (const NodeState& node : request.cluster->nodes) {
    if (!has_all_keys(state.constraints, *node.node)) continue;
    for (std::size_t i = 0; i < state.constraints.size(); ++i) {
      const SpreadConstraint& constraint = state.constraints[i];
      if (!includes(constraint, request, *node.node)) continue;
      const std::string domain(*node.node->labels.find(constraint.topology_key));
      state.counts[i][domain] += count_pods(constraint, request, node);
    }
  }
  return state;
}

void update(SpreadState& state, const Request& request, const Pod& other, const Node& node, std::int64_t delta) {
  if (other.namespace_ != request.pod->namespace_ || !has_all_keys(state.constraints, node)) return;
  for (std::size_t i = 0; i < state.constraints.size(); ++i) {
    const SpreadConstraint& constraint = state.constraints[i];
    // Neither a deletionTimestamp nor the empty flag is looked at here (Q1, Q3).
    if (!constraint.selector.matches(other.labels) || !includes(constraint, request, node)) continue;
    state.counts[i][std::string(*node.labels.find(constraint.topology_key))] += delta;
  }
}

Status filter(const SpreadState& state, const Request& request, const Node& node) {
  constexpr const char* kPlugin = "PodTopologySpread";
  for (std::size_t i = 0; i < state.constraints.size(); ++i) {
    const SpreadConstraint& constraint = state.constraints[i];
    const std::optional<std::string_view> domain = node.labels.find(constraint.topology_key);
    if (!domain) {
      return {StatusCode::kUnschedulableAndUnresolvable,
              kPlugin,
              {"node(s) didn't match pod topology spread constraints (missing required label)"}};
    }
    const auto found = state.counts[i].find(*domain);
    const std::int64_t there = found == state.counts[i].end() ? 0 : found->second;
    const std::int64_t self = constraint.selector.matches(request.pod->labels) ? 1 : 0;
    if (there + self - global_minimum(constraint, state.counts[i]) > constraint.max_skew) {
      return {StatusCode::kUnschedulable, kPlugin, {"node(s) didn't match pod topology spread constraints"}};
    }
  }
  return {};
}

}  // namespace berth::reference
