// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the copies of a pod do to each other through topology terms, and how many find a node all the same, where that
// does not depend on the order in which nodes are chosen: docs/decisions/0013-counting-copies.md.

#include <cstdint>
#include <span>
#include <vector>

#include "batching/topology_program.h"
#include "host/cluster/topology_counts.h"

namespace berth {

/// What a placed copy changes for the next one.
struct CopyInterplay {
  enum class Kind : std::uint8_t {
    kNone,        ///< nothing, or nothing any more
    kApart,       ///< it closes its domain of `apart_column` to the next one
    kSpread,      ///< it moves the skew of `spread`, the only hard constraint, and may be kApart on nodes as well
    kAfterFirst,  ///< the first one decides where the others may be
    kAny,         ///< anything else: the order matters, or may
  };
  Kind kind = Kind::kNone;
  std::int32_t apart_column = -1;  ///< of kApart and kSpread; -1: they do not keep apart
  const HardSpread* spread = nullptr;
  std::int64_t spread_amount = 0;  ///< by which a copy raises the count of its domain
};

/// @param moves  what a placed pod of the class changes
CopyInterplay interplay_of(const TopologyProgram& program, std::span<const CountMove> moves,
                           const TopologyCounts& counts);

/// How many copies find a node under the skew of the only hard constraint.
/// @param room  [domain] copies that the nodes of the domain take if it were not for the constraint, nodes that count
///     in its table; becomes the copies that the domain gets
std::int64_t copies_under_skew(const HardSpread& spread, std::int64_t amount, std::span<std::int64_t> room,
                               const TopologyCounts& counts);

}  // namespace berth
