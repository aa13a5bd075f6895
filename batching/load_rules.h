// SPDX-License-Identifier: Apache-2.0
#pragma once

// The rules that read a node's load, for one class and one node, in integers of any size: templates over the source of
// the amounts, which is a Snapshot on the host (node_filter.cpp) and the columns on a device. The lanes of the cpu
// backend (host/engine/cpu/slot_kernel_body.h) call the same rules on doubles.
//
// A Node has allocatable(column), requested(column), fit_requested(column), pod_count() and allowed_pods(); kNoColumn
// reads as 0. A list of Requests has size(), column(r), amount(r) and, where it is scored, weight(r): 0 where the class
// does not count the resource.

#include <cstdint>

#include "host/config/scoring_strategy.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// A part of a score by LeastAllocated or MostAllocated, or a percentage. Uses doubles where they are exact, since
/// integer division is slow on a device: docs/decisions/0002-exact-doubles.md.
template <class Rule>
BERTH_HD std::int64_t exact_part(std::int64_t requested, std::int64_t allocatable) {
  const bool in_doubles = requested >= 0 && requested < kExactBelow && allocatable < kExactBelow && allocatable > 0;
  if (in_doubles)
    return static_cast<std::int64_t>(
        Rule::part(static_cast<double>(requested), LaneDivisor(static_cast<double>(allocatable))));
  return Rule::part(requested, allocatable);
}

/// RequestedToCapacityRatio's utilization under the name that exact_part() calls.
struct UtilizationPart {
  template <class Number, class Divisor>
  BERTH_HD static Number part(Number requested, const Divisor& allocatable) {
    return RequestedToCapacityRatio::utilization(requested, allocatable);
  }
};

/// @param score_of_utilization  [101], for RequestedToCapacityRatio
BERTH_HD std::int64_t strategy_part(ScoringStrategyType type, const std::int32_t* score_of_utilization,
                                    std::int64_t requested, std::int64_t allocatable) {
  if (type == ScoringStrategyType::kLeastAllocated) return exact_part<LeastAllocated>(requested, allocatable);
  if (type == ScoringStrategyType::kMostAllocated) return exact_part<MostAllocated>(requested, allocatable);
  const std::int64_t percent = exact_part<UtilizationPart>(requested, allocatable);
  return score_of_utilization[percent < 0 ? 0 : percent > 100 ? 100 : percent];
}

template <class Node, class Requests>
BERTH_HD std::int64_t fit_score_of(ScoringStrategyType type, const std::int32_t* score_of_utilization,
                                   const Requests& requests, const Node& node) {
  const bool ratio = type == ScoringStrategyType::kRequestedToCapacityRatio;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::int32_t r = 0; r < requests.size(); ++r) {
    const std::int64_t allocatable = node.allocatable(requests.column(r));
    if (allocatable == 0 || requests.weight(r) == 0) continue;
    const std::int64_t requested = add_wrapping(node.fit_requested(requests.column(r)), requests.amount(r));
    const std::int64_t part = strategy_part(type, score_of_utilization, requested, allocatable);
    if (ratio && part <= 0) continue;
    sum = add_wrapping(sum, multiply(part, requests.weight(r)));
    weights += requests.weight(r);
  }
  if (weights == 0) return 0;
  return ratio ? static_cast<std::int64_t>(
                     RequestedToCapacityRatio::rounded_mean(static_cast<double>(sum), static_cast<double>(weights)))
               : divide_truncated(sum, weights);
}

/// NodeResourcesBalancedAllocation's v1.35 formula, with the pod or without it. @param fractions, counts  scratch, one
/// entry per resource
template <class Node, class Requests>
BERTH_HD double balanced_score_of(const Requests& requests, const Node& node, bool with_pod, double* fractions,
                                  bool* counts) {
  for (std::int32_t r = 0; r < requests.size(); ++r) {
    const std::int64_t allocatable = node.allocatable(requests.column(r));
    counts[r] = requests.weight(r) != 0 && allocatable != 0;
    if (!counts[r]) continue;
    const std::int64_t pod = with_pod ? requests.amount(r) : 0;
    fractions[r] = NodeResourcesBalancedAllocation::fraction(
        static_cast<double>(add_wrapping(node.requested(requests.column(r)), pod)), static_cast<double>(allocatable));
  }
  return NodeResourcesBalancedAllocation::score(fractions, counts, requests.size());
}

/// Whether some resource of the list is insufficient on the node.
template <class Node, class Requests>
BERTH_HD bool is_any_short(const Requests& requests, const Node& node) {
  bool any = false;
  for (std::int32_t r = 0; r < requests.size(); ++r)
    any = any || NodeResourcesFit::is_short(requests.amount(r), node.allocatable(requests.column(r)),
                                            node.requested(requests.column(r)));
  return any;
}

}  // namespace berth
