// SPDX-License-Identifier: Apache-2.0
#pragma once

// One class on one node: the key in a row. The rules are those of batching/load_rules.h and plugins/*/rule.h.

#include "batching/device/views.h"
#include "batching/load_rules.h"
#include "batching/topology_rules.h"
#include "host/cluster/resource_columns.h"
#include "host/framework/draw_bits.h"

namespace berth {

/// One node of the columns, as batching/load_rules.h reads it.
struct DeviceNode {
  const DeviceColumns& columns;
  std::int32_t node;
  /// Copies of a pod that are not in the columns yet, and the amounts of one.
  std::int64_t copies = 0;
  const DeviceRequest* delta = nullptr;
  std::int32_t delta_count = 0;
  std::int64_t delta_milli_cpu = 0;
  std::int64_t delta_memory_bytes = 0;

  BERTH_HD std::int64_t at(const std::int64_t* matrix, std::int32_t column) const {
    return matrix[column * columns.stride + node];
  }
  BERTH_HD std::int64_t added(std::int32_t column) const {
    for (std::int32_t r = 0; r < delta_count; ++r)
      if (delta[r].column == column) return multiply(copies, delta[r].amount);
    return 0;
  }
  BERTH_HD std::int64_t allocatable(std::int32_t column) const {
    return column < 0 ? 0 : at(columns.allocatable, column);
  }
  BERTH_HD std::int64_t requested(std::int32_t column) const {
    return column < 0 ? 0 : add_wrapping(at(columns.requested, column), added(column));
  }
  BERTH_HD std::int64_t fit_requested(std::int32_t column) const {
    if (column == kCpuColumn) return add_wrapping(columns.non_zero_milli_cpu[node], multiply(copies, delta_milli_cpu));
    if (column == kMemoryColumn)
      return add_wrapping(columns.non_zero_memory_bytes[node], multiply(copies, delta_memory_bytes));
    return requested(column);
  }
  BERTH_HD std::int64_t pod_count() const { return columns.pod_count[node] + copies; }
};

struct DeviceRequests {
  const DeviceRequest* requests;
  std::int32_t count;
  BERTH_HD std::int32_t size() const { return count; }
  BERTH_HD std::int32_t column(std::int32_t r) const { return requests[r].column; }
  BERTH_HD std::int64_t amount(std::int32_t r) const { return requests[r].amount; }
  BERTH_HD std::int64_t weight(std::int32_t r) const { return requests[r].weight; }
};

BERTH_HD DeviceRequests requests_of(const DeviceClasses& classes, const DeviceList& list) {
  return {classes.requests + list.first, list.count};
}

/// The node with so many copies of the class beside what the columns hold.
BERTH_HD DeviceNode with_copies(const DeviceState& state, std::int32_t node, const DeviceClass& pod_class,
                                std::int64_t copies) {
  return {state.columns,
          node,
          copies,
          state.classes.requests + pod_class.delta.first,
          pod_class.delta.count,
          pod_class.delta_milli_cpu,
          pod_class.delta_memory_bytes};
}

/// The verdict of NodeResourcesFit and NodePorts, which read the load.
BERTH_HD bool load_accepts(const DeviceClasses& classes, const DeviceClass& pod_class, const DeviceNode& node) {
  const DeviceProfile& profile = classes.profiles[pod_class.profile];
  const DeviceColumns& columns = node.columns;
  if (profile.checks_fit && NodeResourcesFit::too_many_pods(node.pod_count(), columns.allowed_pods[node.node]))
    return false;
  if (profile.checks_ports && pod_class.port_set >= 0 &&
      columns.port_taken[pod_class.port_set * columns.stride + node.node] != 0)
    return false;
  return !profile.checks_fit || !is_any_short(requests_of(classes, pod_class.filter), node);
}

// The scores that read the load; 0 where the rule does not score the class.

BERTH_HD std::int64_t fit_score(const DeviceClasses& classes, const DeviceClass& pod_class, const DeviceNode& node) {
  const DeviceProfile& profile = classes.profiles[pod_class.profile];
  if (profile.weight_fit == 0) return 0;
  return fit_score_of(profile.strategy, profile.score_of_utilization, requests_of(classes, pod_class.fit), node);
}

BERTH_HD std::int64_t balanced_score(const DeviceClasses& classes, const DeviceClass& pod_class,
                                     const DeviceNode& node) {
  const DeviceProfile& profile = classes.profiles[pod_class.profile];
  if (profile.weight_balanced == 0 || pod_class.balanced_skips) return 0;
  double fractions[kDeviceResourcesMax];
  bool counts[kDeviceResourcesMax];
  const DeviceRequests requests = requests_of(classes, pod_class.balanced);
  double balanced = balanced_score_of(requests, node, true, fractions, counts);
  if (profile.balance_of_change)
    balanced = NodeResourcesBalancedAllocation::score_of_change(
        balanced, balanced_score_of(requests, node, false, fractions, counts));
  return static_cast<std::int64_t>(balanced);
}

/// Weighted sum of both.
BERTH_HD std::int64_t load_total(const DeviceClasses& classes, const DeviceClass& pod_class, const DeviceNode& node) {
  const DeviceProfile& profile = classes.profiles[pod_class.profile];
  return profile.weight_fit * fit_score(classes, pod_class, node) +
         profile.weight_balanced * balanced_score(classes, pod_class, node);
}

/// The anti-affinity terms that are part of a node's key (DeviceRead::kFoldedIn), as batching/topology_rules.h reads
/// them. The others do not refuse here.
class FoldedInTerms {
 public:
  BERTH_HD FoldedInTerms(const DeviceState& state, const DeviceClass& pod_class, std::int32_t node)
      : state_(state), pod_class_(pod_class), node_(node) {}
  BERTH_HD std::int32_t anti_size() const { return pod_class_.anti.count; }
  BERTH_HD std::int64_t anti_count(std::int32_t t) const { return count(pod_class_.anti.first + t); }
  BERTH_HD std::int32_t existing_anti_size() const { return pod_class_.existing_anti.count; }
  BERTH_HD std::int64_t existing_anti_count(std::int32_t t) const { return count(pod_class_.existing_anti.first + t); }

 private:
  BERTH_HD std::int64_t count(std::int32_t read_index) const {
    const DeviceRead& read = state_.classes.reads[read_index];
    if (read.attribute != DeviceRead::kFoldedIn) return 0;
    const DeviceTable& table = state_.counts.tables[read.table];
    return state_.counts.counts[table.first + state_.counts.domain_of[table.column * state_.counts.stride + node_]];
  }

  const DeviceState& state_;
  const DeviceClass& pod_class_;
  std::int32_t node_;
};

/// The counter that a pod on the node changes; null where the node lies in no domain or does not count.
BERTH_HD std::int64_t* moved_count(const DeviceCounts& counts, const DeviceMove& move, std::int32_t node) {
  const DeviceTable& table = counts.tables[move.table];
  const std::int32_t domain = counts.domain_of[table.column * counts.stride + node];
  if (domain == 0 || (table.mask >= 0 && counts.masks[table.mask * counts.stride + node] == 0)) return nullptr;
  return counts.counts + table.first + domain;
}

/// What the node with its copies brings to a draw.
BERTH_HD NodeDraw node_draw_on(const DrawRule& rule, const DeviceNode& node) {
  DrawAmounts offered;
  DrawAmounts in_use{0, 0, node.pod_count()};
  if (reads_load(rule.order)) {
    offered = {node.allocatable(kCpuColumn), node.allocatable(kMemoryColumn), node.columns.allowed_pods[node.node]};
    in_use.milli_cpu = node.fit_requested(kCpuColumn);
    in_use.memory_bytes = node.fit_requested(kMemoryColumn);
  }
  const bool by_order = rule.order == DrawOrder::kNodeOrder;
  const std::uint64_t name_hash = by_order ? 0 : node.columns.name_hash[node.node];
  const std::uint32_t rank = by_order ? node.columns.rank[node.node] : 0;
  return NodeDraws(rule, name_hash, rank, offered).with(in_use);
}

/// The draw of the class on the node with its copies.
BERTH_HD Draw draw_on(const DeviceClasses& classes, const DeviceClass& pod_class, const DeviceNode& node) {
  const DrawRule& rule = classes.profiles[pod_class.profile].draw;
  return draw_of_class(rule.order, node_draw_on(rule, node), pod_class.draw_seed);
}

/// The anti-affinity terms that are part of a node's key accept it.
BERTH_HD bool folded_in_terms_accept(const DeviceState& state, const DeviceClass& pod_class, std::int32_t node) {
  return !pod_class.has_topology ||
         anti_affinity_verdict(FoldedInTerms(state, pod_class, node)) == AffinityVerdict::kAccepted;
}

/// The node with its copies, for the classes whose draws are by `rule`.
BERTH_HD UsualNode usual_node(const DeviceNode& read, const DrawRule& rule) {
  UsualNode usual;
  bool exact = true;
  const auto offer = [&](std::int32_t column) {
    const std::int64_t allocatable = read.allocatable(column);
    const std::int64_t requested = read.requested(column);
    const std::int64_t in_use = read.fit_requested(column);
    exact = exact && allocatable != 0 && is_exact_amount(allocatable) && is_exact_amount(requested) &&
            is_exact_amount(in_use);
    return UsualOffer{LaneDivisor(static_cast<double>(allocatable)), static_cast<double>(requested),
                      static_cast<double>(in_use)};
  };
  usual.cpu = offer(kCpuColumn);
  usual.memory = offer(kMemoryColumn);
  usual.applies = exact;
  usual.has_room = !NodeResourcesFit::too_many_pods(read.pod_count(), read.columns.allowed_pods[read.node]);
  usual.draw = node_draw_on(rule, read);
  return usual;
}

/// The key of the class on a node with its copies, without normalised scores and topology terms by domain: any amounts
/// and resources.
/// @param base  DeviceLayout::base of the node; below 0: refused by the node's object
BERTH_HD_APART NodeKey evaluate_any_node(const DeviceState& state, const DeviceClass& pod_class, std::int32_t base,
                                         const DeviceNode& read) {
  if (base < 0 || !load_accepts(state.classes, pod_class, read)) return 0;
  if (!folded_in_terms_accept(state, pod_class, read.node)) return 0;
  return make_node_key(base + load_total(state.classes, pod_class, read), draw_on(state.classes, pod_class, read));
}

/// What a class that asks for nothing else than cpu and memory gets on a node that is read as UsualNode.
BERTH_HD NodeKey evaluate_usual_node(const UsualLoad& load, DrawOrder order, std::uint32_t draw_seed, std::int32_t base,
                                     const UsualNode& usual) {
  if (base < 0 || !usual.has_room || is_usual_short(load, usual)) return 0;
  return make_node_key(base + usual_load_total(load, usual), draw_of_class(order, usual.draw, draw_seed));
}
/// Nothing but cpu and memory, the node's object and its number of pods refuses the class, and nothing else scores a
/// node.
BERTH_HD bool asks_usual_only(const DeviceClasses& classes, const DeviceClass& pod_class) {
  const bool has_ports = pod_class.port_set >= 0 && classes.profiles[pod_class.profile].checks_ports;
  return pod_class.usual.applies && !has_ports && pod_class.filter_beside.count == 0 && !pod_class.has_topology;
}

/// The same for a node that was read before. Host ports and topology counts are those of the columns, without the
/// copies. @param usual  usual_node() of `read` by the draw rule of the class's profile
BERTH_HD NodeKey evaluate_node(const DeviceState& state, const DeviceClass& pod_class, std::int32_t base,
                               const DeviceNode& read, const UsualNode& usual) {
  if (!pod_class.usual.applies || !usual.applies) return evaluate_any_node(state, pod_class, base, read);
  const DeviceColumns& columns = state.columns;
  if (pod_class.port_set >= 0 && state.classes.profiles[pod_class.profile].checks_ports &&
      columns.port_taken[pod_class.port_set * columns.stride + read.node] != 0)
    return 0;
  if (pod_class.filter_beside.count > 0 && is_any_short(requests_of(state.classes, pod_class.filter_beside), read))
    return 0;
  if (!folded_in_terms_accept(state, pod_class, read.node)) return 0;
  return evaluate_usual_node(pod_class.usual, state.classes.profiles[pod_class.profile].draw.order, pod_class.draw_seed,
                             base, usual);
}

/// The same.
BERTH_HD NodeKey evaluate_node(const DeviceState& state, const DeviceClass& pod_class, std::int32_t base,
                               const DeviceNode& read) {
  if (!pod_class.usual.applies) return evaluate_any_node(state, pod_class, base, read);
  return evaluate_node(state, pod_class, base, read, usual_node(read, state.classes.profiles[pod_class.profile].draw));
}

}  // namespace berth
