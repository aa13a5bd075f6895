// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_rows.h"

#include <algorithm>

namespace berth {
namespace {

/// Bytes of a row: heaps of at most twice the live nodes, group and liveness of each node, and at most its own cells.
constexpr std::uint64_t kBytesPerNode = 2 * sizeof(NodeGroups::Entry) + 4 + 1 + 4;

}  // namespace

GroupedRow& GroupedRows::find(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot) {
  auto at = rows_.find(pod_class);
  if (at == rows_.end()) {
    make_room(snapshot.slot_count());
    weights_.grow(static_cast<std::size_t>(snapshot.slot_count()));
    const CompiledProfile& profile = table.profile_of(pod_class);
    const NodeSideRow& node_side = table.node_side(pod_class);
    at = rows_
             .try_emplace(pod_class, table[pod_class], profile, node_side, snapshot.topology(), coarse_domains_max_,
                          weights_)
             .first;
    at->second.set_cells(cells_for(at->second.cell_columns(), node_side, snapshot));
  }
  at->second.last_used = ++clock_;
  return at->second;
}

const GroupedRow* GroupedRows::find_existing(std::int32_t pod_class) const {
  const auto at = rows_.find(pod_class);
  return at == rows_.end() ? nullptr : &at->second;
}

std::shared_ptr<const NodeCells> GroupedRows::cells_for(const CellColumns& columns, const NodeSideRow& node_side,
                                                        const Snapshot& snapshot) {
  std::weak_ptr<const NodeCells>& known = cells_[{&node_side, columns}];
  if (auto cells = known.lock()) return cells;
  auto cells = std::make_shared<const NodeCells>(make_cells(columns, node_side, snapshot));
  known = cells;
  return cells;
}

void GroupedRows::make_room(std::int32_t node_count) {
  const std::uint64_t rows_max = bytes_max_ / (kBytesPerNode * static_cast<std::uint64_t>(std::max(node_count, 1)));
  if (rows_.empty() || rows_.size() < rows_max) return;
  while (!rows_.empty() && rows_.size() >= rows_max)
    rows_.erase(std::min_element(rows_.begin(), rows_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  std::erase_if(cells_, [](const auto& entry) { return entry.second.expired(); });
}

void GroupedRows::clear() {
  rows_.clear();
  cells_.clear();
}

std::uint64_t GroupedRows::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [pod_class, row] : rows_) bytes += row.bytes();
  for (const auto& [columns, known] : cells_)
    if (const auto cells = known.lock()) bytes += cells->bytes();
  return bytes;
}

}  // namespace berth
