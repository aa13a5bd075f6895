// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/framework/draw_bits.h"
#include "plugins/rule.h"

namespace berth {

/// The order of feasible nodes in one integer: by total, then by draw; 0 means "not feasible". Among equal keys the
/// first node in node order wins.
///
/// Signed, because AVX2 compares 64-bit integers with sign only: 15 bits are left for totals, which hold weights of up
/// to 327 together. Pods of profiles with more are placed from lists (CompiledProfile::has_keys).
using NodeKey = std::int64_t;
inline constexpr std::int64_t kHighestKeyTotal = (std::int64_t{1} << (63 - kDrawBits)) - 1;

/// @param total  0 to kHighestKeyTotal. With draw 0 also a difference of totals, which is added to a key
BERTH_HD constexpr NodeKey make_node_key(std::int64_t total, Draw draw) {
  return (total << kDrawBits) | static_cast<NodeKey>(draw);
}
BERTH_HD constexpr std::int64_t total_of(NodeKey key) { return key >> kDrawBits; }
BERTH_HD constexpr Draw draw_of(NodeKey key) { return static_cast<Draw>(key) & kHighestDraw; }

}  // namespace berth
