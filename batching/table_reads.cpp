// SPDX-License-Identifier: Apache-2.0
#include "batching/table_reads.h"

#include <algorithm>

#include "batching/add_once.h"
#include "batching/topology_rules.h"

namespace berth {
namespace {

bool holds(const std::vector<std::int32_t>& list, std::int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool any_by_count_of(const std::vector<TableRead>& reads) {
  return std::any_of(reads.begin(), reads.end(), [](const TableRead& read) { return read.by_count(); });
}

/// The terms of a node that are read by count, as batching/topology_rules.h reads them. The others neither refuse nor
/// add to the sum.
class CountedTerms {
 public:
  CountedTerms(const TableReads& reads, const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node)
      : reads_(reads), program_(program), counts_(counts), node_(node) {}

  std::int32_t affinity_size() const { return static_cast<std::int32_t>(reads_.affinity.size()); }
  std::int64_t affinity_count(std::int32_t t) const { return count_or(reads_.affinity, t, 1); }
  std::int32_t anti_size() const { return static_cast<std::int32_t>(reads_.anti.size()); }
  std::int64_t anti_count(std::int32_t t) const { return count_or(reads_.anti, t, 0); }
  std::int32_t existing_anti_size() const { return static_cast<std::int32_t>(reads_.existing_anti.size()); }
  std::int64_t existing_anti_count(std::int32_t t) const { return count_or(reads_.existing_anti, t, 0); }
  std::int32_t preferred_size() const { return static_cast<std::int32_t>(reads_.scores.size()); }
  std::int64_t preferred_multiplier(std::int32_t t) const {
    return program_.scores[static_cast<std::size_t>(t)].multiplier;
  }
  std::int64_t preferred_count(std::int32_t t) const { return count_or(reads_.scores, t, 0); }
  std::int64_t folded_score() const { return 0; }

 private:
  std::int64_t count_or(const std::vector<TableRead>& list, std::int32_t index, std::int64_t otherwise) const {
    const TableRead& read = list[static_cast<std::size_t>(index)];
    return read.by_count() ? counts_.count_at(read.table, node_) : otherwise;
  }

  const TableReads& reads_;
  const TopologyProgram& program_;
  const TopologyCounts& counts_;
  std::int32_t node_;
};

}  // namespace

TableReads::TableReads(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t coarse_domains_max,
                       SoftKeys soft_keys) {
  choose_coarse(program, counts, coarse_domains_max, soft_keys);
  for (const HardSpread& constraint : program.hard) hard.push_back(read_of(constraint.table, counts));
  for (const SoftSpread& constraint : program.soft) soft.push_back(read_of(constraint.table, counts));
  for (const std::int32_t table : program.affinity) affinity.push_back(read_of(table, counts));
  for (const OwnAntiTerm& term : program.anti) anti.push_back(read_of(term.table, counts));
  for (const std::int32_t table : program.existing_anti) existing_anti.push_back(read_of(table, counts));
  for (const ScoredTable& score : program.scores) scores.push_back(read_of(score.table, counts));
  number_counts();

  for (const HardSpread& constraint : program.hard) columns.required.push_back(counts.column_of(constraint.table));
  for (const std::int32_t table : program.affinity) columns.required.push_back(counts.column_of(table));
  for (const SoftSpread& constraint : program.soft) columns.soft_labels.push_back(constraint.label_column);
  columns.ignores_incomplete = program.ignores_incomplete;
}

void TableReads::choose_coarse(const TopologyProgram& program, const TopologyCounts& counts,
                               std::int32_t coarse_domains_max, SoftKeys soft_keys) {
  const auto add_small = [&](std::int32_t table, std::int32_t domains_max) {
    const std::int32_t column = counts.column_of(table);
    if (counts.column(column).domain_count <= domains_max) add_once(columns.coarse, column);
  };
  const std::int32_t soft_max = soft_keys == SoftKeys::kCoarse ? INT32_MAX : coarse_domains_max;
  for (const SoftSpread& constraint : program.soft)
    if (!constraint.counts_nodes) add_small(constraint.table, soft_max);
  for (const HardSpread& constraint : program.hard) add_small(constraint.table, coarse_domains_max);
  for (const std::int32_t table : program.affinity) add_small(table, coarse_domains_max);
  for (const OwnAntiTerm& term : program.anti) add_small(term.table, coarse_domains_max);
  for (const std::int32_t table : program.existing_anti) add_small(table, coarse_domains_max);
  for (const ScoredTable& score : program.scores) add_small(score.table, coarse_domains_max);
}

TableRead TableReads::read_of(std::int32_t table, const TopologyCounts& counts) {
  const std::int32_t column = counts.column_of(table);
  const auto at = std::find(columns.coarse.begin(), columns.coarse.end(), column);
  if (at != columns.coarse.end()) return {table, static_cast<std::int32_t>(at - columns.coarse.begin()), 0};
  add_once(counted_tables, table);
  if (!counts.column(column).one_node_each) add_once(mate_columns, column);
  return {table, -1, 0};
}

void TableReads::number_counts() {
  std::size_t next = 0;
  for (std::vector<TableRead>* reads : {&hard, &soft})
    for (TableRead& read : *reads)
      if (read.by_count()) read.count_index = next++;
  if (any_by_count_of(affinity)) affinity_index = next++;
  if (any_by_count_of(scores)) score_index = next++;
}

bool TableReads::counts_of_node(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                                std::vector<std::int64_t>& out) const {
  out.clear();
  const CountedTerms terms(*this, program, counts, node);
  if (anti_affinity_verdict(terms) != AffinityVerdict::kAccepted) return false;
  for (const std::vector<TableRead>* reads : {&hard, &soft})
    for (const TableRead& read : *reads)
      if (read.by_count()) out.push_back(counts.count_at(read.table, node));
  if (affinity_index != kNone) out.push_back(holds_every_affinity_term(terms) ? 1 : 0);
  if (score_index != kNone) out.push_back(raw_affinity_score(terms));
  return true;
}

bool TableReads::moved_by(const std::vector<CountMove>& moves) const {
  return std::any_of(moves.begin(), moves.end(),
                     [&](const CountMove& move) { return holds(counted_tables, move.table); });
}

}  // namespace berth
