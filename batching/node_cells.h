// SPDX-License-Identifier: Apache-2.0
#pragma once

// What never changes of the nodes, as far as groups are made of it: shared by the classes that ask the same keys.

#include <compare>
#include <cstdint>
#include <vector>

#include "batching/index_set.h"
#include "batching/node_side_row.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Which columns of TopologyCounts cells are made of.
struct CellColumns {
  std::vector<std::int32_t> coarse;       ///< nodes are told apart by their domains
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

NodeCells make_cells(const CellColumns& columns, const NodeSideRow& node_side, const Snapshot& snapshot);

}  // namespace berth
