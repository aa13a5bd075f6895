// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of grouping that placements do not change, shared by the classes with the same topology keys.

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "batching/index_set.h"
#include "batching/node_side_row.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// The columns of TopologyCounts that define cells.
struct CellColumns {
  std::vector<std::int32_t> coarse;       ///< nodes of different domains are in different cells
  std::vector<std::int32_t> required;     ///< a node without a domain in one of them is in no cell
  std::vector<std::int32_t> soft_labels;  ///< one per soft constraint
  bool ignores_incomplete = false;        ///< TopologyProgram::ignores_incomplete
  friend auto operator<=>(const CellColumns&, const CellColumns&) = default;
};

struct NodeCells {
  /// Nodes of one cell are equal in all of this.
  struct Cell {
    IndexSet soft_labels;               ///< soft constraints whose label the node has
    RawScores raws;                     ///< of the node side
    std::vector<std::int32_t> domains;  ///< of each coarse column
    bool ignored = false;               ///< by the scores of PodTopologySpread; follows from soft_labels
    friend auto operator<=>(const Cell&, const Cell&) = default;
  };
  std::vector<Cell> cells;
  std::vector<std::int32_t> cell_of;  ///< [node] -1: refused by its object, or without a key that the class requires

  std::uint64_t bytes() const;
};

/// The cell of one node that the node side accepts, with these raw scores. nullopt: it is in no cell.
std::optional<NodeCells::Cell> cell_of_node(const CellColumns& columns, const RawScores& raws,
                                            const TopologyCounts& counts, std::int32_t node);

NodeCells make_cells(const CellColumns& columns, const NodeSideRow& node_side, const Snapshot& snapshot);

}  // namespace berth
