// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// What feasible nodes are compared by: total, then draw; 0 stands for "not feasible". The lowest node wins among
/// equals.
using NodeKey = std::int64_t;
BERTH_HD constexpr NodeKey make_node_key(std::int64_t total, std::uint32_t draw) {
  return (total << 32) | static_cast<std::int64_t>(draw);
}
BERTH_HD constexpr std::int64_t total_of(NodeKey key) { return key >> 32; }
BERTH_HD constexpr std::uint32_t draw_of(NodeKey key) { return static_cast<std::uint32_t>(key); }

}  // namespace berth
