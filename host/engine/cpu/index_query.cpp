// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/index_query.h"

#include <bit>

#include "batching/node_draw.h"
#include "batching/node_filter.h"

namespace berth {

bool IndexQuery::fits(std::int32_t node) const {
  if (side_total(node) < 0 || refused->contains(node)) return false;
  return index->is_odd(node) ? load_accepts(*pod_class, *profile, *snapshot, node) : has_room(node);
}

NodeKey IndexQuery::key_on(std::int32_t node, std::int64_t topology_total) const {
  const std::int64_t total = load_total(*pod_class, *profile, *snapshot, node) + side_total(node) + topology_total;
  return make_node_key(total, node_draw(profile->draw, *snapshot, node).bits);
}

void ListedByBound::add(std::int32_t node, std::int64_t topology_total) {
  if (query_.index->is_odd(node)) {
    best_.add(query_.key_on(node, topology_total), node, query_.snapshot->node_order());
    return;
  }
  nodes_[count_] = node;
  bases_[count_] = query_.side_total(node) + static_cast<std::int32_t>(topology_total);
  if (++count_ == nodes_.size()) finish();
}

void ListedByBound::finish() {
  if (count_ == 0) return;
  const std::span<const std::int32_t> nodes(nodes_.data(), count_);
  std::array<NodeKey, kBoxLanes> bounds;
  std::uint32_t lanes = search_.reaching(nodes, {bases_.data(), count_}, best_.key, bounds);
  while (lanes != 0) {
    // The best one first, so that most others need not be evaluated.
    auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
    for (std::uint32_t left = lanes; left != 0; left &= left - 1)
      if (const auto other = static_cast<std::size_t>(std::countr_zero(left)); bounds[other] > bounds[lane])
        lane = other;
    if (bounds[lane] < best_.key) break;
    lanes &= ~(1u << lane);
    const std::int64_t topology_total = bases_[lane] - query_.side_total(nodes[lane]);
    best_.add(query_.key_on(nodes[lane], topology_total), nodes[lane], query_.snapshot->node_order());
  }
  count_ = 0;
}

}  // namespace berth
