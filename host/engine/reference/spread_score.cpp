// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_score.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "host/config/node_score.h"

namespace berth::reference {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

bool is_counted_per_node(const SpreadConstraint& constraint) { return constraint.topology_key == kHostname; }

/// A node without the label is in the domain of the empty value (Q6).
std::string domain_of(const SpreadConstraint& constraint, const Node& node) {
  return std::string(node.labels.find(constraint.topology_key).value_or(""));
}

void seed_domains(SoftSpreadState& state, std::span<const NodeState* const> feasible) {
  for (const NodeState* node : feasible) {
    if (state.requires_all_keys && !has_all_keys(state.constraints, *node->node)) {
      state.ignored.insert(node);
      continue;
    }
    for (std::size_t i = 0; i < state.constraints.size(); ++i) {
      if (!is_counted_per_node(state.constraints[i])) state.counts[i][domain_of(state.constraints[i], *node->node)] = 0;
    }
  }
}

void weigh(SoftSpreadState& state, std::size_t feasible_count) {
  for (std::size_t i = 0; i < state.constraints.size(); ++i) {
    const bool per_node = is_counted_per_node(state.constraints[i]);
    const std::size_t size = per_node ? feasible_count - state.ignored.size() : state.counts[i].size();
    state.weights.push_back(go_log(static_cast<double>(size + 2)));
  }
}

void count_seeded_domains(SoftSpreadState& state, const Request& request) {
  for (const NodeState& node : request.cluster->nodes) {
    if (state.requires_all_keys && !has_all_keys(state.constraints, *node.node)) continue;
    for (std::size_t i = 0; i < state.constraints.size(); ++i) {
      const SpreadConstraint& constraint = state.constraints[i];
      const auto seeded = state.counts[i].find(domain_of(constraint, *node.node));
      if (seeded == state.counts[i].end() || !includes(constraint, request, *node.node)) continue;
      seeded->second += count_pods(constraint, request, node);
    }
  }
}

}  // namespace

SoftSpreadState pre_score(std::vector<SpreadConstraint> constraints, const Request& request,
                          std::span<const NodeState* const> feasible) {
  const bool requires_all_keys = !request.pod->spec->topology_spread_constraints.empty() ||
                                 !request.profile->args.pod_topology_spread.system_defaulting;
  SoftSpreadState state{std::move(constraints), requires_all_keys, {}, {}, {}};
  state.counts.resize(state.constraints.size());
  seed_domains(state, feasible);
  weigh(state, feasible.size());
  count_seeded_domains(state, request);
  return state;
}

std::int64_t score(const SoftSpreadState& state, const Request& request, const NodeState& node) {
  if (state.ignored.contains(&node)) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < state.constraints.size(); ++i) {
    const SpreadConstraint& constraint = state.constraints[i];
    const std::optional<std::string_view> domain = node.node->labels.find(constraint.topology_key);
    if (!domain) continue;
    const std::int64_t count =
        is_counted_per_node(constraint) ? count_pods(constraint, request, node) : state.counts[i].find(*domain)->second;
    const auto allowance = static_cast<std::int32_t>(static_cast<std::uint32_t>(constraint.max_skew) - 1);  // may wrap
    sum = sum + (static_cast<double>(count) * state.weights[i] + static_cast<double>(allowance));
  }
  return static_cast<std::int64_t>(std::round(sum));
}

void normalize(const SoftSpreadState& state, std::span<const NodeState* const> nodes,
               std::vector<std::int64_t>& scores) {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (state.ignored.contains(nodes[i])) continue;
    lowest = std::min(lowest, scores[i]);
    highest = std::max(highest, scores[i]);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (state.ignored.contains(nodes[i])) {
      scores[i] = 0;
    } else {
      scores[i] = highest == 0 ? kMaxNodeScore : kMaxNodeScore * (highest + lowest - scores[i]) / highest;
    }
  }
}

double go_log(double x) {
  constexpr double kLn2High = std::bit_cast<double>(0x3fe62e42fee00000);
  constexpr double kLn2Low = std::bit_cast<double>(0x3dea39ef35793c76);
  constexpr double kL1 = std::bit_cast<double>(0x3FE5555555555593);
  constexpr double kL2 = std::bit_cast<double>(0x3FD999999997FA04);
  constexpr double kL3 = std::bit_cast<double>(0x3FD2492494229359);
  constexpr double kL4 = std::bit_cast<double>(0x3FCC71C51D8E78AF);
  constexpr double kL5 = std::bit_cast<double>(0x3FC7466496CB03DE);
  constexpr double kL6 = std::bit_cast<double>(0x3FC39A09D078C69F);
  constexpr double kL7 = std::bit_cast<double>(0x3FC2F112DF3E5244);
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction <= 0.70710678118654752440) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const double k = exponent;
  const double s = f / (2 + f);
  const double q = s * s;
  const double r = q * q;
  const double t1 = q * (kL1 + r * (kL3 + r * (kL5 + r * kL7)));
  const double t2 = r * (kL2 + r * (kL4 + r * kL6));
  const double h = (0.5 * f) * f;
  return k * kLn2High - ((h - (s * (h + (t1 + t2)) + k * kLn2Low)) - f);
}

}  // namespace berth::reference
