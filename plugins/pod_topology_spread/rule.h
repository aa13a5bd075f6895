// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Keeps the pods that a selector matches evenly spread over the domains of a topology key:
/// docs/behaviour/plugins-topology.md 2. Counts are of pods in a domain; they come from tables that placements keep
/// current.
struct PodTopologySpread {
  static constexpr RuleDescriptor descriptor{.name = "PodTopologySpread",
                                             .touches = Touches::kDomainsOfNode,
                                             .filters = true,
                                             .scores = true,
                                             .normalizer = Normalizer::kByRange};
  static constexpr std::string_view name = descriptor.name;
  static constexpr std::string_view reason = "node(s) didn't match pod topology spread constraints";
  static constexpr std::string_view reason_missing_label =
      "node(s) didn't match pod topology spread constraints (missing required label)";

  /// @param count    matching pods in the node's domain
  /// @param self     1 when the pod matches its own constraint
  /// @param minimum  of the counts of all domains, 0 while there are fewer than minDomains
  BERTH_HD static bool exceeds_skew(std::int64_t count, std::int64_t self, std::int64_t minimum,
                                    std::int64_t max_skew) {
    return count + self - minimum > max_skew;
  }

  /// Adds one soft constraint to a node's cost, in the order and with the roundings of Go on amd64:
  /// docs/behaviour/plugins-topology.md 2.10. Never to be contracted into a fused multiply-add. maxSkew wraps round
  /// below its smallest value, as Go's int32.
  BERTH_HD static double add_cost(double cost, std::int64_t count, double domain_weight, std::int32_t max_skew) {
    const double product = static_cast<double>(count) * domain_weight;
    const auto tolerated = static_cast<std::int32_t>(static_cast<std::uint32_t>(max_skew) - 1);
    return cost + (product + static_cast<double>(tolerated));
  }
  /// Half away from zero.
  BERTH_HD static std::int64_t raw_score(double cost) { return static_cast<std::int64_t>(__builtin_round(cost)); }

  /// The least crowded node gets 100. @param min_raw, max_raw over the feasible nodes that are not ignored
  BERTH_HD static std::int64_t normalize(std::int64_t raw, std::int64_t min_raw, std::int64_t max_raw) {
    if (max_raw == 0) return kMaxNodeScore;
    return kMaxNodeScore * (max_raw + min_raw - raw) / max_raw;
  }
};

}  // namespace berth
