// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// The order of feasible nodes: by total, then by draw; 0 means "not feasible". Among equal keys the lowest node wins.
using NodeKey = std::int64_t;
BERTH_HD constexpr NodeKey make_node_key(std::int64_t total, std::uint32_t draw) {
  return (total << 32) | static_cast<std::int64_t>(draw);
}
BERTH_HD constexpr std::int64_t total_of(NodeKey key) { return key >> 32; }
BERTH_HD constexpr std::uint32_t draw_of(NodeKey key) { return static_cast<std::uint32_t>(key); }

}  // namespace berth
