// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/class_on_groups.h"

#include <algorithm>

namespace berth {
namespace {

/// At most so many nodes are checked for a largest raw score that they may no longer hold.
constexpr std::size_t kHoldersMax = 8;

/// [rule that counts] Empty where nobody holds the largest raw score any more, since its holders are refused now.
std::vector<std::vector<std::int32_t>> holders_of_maxima(const NodeSideRow& row, const Snapshot& snapshot) {
  const NormalizedWeights weights = row.normalized_weights();
  std::vector<std::size_t> rules;
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    if (weights.of[r] != 0) rules.push_back(r);
  std::vector<std::vector<std::int32_t>> holders(rules.size());
  for (std::int32_t node = 0; node < snapshot.slot_count(); ++node) {
    if (row.refusal(node) != NodeSideRow::kAccepted) continue;
    const RawScores raws = row.raws(snapshot, node);
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (raws.of[rules[i]] == row.accepted_maxima.of[rules[i]] && holders[i].size() < kHoldersMax)
        holders[i].push_back(node);
  }
  return holders;
}

}  // namespace

SideOnGroups side_on_groups(const NodeSideRow& row, const Snapshot& snapshot, NodePartition& partition) {
  SideOnGroups side;
  const auto total_of = [&row](std::int32_t node) { return row.total_of[static_cast<std::size_t>(node)]; };
  side.is_uniform = partition.split_by(total_of);
  side.partition_version = partition.version();
  side.base.assign(static_cast<std::size_t>(partition.group_count()), -1);
  const std::span<const std::int32_t> group_of = partition.group_of();
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (group_of[i] < 0) continue;
    std::int32_t& base = side.base[static_cast<std::size_t>(group_of[i])];
    base = std::max(base, row.total_of[i]);
  }
  if (row.raws_vary) side.holders = holders_of_maxima(row, snapshot);
  return side;
}

CellsOfClass::CellsOfClass(std::shared_ptr<const TopologyProgram> of_class, const TopologyCounts& counts,
                           std::int32_t coarse_domains_max)
    : program(std::move(of_class)), reads(*program, counts, coarse_domains_max) {
  const auto numbers_of = [this](const std::vector<TableRead>& list) {
    std::vector<std::int32_t> numbers;
    for (const TableRead& read : list) {
      const auto at = std::find(reads.counted_tables.begin(), reads.counted_tables.end(), read.table);
      numbers.push_back(static_cast<std::int32_t>(at - reads.counted_tables.begin()));
    }
    return numbers;
  };
  fine = {numbers_of(reads.hard), numbers_of(reads.soft),          numbers_of(reads.affinity),
          numbers_of(reads.anti), numbers_of(reads.existing_anti), numbers_of(reads.scores)};
}

bool CellsOfClass::split(const TopologyCounts& counts, NodePartition& partition) {
  const auto by_domain = [&](std::int32_t c) {
    return partition.split_once_by(std::int64_t{2} * c,
                                   [&column = counts.column(c)](std::int32_t node) { return column[node]; });
  };
  const auto by_presence = [&](std::int32_t c) {
    return partition.split_once_by(
        std::int64_t{2} * c + 1, [&column = counts.column(c)](std::int32_t node) { return column[node] != 0 ? 1 : 0; });
  };
  const CellColumns& columns = reads.columns;
  has_too_many = !(std::all_of(columns.coarse.begin(), columns.coarse.end(), by_domain) &&
                   std::all_of(columns.required.begin(), columns.required.end(), by_presence) &&
                   std::all_of(columns.soft_labels.begin(), columns.soft_labels.end(), by_presence));
  return !has_too_many;
}

void CellsOfClass::find_cells(const TopologyCounts& counts, const NodePartition& partition) {
  cells.clear();
  cell_of.assign(static_cast<std::size_t>(partition.group_count()), -1);
  for (std::int32_t group = 0; group < partition.group_count(); ++group) {
    if (partition.first_of(group) < 0) continue;
    const std::optional<NodeCells::Cell> cell =
        cell_of_node(reads.columns, RawScores(), counts, partition.first_of(group));
    if (!cell) continue;
    const auto known = std::find(cells.begin(), cells.end(), *cell);
    cell_of[static_cast<std::size_t>(group)] = static_cast<std::int32_t>(known - cells.begin());
    if (known == cells.end()) cells.push_back(*cell);
  }
  partition_version = partition.version();
}

}  // namespace berth
