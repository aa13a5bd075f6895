// SPDX-License-Identifier: Apache-2.0
#pragma once

// The load rules of a class that counts cpu and memory in the usual way, on a node that offers both: the rules of
// plugins/*/rule.h on doubles, with what classes have in common on a node read and computed once. For amounts that
// doubles hold exactly (docs/decisions/0002-exact-doubles.md) the answer is that of batching/load_rules.h.

#include <cstdint>

#include "host/framework/draw_bits.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// What a class requests of one of the two resources.
struct UsualRequest {
  double filtered = 0;  ///< by NodeResourcesFit; 0: nothing
  double fit = 0;       ///< scored by NodeResourcesFit
  double fit_weight = 0;
  double balanced = 0;  ///< scored by NodeResourcesBalancedAllocation
};

/// A class for UsualNode.
struct UsualLoad {
  bool applies = false;         ///< the class counts cpu and memory in the usual way
  bool most_allocated = false;  ///< or LeastAllocated
  bool scores_change = false;   ///< v1.36 formula of NodeResourcesBalancedAllocation
  UsualRequest cpu, memory;
  LaneDivisor fit_weights;  ///< the sum of both
  double weight_fit = 0;    ///< of the plugins
  double weight_balanced = 0;
};

/// One of the two resources of a node.
struct UsualOffer {
  LaneDivisor allocatable;
  double requested = 0;
  double in_use = 0;  ///< non-zero sum
};

/// A node for UsualLoad.
struct UsualNode {
  bool applies = false;   ///< offers both, and holds amounts that doubles hold exactly
  bool has_room = false;  ///< for one pod more
  UsualOffer cpu, memory;
  NodeDraw draw;
};

BERTH_HD bool is_exact_amount(std::int64_t amount) { return amount >= 0 && amount < kExactBelow; }

/// Refused by NodeResourcesFit for cpu or memory.
BERTH_HD bool is_usual_short(const UsualLoad& load, const UsualNode& node) {
  return NodeResourcesFit::is_short(load.cpu.filtered, node.cpu.allocatable.value, node.cpu.requested) ||
         NodeResourcesFit::is_short(load.memory.filtered, node.memory.allocatable.value, node.memory.requested);
}

/// The mean of both parts, truncated.
template <class Strategy>
BERTH_HD double usual_fit_score(const UsualLoad& load, const UsualNode& node) {
  const double sum =
      Strategy::part(node.cpu.in_use + load.cpu.fit, node.cpu.allocatable) * load.cpu.fit_weight +
      Strategy::part(node.memory.in_use + load.memory.fit, node.memory.allocatable) * load.memory.fit_weight;
  return divide_truncated(sum, load.fit_weights);
}

/// @param cpu, memory  requested with the pod or without it
BERTH_HD double usual_balance(const UsualNode& node, double cpu, double memory) {
  using Balanced = NodeResourcesBalancedAllocation;
  return Balanced::score_of_deviation(Balanced::deviation_of_two(
      Balanced::fraction(cpu, node.cpu.allocatable.value), Balanced::fraction(memory, node.memory.allocatable.value)));
}

/// The weighted sum of both plugins' scores.
BERTH_HD std::int64_t usual_load_total(const UsualLoad& load, const UsualNode& node) {
  const double fit =
      load.most_allocated ? usual_fit_score<MostAllocated>(load, node) : usual_fit_score<LeastAllocated>(load, node);
  double balanced =
      usual_balance(node, node.cpu.requested + load.cpu.balanced, node.memory.requested + load.memory.balanced);
  if (load.scores_change)
    balanced = NodeResourcesBalancedAllocation::score_of_change(
        balanced, usual_balance(node, node.cpu.requested, node.memory.requested));
  return static_cast<std::int64_t>(fit * load.weight_fit + balanced * load.weight_balanced);
}

}  // namespace berth
