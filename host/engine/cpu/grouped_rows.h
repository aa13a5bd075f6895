// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/grouped_row.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// Keeps as many grouped rows as a byte limit allows. The least recently used is dropped first, and cells are dropped
/// with the last row that uses them.
class GroupedRows {
 public:
  GroupedRows(std::uint64_t bytes_max, std::int32_t coarse_domains_max)
      : bytes_max_(bytes_max), coarse_domains_max_(coarse_domains_max) {}

  /// The row of a class with a topology program. Valid until the next call.
  GroupedRow& find(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot);
  /// The same of a row that exists; null otherwise.
  const GroupedRow* find_existing(std::int32_t pod_class) const;
  GroupedRow* find_existing(std::int32_t pod_class);
  /// Call when node objects changed.
  void clear();
  /// Of the rows and their cells.
  std::uint64_t bytes() const;

 private:
  void make_room(std::int32_t node_count);
  std::shared_ptr<const NodeCells> cells_for(const CellColumns& columns, const NodeSideRow& node_side,
                                             const Snapshot& snapshot);

  std::uint64_t bytes_max_;
  std::int32_t coarse_domains_max_;
  DomainWeights weights_;  ///< one table for all rows
  std::unordered_map<std::int32_t, GroupedRow> rows_;
  /// Cells with what they were made of.
  struct KnownCells {
    std::weak_ptr<const NodeCells> cells;
    std::vector<std::uint8_t> accepted;  ///< [node] by the node side
    const NodeSideRow* node_side;        ///< null: accepted nodes have the same raw scores, which are these
    RawScores raws;
  };
  std::multimap<CellColumns, KnownCells> cells_;
  std::uint64_t clock_ = 0;
};

}  // namespace berth
