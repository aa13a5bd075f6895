// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Draws pods to the domains of others and keeps them away: docs/behaviour/plugins-topology.md 3. What it reads are
/// counts per domain of pods that meet a term, and of terms that meet the pod.
struct InterPodAffinity {
  static constexpr RuleDescriptor descriptor{.name = "InterPodAffinity",
                                             .touches = Touches::kDomainsOfNode,
                                             .filters = true,
                                             .scores = true,
                                             .normalizer = Normalizer::kByRange};
  static constexpr std::string_view name = descriptor.name;
  static constexpr std::string_view reason_affinity = "node(s) didn't match pod affinity rules";
  static constexpr std::string_view reason_anti_affinity = "node(s) didn't match pod anti-affinity rules";
  static constexpr std::string_view reason_existing_anti_affinity =
      "node(s) didn't satisfy existing pods anti-affinity rules";

  /// The domains of the node hold pods for every required term; or no domain anywhere does and the pod would be the
  /// first of a series that asks for itself.
  BERTH_HD static bool affinity_holds(bool every_term_held, bool no_match_anywhere, bool matches_itself) {
    return every_term_held || (no_match_anywhere && matches_itself);
  }

  /// The highest raw score becomes 100, the lowest 0. Division first and then the product, in doubles, as written in
  /// Go: 29, 57 and 58 hundredths come out one lower.
  BERTH_HD static std::int64_t normalize(std::int64_t raw, std::int64_t min_raw, std::int64_t max_raw) {
    if (max_raw == min_raw) return 0;
    const double share = static_cast<double>(raw - min_raw) / static_cast<double>(max_raw - min_raw);
    return static_cast<std::int64_t>(static_cast<double>(kMaxNodeScore) * share);
  }
};

}  // namespace berth
