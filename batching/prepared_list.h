// SPDX-License-Identifier: Apache-2.0
#pragma once

// A list of victims as dry runs read it.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// What a pod takes of its node.
struct Footprint {
  ResourceDelta delta;  ///< of the requested amounts, which alone are read by Filter
  std::vector<HostPort> ports;

  /// Requested of one resource column.
  std::int64_t amount(std::int32_t column) const {
    for (const auto& [c, amount] : delta.requested)
      if (c == column) return amount;
    return 0;
  }
};

/// Victims of one template share their footprint, and those that change the same topology tables their kind.
struct PreparedList {
  std::uint64_t version = 0;  ///< VictimList::version
  std::uint64_t used_at = 0;  ///< number of the call
  bool has_kinds = false;
  std::vector<std::uint32_t> footprints;  ///< [victim]
  std::vector<std::uint32_t> kinds;       ///< [victim], if has_kinds
  std::vector<std::uint64_t> violating;   ///< 64 victims a word: which of them violate a budget
  Footprint all;                          ///< of all victims together
  /// [victim x all.delta.requested] their amounts side by side, so that reprieving them visits no footprint.
  std::vector<std::int64_t> amounts;
  /// No amount is negative, and no sum of some of them is kExactInLanes or more.
  bool is_exact_in_lanes = false;

  static constexpr std::size_t kNoVictimRequests = SIZE_MAX;
  std::size_t count() const { return footprints.size(); }
  /// Position of the column within a victim's amounts.
  std::size_t index_of(std::int32_t column) const {
    for (std::size_t i = 0; i < all.delta.requested.size(); ++i)
      if (all.delta.requested[i].first == column) return i;
    return kNoVictimRequests;
  }
};

}  // namespace berth
