// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

/// Refuses nodes with too little left, and scores how full a node would be: docs/behaviour/plugins-node.md 10.
struct NodeResourcesFit {
  static constexpr RuleDescriptor descriptor{
      .name = "NodeResourcesFit", .touches = Touches::kColumnOfNode, .filters = true, .scores = true};
  static constexpr std::string_view name = descriptor.name;
  static constexpr std::string_view reason_pods = "Too many pods";
  static constexpr std::string_view reason_prefix = "Insufficient ";

  template <class Number>
  BERTH_HD static bool too_many_pods(Number pods_on_node, Number allowed) {
    return pods_on_node + 1 > allowed;
  }
  /// Asking for nothing fits an overcommitted node.
  template <class Number>
  BERTH_HD static bool is_short(Number request, Number allocatable, Number requested) {
    return request > 0 && request > subtract(allocatable, requested);
  }
  /// How often in a row too_many_pods() is false, a pod being placed each time.
  template <class Number>
  BERTH_HD static Number slots_left(Number pods_on_node, Number allowed) {
    return pods_on_node < allowed ? subtract(allowed, pods_on_node) : Number(0);
  }
  /// How often in a row is_short() is false, the request being placed each time. `request` is above 0.
  BERTH_HD static std::int64_t requests_left(std::int64_t request, std::int64_t free) {
    return free < request ? 0 : free / request;
  }
  /// The same in doubles, which hold the amounts exactly; still to be rounded down, after the smallest was found.
  BERTH_HD static double requests_left(double request, double free) {
    const double left = free / request;
    return left < 0 ? 0 : left;
  }
  /// No eviction can help: the node was never large enough.
  template <class Number>
  BERTH_HD static bool is_unresolvable(Number request, Number allocatable) {
    return request > allocatable;
  }
};

/// Score of one resource. `allocatable` is above 0 (a number, or a LaneDivisor); the pod is included in `requested`.
struct LeastAllocated {
  template <class Number, class Divisor>
  BERTH_HD static Number part(Number requested, const Divisor& allocatable) {
    const Number free = requested > Number(allocatable) ? Number(0) : subtract(Number(allocatable), requested);
    return divide_truncated(multiply(free, Number(kMaxNodeScore)), allocatable);
  }
};

struct MostAllocated {
  template <class Number, class Divisor>
  BERTH_HD static Number part(Number requested, const Divisor& allocatable) {
    const Number used = requested > Number(allocatable) ? Number(allocatable) : requested;
    return divide_truncated(multiply(used, Number(kMaxNodeScore)), allocatable);
  }
};

struct RequestedToCapacityRatio {
  /// Percent of the node's allocatable that would be requested; the shape maps it to the score.
  template <class Number, class Divisor>
  BERTH_HD static Number utilization(Number requested, const Divisor& allocatable) {
    return requested > Number(allocatable) ? Number(kMaxNodeScore)
                                           : divide_truncated(multiply(requested, Number(kMaxNodeScore)), allocatable);
  }
  /// Nearest integer, halves up; both are non-negative. In doubles as upstream does it.
  BERTH_HD static double rounded_mean(double weighted_sum, double weight_sum) {
    const double mean = weighted_sum / weight_sum;
    const double whole = __builtin_trunc(mean);
    return mean - whole >= 0.5 ? whole + 1.0 : whole;
  }
};

}  // namespace berth
