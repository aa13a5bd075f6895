// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/cell_places.h"

#include <algorithm>
#include <utility>

namespace berth {

CellPlaces::CellPlaces(NodeCells cells, const DeviceTuning& tuning)
    : cells_(std::move(cells.cells)), cell_of_(std::move(cells.cell_of)), position_of_(cell_of_.size(), -1) {
  const auto nodes = static_cast<std::int32_t>(cell_of_.size());
  std::vector<std::int32_t> sizes(cells_.size(), 0);
  for (const std::int32_t cell : cell_of_)
    if (cell >= 0) ++sizes[static_cast<std::size_t>(cell)];
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    number_of_.emplace(cells_[c], static_cast<std::int32_t>(c));
    add_room(std::min(nodes, sizes[c] + tuning.spare_places(sizes[c])), sizes[c]);
  }
  for (std::int32_t s = 0; s < tuning.spare_cells; ++s) {
    free_cells_.push_back(static_cast<std::int32_t>(cells_.size()));
    cells_.emplace_back();
    cells_.back().domains.resize(cells_.front().domains.size());
    add_room(std::min(nodes, tuning.spare_cell_places(nodes)), 0);
  }
  std::vector<std::int32_t> next;
  next.reserve(rooms_.size());
  for (const Room& room : rooms_) next.push_back(room.begin);
  for (std::size_t node = 0; node < cell_of_.size(); ++node)
    if (cell_of_[node] >= 0) position_of_[node] = next[static_cast<std::size_t>(cell_of_[node])]++;
}

void CellPlaces::add_room(std::int32_t size, std::int32_t node_count) {
  Room room;
  room.begin = rooms_.empty() ? 0 : rooms_.back().begin + rooms_.back().size;
  room.size = size;
  room.node_count = node_count;
  for (std::int32_t position = room.begin + size; position-- > room.begin + node_count;) room.free.push_back(position);
  rooms_.push_back(std::move(room));
}

std::vector<std::int32_t> CellPlaces::node_at() const {
  std::vector<std::int32_t> nodes(static_cast<std::size_t>(rooms_.back().begin + rooms_.back().size), -1);
  for (std::size_t node = 0; node < position_of_.size(); ++node)
    if (position_of_[node] >= 0) nodes[static_cast<std::size_t>(position_of_[node])] = static_cast<std::int32_t>(node);
  return nodes;
}

bool CellPlaces::is_in(std::int32_t node, const NodeCells::Cell& cell) const {
  const auto at = number_of_.find(cell);
  return at != number_of_.end() && at->second == cell_of_[static_cast<std::size_t>(node)];
}

std::optional<CellPlaces::Move> CellPlaces::move(std::int32_t node, const NodeCells::Cell& cell) {
  const auto n = static_cast<std::size_t>(node);
  const auto known = number_of_.find(cell);
  Move move;
  move.is_new_cell = known == number_of_.end();
  if (move.is_new_cell && free_cells_.empty()) return std::nullopt;
  move.cell = move.is_new_cell ? free_cells_.back() : known->second;
  Room& room = rooms_[static_cast<std::size_t>(move.cell)];
  if (room.free.empty()) return std::nullopt;
  if (move.is_new_cell) {
    free_cells_.pop_back();
    number_of_.emplace(cell, move.cell);
    cells_[static_cast<std::size_t>(move.cell)] = cell;
  }
  move.from = position_of_[n];
  move.to = room.free.back();
  room.free.pop_back();
  ++room.node_count;
  if (move.from >= 0) leave(node);
  cell_of_[n] = move.cell;
  position_of_[n] = move.to;
  return move;
}

void CellPlaces::leave(std::int32_t node) {
  const auto n = static_cast<std::size_t>(node);
  const std::int32_t cell = cell_of_[n];
  Room& room = rooms_[static_cast<std::size_t>(cell)];
  room.free.push_back(position_of_[n]);
  if (--room.node_count > 0) return;
  number_of_.erase(cells_[static_cast<std::size_t>(cell)]);
  free_cells_.push_back(cell);
}

}  // namespace berth
