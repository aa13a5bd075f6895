// SPDX-License-Identifier: Apache-2.0
#include "batching/node_cells.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "batching/topology_rules.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// The soft labels of a cell as batching/topology_rules.h reads them.
struct CellLabels {
  const CellColumns& columns;
  const IndexSet& labels;
  std::int32_t soft_size() const { return static_cast<std::int32_t>(columns.soft_labels.size()); }
  bool has_soft_label(std::int32_t s) const { return labels.contains(static_cast<std::size_t>(s)); }
};

NodeCells::Cell cell_at(const CellColumns& columns, const RawScores& raws, const TopologyCounts& counts,
                        std::int32_t node) {
  NodeCells::Cell cell;
  for (std::size_t s = 0; s < columns.soft_labels.size(); ++s)
    if (counts.column(columns.soft_labels[s])[node] != 0) cell.soft_labels.insert(s);
  cell.ignored = columns.ignores_incomplete && lacks_soft_label(CellLabels{columns, cell.soft_labels});
  cell.raws = raws;
  for (const std::int32_t column : columns.coarse) cell.domains.push_back(counts.column(column)[node]);
  return cell;
}

/// Splits the nodes into ever smaller parts, by one value after another.
class Partition {
 public:
  /// @param part_of  [node] 0, or -1: in no part
  explicit Partition(std::vector<std::int32_t> part_of) : part_of_(std::move(part_of)) {}

  /// Nodes stay together whose values are equal. Parts are numbered in the order of their first nodes.
  /// @param value_of  value_of(node), 0 to `value_max`; called for nodes in a part
  template <class ValueOf>
  void split_by(std::size_t value_max, ValueOf value_of) {
    const std::size_t values = value_max + 1;
    if (values * part_count_ <= kTableShare * part_of_.size() + kTableSpare) {
      std::vector<std::int32_t> parts(values * part_count_, -1);
      split([&](std::size_t key) -> std::int32_t& { return parts[key]; }, values, value_of);
    } else {
      std::unordered_map<std::size_t, std::int32_t> parts;
      split([&](std::size_t key) -> std::int32_t& { return parts.try_emplace(key, -1).first->second; }, values,
            value_of);
    }
  }

  /// [node]
  std::vector<std::int32_t> take() { return std::move(part_of_); }

 private:
  static constexpr std::size_t kTableShare = 4;
  static constexpr std::size_t kTableSpare = 1024;

  template <class Parts, class ValueOf>
  void split(Parts part_with, std::size_t values, ValueOf value_of) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < part_of_.size(); ++i) {
      if (part_of_[i] < 0) continue;
      const std::size_t value = value_of(static_cast<std::int32_t>(i));
      std::int32_t& part = part_with(static_cast<std::size_t>(part_of_[i]) * values + value);
      if (part < 0) part = static_cast<std::int32_t>(count++);
      part_of_[i] = part;
    }
    part_count_ = count;
  }

  std::vector<std::int32_t> part_of_;
  std::size_t part_count_ = 1;
};

/// Splits by the raw scores, where they differ at all.
void split_by_raws(const NodeSideRow& node_side, const Snapshot& snapshot, Partition& partition) {
  if (!node_side.raws_vary) return;
  std::map<RawScores, std::size_t> numbers;
  const auto number = [&](std::int32_t node) {
    return numbers.try_emplace(node_side.raws(snapshot, node), numbers.size()).first->second;
  };
  partition.split_by(static_cast<std::size_t>(snapshot.slot_count()), number);
}

}  // namespace

std::optional<NodeCells::Cell> cell_of_node(const CellColumns& columns, const RawScores& raws,
                                            const TopologyCounts& counts, std::int32_t node) {
  const auto lacks = [&](std::int32_t column) { return counts.column(column)[node] == 0; };
  if (std::any_of(columns.required.begin(), columns.required.end(), lacks)) return std::nullopt;
  return cell_at(columns, raws, counts, node);
}

NodeCells make_cells(const CellColumns& columns, const NodeSideRow& node_side, const Snapshot& snapshot) {
  const TopologyCounts& counts = snapshot.topology();
  const auto node_count = static_cast<std::size_t>(snapshot.slot_count());
  std::vector<std::int32_t> part_of(node_count, 0);
  for (std::size_t i = 0; i < node_count; ++i)
    if (node_side.refusal(static_cast<std::int32_t>(i)) != NodeSideRow::kAccepted) part_of[i] = -1;
  for (const std::int32_t c : columns.required) {
    const std::int32_t* const domain_of = counts.column(c).domain_of.data();
    for (std::size_t i = 0; i < node_count; ++i) part_of[i] = domain_of[i] == 0 ? -1 : part_of[i];
  }
  Partition partition(std::move(part_of));
  for (const std::int32_t c : columns.coarse) {
    const DomainColumn& column = counts.column(c);
    partition.split_by(static_cast<std::size_t>(column.domain_count),
                       [&](std::int32_t node) { return static_cast<std::size_t>(column[node]); });
  }
  for (const std::int32_t c : columns.soft_labels) {
    const DomainColumn& column = counts.column(c);
    partition.split_by(1, [&](std::int32_t node) { return static_cast<std::size_t>(column[node] != 0 ? 1 : 0); });
  }
  split_by_raws(node_side, snapshot, partition);
  NodeCells made;
  made.cell_of = partition.take();
  for (std::size_t i = 0; i < node_count; ++i) {
    if (made.cell_of[i] != static_cast<std::int32_t>(made.cells.size())) continue;
    const auto node = static_cast<std::int32_t>(i);
    made.cells.push_back(cell_at(columns, node_side.raws(snapshot, node), counts, node));
  }
  return made;
}

std::uint64_t NodeCells::bytes() const {
  std::uint64_t bytes = heap_bytes(cell_of, cells);
  for (const Cell& cell : cells) bytes += heap_bytes(cell.domains);
  return bytes;
}

}  // namespace berth
