// SPDX-License-Identifier: Apache-2.0
#include "batching/node_cells.h"

#include <algorithm>
#include <map>

#include "batching/topology_rules.h"

namespace berth {
namespace {

/// The soft labels of a cell as batching/topology_rules.h reads them.
struct CellLabels {
  const CellColumns& columns;
  const IndexSet& labels;
  std::int32_t soft_size() const { return static_cast<std::int32_t>(columns.soft_labels.size()); }
  bool has_soft_label(std::int32_t s) const { return labels.contains(static_cast<std::size_t>(s)); }
};

NodeCells::Cell cell_at(const CellColumns& columns, const NodeSideRow& node_side, const Snapshot& snapshot,
                        std::int32_t node) {
  const TopologyCounts& counts = snapshot.topology();
  NodeCells::Cell cell;
  for (std::size_t s = 0; s < columns.soft_labels.size(); ++s)
    if (counts.column(columns.soft_labels[s])[node] != 0) cell.soft_labels.insert(s);
  cell.ignored = columns.ignores_incomplete && lacks_soft_label(CellLabels{columns, cell.soft_labels});
  cell.raws = node_side.raws(snapshot, node);
  for (const std::int32_t column : columns.coarse) cell.domains.push_back(counts.column(column)[node]);
  return cell;
}

}  // namespace

NodeCells make_cells(const CellColumns& columns, const NodeSideRow& node_side, const Snapshot& snapshot) {
  const TopologyCounts& counts = snapshot.topology();
  NodeCells made;
  made.cell_of.assign(static_cast<std::size_t>(snapshot.slot_count()), -1);
  std::map<NodeCells::Cell, std::int32_t> known;
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i) {
    const auto lacks = [&](std::int32_t column) { return counts.column(column)[i] == 0; };
    if (node_side.refusal(i) != NodeSideRow::kAccepted ||
        std::any_of(columns.required.begin(), columns.required.end(), lacks))
      continue;
    const auto [at, is_new] =
        known.try_emplace(cell_at(columns, node_side, snapshot, i), static_cast<std::int32_t>(made.cells.size()));
    if (is_new) made.cells.push_back(at->first);
    made.cell_of[static_cast<std::size_t>(i)] = at->second;
  }
  return made;
}

std::uint64_t NodeCells::bytes() const {
  std::uint64_t bytes = cell_of.size() * sizeof(std::int32_t);
  for (const Cell& cell : cells) bytes += sizeof(Cell) + cell.domains.size() * sizeof(std::int32_t);
  return bytes;
}

}  // namespace berth
