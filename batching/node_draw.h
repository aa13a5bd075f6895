// SPDX-License-Identifier: Apache-2.0
#pragma once

// The draws on the nodes of a snapshot; their bits are those of host/framework/draw_bits.h.

#include <cstdint>

#include "host/cluster/snapshot.h"
#include "host/framework/draw_bits.h"
#include "plugins/rule.h"

namespace berth {

/// Position in node order, by which nodes of equal keys are ranked: the first one wins.
inline std::uint32_t node_rank(const Snapshot& snapshot, std::int32_t node) {
  return static_cast<std::uint32_t>(snapshot.rank(node));
}

/// What the node offers.
inline DrawAmounts offered_amounts(const Snapshot& snapshot, std::int32_t node) {
  return {snapshot.allocatable(kCpuColumn, node), snapshot.allocatable(kMemoryColumn, node),
          snapshot.allowed_pods(node)};
}

/// @param offered  offered_amounts() of the node; read where reads_load(rule.order)
inline NodeDraws node_draws(const DrawRule& rule, const Snapshot& snapshot, std::int32_t node,
                            const DrawAmounts& offered) {
  const bool by_rank = rule.order == DrawOrder::kNodeOrder;
  return {rule, snapshot.node_hash(node), by_rank ? node_rank(snapshot, node) : 0, offered};
}
inline NodeDraws node_draws(const DrawRule& rule, const Snapshot& snapshot, std::int32_t node) {
  return node_draws(rule, snapshot, node, reads_load(rule.order) ? offered_amounts(snapshot, node) : DrawAmounts());
}

/// What runs on the node.
inline DrawAmounts draw_amounts(const Snapshot& snapshot, std::int32_t node) {
  const NodeUse& use = snapshot.use(node);
  return {use.non_zero_milli_cpu, use.non_zero_memory_bytes, use.pod_count};
}
/// The same with one pod more, which adds `delta`. Sums wrap as in the snapshot.
inline DrawAmounts with_another(const DrawAmounts& amounts, const ResourceDelta& delta) {
  return {add_wrapping(amounts.milli_cpu, delta.non_zero_milli_cpu),
          add_wrapping(amounts.memory_bytes, delta.non_zero_memory_bytes), amounts.pods + 1};
}

/// The draw on the node as it is.
inline NodeDraw node_draw(const DrawRule& rule, const Snapshot& snapshot, std::int32_t node) {
  return node_draws(rule, snapshot, node).with(draw_amounts(snapshot, node));
}

}  // namespace berth
