// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_rows.h"

#include <algorithm>

namespace berth {
namespace {

/// Bytes of a row: heaps of at most twice the live nodes, group and liveness of each node, and at most its own cells.
constexpr std::uint64_t kBytesPerNode = 2 * sizeof(NodeGroups::Entry) + 4 + 1 + 4;

std::vector<std::uint8_t> accepted_by(const NodeSideRow& node_side, std::int32_t slot_count) {
  std::vector<std::uint8_t> accepted(static_cast<std::size_t>(slot_count), 1);
  for (std::size_t i = 0; i < node_side.refusal_of.size(); ++i)
    accepted[i] = node_side.refusal_of[i] == NodeSideRow::kAccepted ? 1 : 0;
  return accepted;
}

}  // namespace

GroupedRow& GroupedRows::find(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot) {
  auto at = rows_.find(pod_class);
  if (at == rows_.end()) {
    make_room(snapshot.slot_count());
    weights_.grow(static_cast<std::size_t>(snapshot.slot_count()) + kGuestsMax);
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

GroupedRow* GroupedRows::find_existing(std::int32_t pod_class) {
  const auto at = rows_.find(pod_class);
  return at == rows_.end() ? nullptr : &at->second;
}

/// Cells depend on the node side by the nodes that it accepts and their raw scores alone, so that most classes share
/// them: the rest of a node side is images.
std::shared_ptr<const NodeCells> GroupedRows::cells_for(const CellColumns& columns, const NodeSideRow& node_side,
                                                        const Snapshot& snapshot) {
  KnownCells wanted{{}, accepted_by(node_side, snapshot.slot_count()), nullptr, node_side.accepted_maxima};
  if (node_side.raws_vary) wanted.node_side = &node_side;
  const auto [first, last] = cells_.equal_range(columns);
  for (auto at = first; at != last; ++at) {
    const KnownCells& known = at->second;
    if (known.node_side != wanted.node_side || known.raws != wanted.raws || known.accepted != wanted.accepted) continue;
    if (auto cells = known.cells.lock()) return cells;
  }
  auto cells = std::make_shared<const NodeCells>(make_cells(columns, node_side, snapshot));
  wanted.cells = cells;
  std::erase_if(cells_, [](const auto& entry) { return entry.second.cells.expired(); });
  cells_.emplace(columns, std::move(wanted));
  return cells;
}

void GroupedRows::make_room(std::int32_t node_count) {
  const std::uint64_t rows_max = bytes_max_ / (kBytesPerNode * static_cast<std::uint64_t>(std::max(node_count, 1)));
  if (rows_.empty() || rows_.size() < rows_max) return;
  while (!rows_.empty() && rows_.size() >= rows_max)
    rows_.erase(std::min_element(rows_.begin(), rows_.end(),
                                 [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  std::erase_if(cells_, [](const auto& entry) { return entry.second.cells.expired(); });
}

void GroupedRows::clear() {
  rows_.clear();
  cells_.clear();
}

std::uint64_t GroupedRows::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [pod_class, row] : rows_) bytes += row.bytes();
  for (const auto& [columns, known] : cells_)
    if (const auto cells = known.cells.lock()) bytes += cells->bytes() + known.accepted.size();
  return bytes;
}

}  // namespace berth
