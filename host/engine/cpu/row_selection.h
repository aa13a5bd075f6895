// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selection from a row that leaves nodes out and lets others join: nodes whose state differs from what the row knows.
// The row is only read, so that many selections may run at once.

#include <cstdint>
#include <optional>
#include <span>

#include "batching/excluded_nodes.h"
#include "batching/node_key.h"
#include "batching/node_side_row.h"
#include "batching/selection.h"
#include "host/engine/cpu/row_tile.h"

namespace berth {

/// A feasible node that was filtered outside a row, because its state is not the one that the row knows.
struct ExtraNode {
  std::int32_t node = 0;
  /// Total without the scores that are normalised, and the draw: those of load_total() and NodeSideRow::fixed_total().
  NodeKey key = 0;
  RawScores raws;  ///< of the node side
};

/// The same for a class with a topology program. @tparam Place  a node of batching/topology_rules.h, which accept it
template <class Place>
struct ExtraPlace : ExtraNode {
  Place topology;
};

/// The node of the highest key for a class without a topology program, among the row's nodes outside a set and the
/// extra ones. The totals of the row hold while the largest raw scores are those of the row.
/// @param order  of all nodes, for equal keys
/// @param extras  outside the row, or members of `excluded`; their feasibility is the caller's
/// @return nullopt: the largest raw scores differ from RowTile::maxima(), so that the nodes must be listed
std::optional<Selection> select_in_row(const RowTile& tile, int slot, const Snapshot& snapshot, NodeOrder order,
                                       const ExcludedNodes& excluded, std::span<const ExtraNode> extras);

}  // namespace berth
