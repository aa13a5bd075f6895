// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Prefers nodes whose resources would be used evenly: docs/behaviour/plugins-node.md 11. Computed in doubles, in the
/// order of upstream and without contraction.
struct NodeResourcesBalancedAllocation {
  static constexpr RuleDescriptor descriptor{
      .name = "NodeResourcesBalancedAllocation", .touches = Touches::kColumnOfNode, .scores = true};
  static constexpr std::string_view name = descriptor.name;

  BERTH_HD static double fraction(double requested, double allocatable) {
    const double f = requested / allocatable;
    return f > 1.0 ? 1.0 : f;
  }
  /// Half the distance: the standard deviation of two fractions.
  BERTH_HD static double deviation_of_two(double first, double second) {
    return __builtin_fabs((first - second) / 2.0);
  }
  BERTH_HD static double score_of_deviation(double deviation) {
    return __builtin_trunc((1.0 - deviation) * static_cast<double>(kMaxNodeScore));
  }
  /// v1.36: how the pod changes the balance; both are scores of the v1.35 formula.
  BERTH_HD static double score_of_change(double with_pod, double without_pod) {
    constexpr auto kHalf = static_cast<double>(kMaxNodeScore) / 2;
    return kHalf + __builtin_trunc((kHalf + with_pod - without_pod) / 2.0);
  }
  /// The same for scores beyond exact doubles, which wrap around.
  BERTH_HD static std::int64_t wrapping_score_of_change(std::int64_t with_pod, std::int64_t without_pod) {
    constexpr std::int64_t kHalf = kMaxNodeScore / 2;
    return kHalf + subtract(add_wrapping(kHalf, with_pod), without_pod) / 2;
  }

  /// The whole v1.35 formula over up to `count` resources; those with allocatable 0 are left out by the caller through
  /// `counts`. Two passes, in list order.
  BERTH_HD static double score(const double* fractions, const bool* counts, int count) {
    double total = 0.0;
    int used = 0;
    double first = 0.0;
    double second = 0.0;
    for (int r = 0; r < count; ++r) {
      if (!counts[r]) continue;
      total += fractions[r];
      if (used == 0) first = fractions[r];
      if (used == 1) second = fractions[r];
      ++used;
    }
    if (used < 2) return score_of_deviation(0.0);
    if (used == 2) return score_of_deviation(deviation_of_two(first, second));
    const double mean = total / used;
    double sum = 0.0;
    for (int r = 0; r < count; ++r) {
      if (!counts[r]) continue;
      const double difference = fractions[r] - mean;
      sum += difference * difference;
    }
    return score_of_deviation(__builtin_sqrt(sum / used));
  }
};

}  // namespace berth
