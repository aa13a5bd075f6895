// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_row.h"

#include <algorithm>
#include <utility>

#include "host/engine/cpu/grouped_selection.h"
#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// Each table that is read, once.
std::vector<std::int32_t> tables_of(const TableReads& reads) {
  std::vector<std::int32_t> tables;
  for (const auto* of_kind :
       {&reads.hard, &reads.soft, &reads.affinity, &reads.anti, &reads.existing_anti, &reads.scores})
    for (const TableRead& read : *of_kind) tables.push_back(read.table);
  std::sort(tables.begin(), tables.end());
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  return tables;
}

}  // namespace

std::uint64_t SettledGroups::bytes() const {
  std::uint64_t bytes = sizeof(*this) + heap_bytes(groups, at, soft_counts, versions, minima, weights, has_domain);
  for (const std::vector<std::uint8_t>& of_constraint : has_domain) bytes += heap_bytes(of_constraint);
  return bytes;
}

GroupedRow::GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
                       const TopologyCounts& counts, std::int32_t coarse_domains_max, const DomainWeights& weights)
    : program_(pod_class.topology),
      profile_(profile),
      node_side_weights_(node_side.normalized_weights()),
      domain_weights_(weights),
      reads_(*program_, counts, coarse_domains_max),
      tables_(tables_of(reads_)),
      groups_(*program_, reads_) {}

Selection GroupedRow::select(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch) const {
  using NoExtras = std::span<const ExtraPlace<NodeTopology<TopologyCounts>>>;
  return select(keys, counts, ExcludedNodes(), NoExtras(), scratch);
}

void GroupedRow::settle(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch) {
  using NoExtras = std::span<const ExtraPlace<NodeTopology<TopologyCounts>>>;
  std::unique_ptr<SettledGroups> settled = std::move(settled_);  // none where memory runs out
  if (settled == nullptr) settled = std::make_unique<SettledGroups>();
  GroupedSelection<TopologyCounts, NodeTopology<TopologyCounts>>(*this, keys, counts, ExcludedNodes(), NoExtras(),
                                                                 scratch)
      .settle(*settled);
  settled->versions.clear();
  for (const std::int32_t table : tables_) settled->versions.push_back(counts.version(table));
  settled->version = groups_.version();
  settled_ = std::move(settled);
}

bool GroupedRow::counts_are_settled(const TopologyCounts& counts) const {
  for (std::size_t t = 0; t < tables_.size(); ++t)
    if (counts.version(tables_[t]) != settled_->versions[t]) return false;
  return true;
}

}  // namespace berth
