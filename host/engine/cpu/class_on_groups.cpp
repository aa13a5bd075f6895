// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/class_on_groups.h"

#include <algorithm>
#include <array>
#include <utility>

#include "batching/add_once.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// At most so many nodes are checked for a largest raw score that they may no longer hold.
constexpr std::size_t kHoldersMax = 8;
/// What at least one of so many nodes has is common.
constexpr std::int32_t kCommonShare = 16;

bool is_common(std::int64_t nodes, std::int64_t of_nodes) { return nodes * kCommonShare >= of_nodes; }

/// [rule that counts] Empty where nobody holds the largest raw score any more, since its holders are refused now.
std::vector<std::vector<std::int32_t>> holders_of_maxima(const NodeSideRow& row, const Snapshot& snapshot) {
  const NormalizedWeights weights = row.normalized_weights();
  std::vector<std::size_t> rules;
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    if (weights.of[r] != 0) rules.push_back(r);
  std::vector<std::vector<std::int32_t>> holders(rules.size());
  std::size_t missing = rules.size();
  for (std::int32_t node = 0; node < snapshot.slot_count() && missing > 0; ++node) {
    if (row.refusal(node) != NodeSideRow::kAccepted) continue;
    const RawScores raws = row.raws(snapshot, node);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (raws.of[rules[i]] != row.accepted_maxima.of[rules[i]] || holders[i].size() == kHoldersMax) continue;
      holders[i].push_back(node);
      if (holders[i].size() == kHoldersMax) --missing;
    }
  }
  return holders;
}

/// The totals of accepted nodes, which are not below 0.
class Totals {
 public:
  Totals(const NodeSideRow& row, std::span<const std::int32_t> group_of) {
    for (std::size_t i = 0; i < group_of.size(); ++i) {
      if (group_of[i] < 0) continue;
      ++nodes_;
      const std::int32_t total = row.total_of[i];
      if (total < 0) continue;
      ++accepted_;
      if (static_cast<std::size_t>(total) >= count_of_.size()) count_of_.resize(static_cast<std::size_t>(total) + 1);
      ++count_of_[static_cast<std::size_t>(total)];
    }
    // From the lowest one up: below the first common total, nodes count as having that.
    level_of_.resize(count_of_.size());
    const auto first = std::find_if(count_of_.begin(), count_of_.end(), [&](std::int32_t n) { return is_level(n); });
    auto level = static_cast<std::int32_t>(first - count_of_.begin());
    for (std::size_t total = 0; total < count_of_.size(); ++total) {
      if (is_level(count_of_[total])) level = static_cast<std::int32_t>(total);
      level_of_[total] = level;
    }
  }
  std::int64_t accepted() const { return accepted_; }
  std::int64_t refused() const { return nodes_ - accepted_; }
  bool is_common(std::int32_t total) const { return is_level(count_of_[static_cast<std::size_t>(total)]); }
  /// The highest common total up to this one.
  std::int32_t level_of(std::int32_t total) const { return level_of_[static_cast<std::size_t>(total)]; }

 private:
  bool is_level(std::int32_t nodes) const { return nodes > 0 && berth::is_common(nodes, accepted_); }
  std::int64_t nodes_ = 0;
  std::int64_t accepted_ = 0;
  std::vector<std::int32_t> count_of_;  ///< [total] nodes
  std::vector<std::int32_t> level_of_;  ///< [total]
};

/// By the totals that many nodes have, or else by whether nodes are accepted.
void split_by_side(const NodeSideRow& row, const Totals& totals, NodePartition& partition) {
  const auto total_of = [&row](std::int32_t node) { return row.total_of[static_cast<std::size_t>(node)]; };
  const std::int64_t all = totals.refused() + totals.accepted();
  const bool splits_refused = is_common(totals.refused(), all) && is_common(totals.accepted(), all);
  const auto level_of = [&](std::int32_t node) {
    const std::int32_t total = total_of(node);
    if (total < 0) return splits_refused ? -1 : totals.level_of(0);
    return totals.level_of(total);
  };
  // Half of the groups are left for topology keys, without which a class is not served.
  const std::int32_t groups_max = partition.groups_max() / 2;
  if (totals.accepted() > 0 && !partition.split_by(level_of, groups_max) && splits_refused)
    partition.split_by([&](std::int32_t node) { return total_of(node) < 0 ? -1 : 0; }, groups_max);
}

/// What is counted of a group.
struct OfGroup {
  std::int32_t highest = -1;         ///< total
  std::int32_t highest_common = -1;  ///< total that is common among all nodes
  std::int64_t accepted = 0;
  std::int64_t nodes = 0;
  std::int64_t refused() const { return nodes - accepted; }
  std::int32_t base() const { return highest_common >= 0 ? highest_common : highest; }
  bool is_mixed() const { return accepted > 0 && refused() > 0 && is_common(refused(), nodes); }
};

/// [group] @param nodes_of_refusals  [out] SideOnGroups::nodes_of_refusals
std::vector<OfGroup> count_groups(const NodeSideRow& row, const Totals& totals, const NodePartition& partition,
                                  std::vector<std::pair<std::uint8_t, std::int64_t>>& nodes_of_refusals) {
  std::vector<OfGroup> groups(static_cast<std::size_t>(partition.group_count()));
  std::array<std::int64_t, 256> nodes_of_refusal{};
  const std::span<const std::int32_t> group_of = partition.group_of();
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (group_of[i] < 0) continue;
    OfGroup& group = groups[static_cast<std::size_t>(group_of[i])];
    ++group.nodes;
    const std::int32_t total = row.total_of[i];
    if (total < 0) {
      ++nodes_of_refusal[row.refusal(static_cast<std::int32_t>(i))];
      continue;
    }
    ++group.accepted;
    group.highest = std::max(group.highest, total);
    if (total > group.highest_common && totals.is_common(total)) group.highest_common = total;
  }
  for (std::size_t r = 0; r < nodes_of_refusal.size(); ++r)
    if (nodes_of_refusal[r] != 0) nodes_of_refusals.emplace_back(static_cast<std::uint8_t>(r), nodes_of_refusal[r]);
  return groups;
}

}  // namespace

SideOnNodes side_on_nodes(const NodeSideRow& row, const Snapshot& snapshot) {
  SideOnNodes side;
  std::int64_t nodes = 0;
  std::vector<std::int32_t> accepted;
  for (std::int32_t node = 0; node < snapshot.slot_count(); ++node) {
    if (!snapshot.has_node(node)) continue;
    ++nodes;
    if (row.total_of[static_cast<std::size_t>(node)] >= 0) accepted.push_back(node);
  }
  if (!is_common(static_cast<std::int64_t>(accepted.size()), nodes)) side.few = std::move(accepted);
  if (row.raws_vary) side.holders = holders_of_maxima(row, snapshot);
  return side;
}

SideOnGroups side_on_groups(const NodeSideRow& row, bool are_few, NodePartition& partition) {
  const Totals totals(row, partition.group_of());
  if (!are_few) split_by_side(row, totals, partition);
  SideOnGroups side;
  side.partition_version = partition.version();
  const std::vector<OfGroup> groups = count_groups(row, totals, partition, side.nodes_of_refusals);
  for (const OfGroup& group : groups) {
    side.base.push_back(group.base());
    side.refuses.push_back(group.refused() > 0 ? 1 : 0);
    side.is_mixed.push_back(group.is_mixed() ? 1 : 0);
  }
  side.differs.assign(groups.size(), 0);
  const std::span<const std::int32_t> group_of = partition.group_of();
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    if (group_of[i] < 0) continue;
    const auto g = static_cast<std::size_t>(group_of[i]);
    const std::int32_t total = row.total_of[i];
    if (total > side.base[g]) {
      side.above.push_back(static_cast<std::int32_t>(i));
    } else if (total < side.base[g]) {
      side.differs[g] = 1;
      if (total < 0 && side.is_mixed[g] == 0) side.refused.push_back(static_cast<std::int32_t>(i));
    }
  }
  if (!is_common(static_cast<std::int64_t>(side.above.size()) / 2, totals.accepted())) return side;
  // Too many for a list.
  for (const std::int32_t node : std::exchange(side.above, {})) {
    const auto g = static_cast<std::size_t>(group_of[static_cast<std::size_t>(node)]);
    side.base[g] = groups[g].highest;
    side.differs[g] = 1;
  }
  return side;
}

std::uint64_t SideOnGroups::bytes() const {
  return heap_bytes(base, differs, refuses, is_mixed, above, refused, nodes_of_refusals);
}

CellsOfClass::CellsOfClass(std::shared_ptr<const TopologyProgram> of_class, const TopologyCounts& counts,
                           std::int32_t coarse_domains_max)
    : program(std::move(of_class)), reads(*program, counts, coarse_domains_max, TableReads::SoftKeys::kCoarseWhereFew) {
  const auto number_of = [this](const TableRead& read) {
    std::vector<std::int32_t>& tables = read.by_count() ? reads.counted_tables : coarse_tables;
    if (!read.by_count()) add_once(coarse_tables, read.table);
    return static_cast<std::int32_t>(std::find(tables.begin(), tables.end(), read.table) - tables.begin());
  };
  const auto numbers_of = [&](const std::vector<TableRead>& list) {
    std::vector<std::int32_t> numbers_of_list;
    numbers_of_list.reserve(list.size());
    for (const TableRead& read : list) numbers_of_list.push_back(number_of(read));
    return numbers_of_list;
  };
  numbers = {numbers_of(reads.hard), numbers_of(reads.soft),          numbers_of(reads.affinity),
             numbers_of(reads.anti), numbers_of(reads.existing_anti), numbers_of(reads.scores)};
  for (std::size_t s = 0; s < program->soft.size(); ++s)
    if (reads.soft[s].by_count() && !program->soft[s].counts_nodes)
      soft_by_count.push_back(static_cast<std::int32_t>(s));
}

bool CellsOfClass::split(const TopologyCounts& counts, NodePartition& partition) const {
  const auto by_domain = [&](std::int32_t c) {
    return partition.split_once_by(std::int64_t{2} * c,
                                   [&column = counts.column(c)](std::int32_t node) { return column[node]; });
  };
  const auto by_presence = [&](std::int32_t c) {
    return partition.split_once_by(
        std::int64_t{2} * c + 1, [&column = counts.column(c)](std::int32_t node) { return column[node] != 0 ? 1 : 0; });
  };
  const CellColumns& columns = reads.columns;
  return std::all_of(columns.coarse.begin(), columns.coarse.end(), by_domain) &&
         std::all_of(columns.required.begin(), columns.required.end(), by_presence) &&
         std::all_of(columns.soft_labels.begin(), columns.soft_labels.end(), by_presence);
}

CellsOnGroups cells_on_groups(const CellColumns& columns, const TopologyCounts& counts,
                              const NodePartition& partition) {
  CellsOnGroups on_groups;
  on_groups.partition_version = partition.version();
  on_groups.cell_of.assign(static_cast<std::size_t>(partition.group_count()), -1);
  for (std::int32_t group = 0; group < partition.group_count(); ++group) {
    if (partition.first_of(group) < 0) continue;
    const std::optional<NodeCells::Cell> cell = cell_of_node(columns, RawScores(), counts, partition.first_of(group));
    if (!cell) continue;
    const auto known = std::find(on_groups.cells.begin(), on_groups.cells.end(), *cell);
    on_groups.cell_of[static_cast<std::size_t>(group)] = static_cast<std::int32_t>(known - on_groups.cells.begin());
    if (known == on_groups.cells.end()) on_groups.cells.push_back(*cell);
  }
  return on_groups;
}

}  // namespace berth
