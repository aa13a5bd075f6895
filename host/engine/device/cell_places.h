// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "batching/node_cells.h"
#include "host/engine/device/device_tuning.h"

namespace berth {

/// The cells of a layout with the position of each node, and room for nodes that change: free positions in each cell,
/// and cells without a node.
class CellPlaces {
 public:
  CellPlaces(NodeCells cells, const DeviceTuning& tuning);

  /// Free ones included.
  std::int32_t cell_count() const { return static_cast<std::int32_t>(cells_.size()); }
  /// Positions of a cell, free ones included.
  std::int32_t room(std::int32_t cell) const { return rooms_[static_cast<std::size_t>(cell)].size; }
  /// What its nodes have in common; of a free cell nothing that is ever read.
  const NodeCells::Cell& cell(std::int32_t cell) const { return cells_[static_cast<std::size_t>(cell)]; }
  /// All nodes that are in a cell are in the same one.
  bool is_one() const { return number_of_.size() == 1; }
  const std::vector<std::int32_t>& cell_of() const { return cell_of_; }          ///< [node] -1: in no cell
  const std::vector<std::int32_t>& position_of() const { return position_of_; }  ///< [node] likewise
  /// [position] -1: free
  std::vector<std::int32_t> node_at() const;

  struct Move {
    std::int32_t from = -1;    ///< position that is free now; -1: the node was in no cell
    std::int32_t to = -1;      ///< position of the node
    std::int32_t cell = -1;    ///< of that
    bool is_new_cell = false;  ///< it was free
  };
  /// Whether the node is in that cell already.
  bool is_in(std::int32_t node, const NodeCells::Cell& cell) const;
  /// Moves a node that is in another cell, or in none. @return nullopt, with nothing changed: there is no room
  std::optional<Move> move(std::int32_t node, const NodeCells::Cell& cell);

 private:
  struct Room {
    std::int32_t begin = 0;
    std::int32_t size = 0;
    std::int32_t node_count = 0;
    std::vector<std::int32_t> free;  ///< positions, the lowest last
  };
  void add_room(std::int32_t size, std::int32_t node_count);
  void leave(std::int32_t node);

  std::vector<NodeCells::Cell> cells_;
  std::map<NodeCells::Cell, std::int32_t> number_of_;  ///< of the cells with a node
  std::vector<Room> rooms_;
  std::vector<std::int32_t> free_cells_;
  std::vector<std::int32_t> cell_of_;
  std::vector<std::int32_t> position_of_;
};

}  // namespace berth
