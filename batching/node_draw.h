// SPDX-License-Identifier: Apache-2.0
#pragma once

// The draw of a class on a node of a snapshot; its bits are those of host/framework/draw_bits.h.

#include <cstdint>

#include "host/cluster/snapshot.h"
#include "host/framework/draw_bits.h"

namespace berth {

/// What the node brings to draws with `pods_on_node` pods on it.
inline std::uint32_t node_draw_seed(const Snapshot& snapshot, std::int32_t node, std::int64_t pods_on_node) {
  return node_draw_seed(snapshot.node_hash(node), static_cast<std::uint32_t>(pods_on_node));
}
/// The same with the pods that it has.
inline std::uint32_t node_draw_seed(const Snapshot& snapshot, std::int32_t node) {
  return node_draw_seed(snapshot, node, snapshot.pod_count(node));
}

}  // namespace berth
