// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a class knows of the groups of a NodePartition: the node side, and the domains of its topology terms.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "batching/node_cells.h"
#include "batching/pod_class.h"
#include "batching/table_reads.h"
#include "batching/topology_rules.h"
#include "host/engine/cpu/node_partition.h"

namespace berth {

/// A node side, group by group.
struct SideOnGroups {
  std::uint64_t partition_version = 0;
  /// [group] the highest NodeSideRow::total_of, nodes in `above` aside; below 0: no node of the group is accepted
  std::vector<std::int32_t> base;
  /// [group] 1: nodes that are not in `above` have other totals than `base`, or are refused
  std::vector<std::uint8_t> differs;
  std::vector<std::uint8_t> refuses;   ///< [group] 1: some nodes are refused
  std::vector<std::uint8_t> is_mixed;  ///< [group] 1: nodes that are not in `refused` are refused
  std::vector<std::int32_t> above;     ///< nodes with higher totals than their group: few
  std::vector<std::int32_t> refused;   ///< nodes that are refused in groups where few are
  std::vector<std::pair<std::uint8_t, std::int64_t>> nodes_of_refusals;  ///< NodeSideRow::refusals, and how many nodes

  std::uint64_t bytes() const;
};

/// What groups have no part in.
struct SideOnNodes {
  /// The accepted nodes where they are few. Their groups need not be split from others then.
  std::optional<std::vector<std::int32_t>> few;
  /// Of each rule whose raw scores vary, some nodes that hold the largest one: while one of them is feasible, totals
  /// are normalised as NodeSideRow::total_of is.
  std::vector<std::vector<std::int32_t>> holders;
};
SideOnNodes side_on_nodes(const NodeSideRow& row, const Snapshot& snapshot);

/// Splits the partition by the totals that many nodes have, or at least by whether nodes are accepted, as far as that
/// does not make too many groups.
/// @param are_few  the accepted nodes, which then need no groups of their own
SideOnGroups side_on_groups(const NodeSideRow& row, bool are_few, NodePartition& partition);

/// Groups whose nodes lie in the same domains of some columns.
struct CellsOnGroups {
  std::uint64_t partition_version = 0;
  std::vector<NodeCells::Cell> cells;
  std::vector<std::int32_t> cell_of;  ///< [group] -1: its nodes lack a key without which they are refused
};
CellsOnGroups cells_on_groups(const CellColumns& columns, const TopologyCounts& counts, const NodePartition& partition);

/// The topology terms of a class, cell by cell: groups whose nodes lie in the same domains, except for the keys that
/// are read by count. On those keys a cell stands for the nodes in whose domains nothing is counted.
struct CellsOfClass {
  CellsOfClass(std::shared_ptr<const TopologyProgram> of_class, const TopologyCounts& counts,
               std::int32_t coarse_domains_max);

  /// Splits the partition by the keys that the class reads. @return false: that would make too many groups
  bool split(const TopologyCounts& counts, NodePartition& partition) const;

  /// The number of each table among TableReads::counted_tables where it is read by count, else among `coarse_tables`.
  struct Numbers {
    std::vector<std::int32_t> hard, soft, affinity, anti, existing_anti, scores;  ///< parallel to those of TableReads
  };

  std::shared_ptr<const TopologyProgram> program;
  TableReads reads;
  std::vector<std::int32_t> coarse_tables;  ///< read by domain, each once
  Numbers numbers;
  std::vector<std::int32_t> soft_by_count;         ///< soft constraints that are weighed by domains, and read by count
  std::shared_ptr<const CellsOnGroups> on_groups;  ///< shared with classes of the same columns. null: not asked for
};

/// What the cells of one selection have in common. It must outlive their CellTopology.
struct CellsNow {
  const CellsOfClass& of_class;
  const TopologyCounts& counts;
  const std::vector<std::vector<std::int64_t>>& coarse_counts;  ///< [CellsOfClass::coarse_tables][domain]
  const std::vector<std::int64_t>& minima;                      ///< [hard constraint] global_minimum()
  bool no_pod_matches_affinity;
};

/// A cell, or one node that lies in its domains, as batching/topology_rules.h reads it.
class CellTopology {
 public:
  /// @param node_count  feasible nodes
  /// @param fine_counts  [TableReads::counted_tables] of one node; null: nothing is counted there
  CellTopology(const CellsNow& now, const NodeCells::Cell& cell, std::int64_t node_count,
               const std::int64_t* fine_counts)
      : now_(now),
        program_(*now.of_class.program),
        reads_(now.of_class.reads),
        numbers_(now.of_class.numbers),
        cell_(cell),
        node_count_(node_count),
        fine_counts_(fine_counts) {}

  std::int32_t hard_size() const { return size(reads_.hard); }
  const HardSpread& hard(std::int32_t h) const { return at(program_.hard, h); }
  bool lacks_hard_key(std::int32_t) const { return false; }
  std::int64_t hard_count(std::int32_t h) const { return count(at(reads_.hard, h), at(numbers_.hard, h)); }
  std::int64_t hard_minimum(std::int32_t h) const { return at(now_.minima, h); }

  std::int32_t affinity_size() const { return size(reads_.affinity); }
  bool lacks_affinity_key(std::int32_t) const { return false; }
  std::int64_t affinity_count(std::int32_t t) const { return count(at(reads_.affinity, t), at(numbers_.affinity, t)); }
  bool no_pod_matches_affinity() const { return now_.no_pod_matches_affinity; }
  bool matches_itself() const { return program_.matches_itself; }
  std::int32_t anti_size() const { return size(reads_.anti); }
  std::int64_t anti_count(std::int32_t t) const { return count(at(reads_.anti, t), at(numbers_.anti, t)); }
  std::int32_t existing_anti_size() const { return size(reads_.existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const {
    return count(at(reads_.existing_anti, t), at(numbers_.existing_anti, t));
  }

  std::int32_t soft_size() const { return size(reads_.soft); }
  const SoftSpread& soft(std::int32_t s) const { return at(program_.soft, s); }
  bool has_soft_label(std::int32_t s) const { return cell_.soft_labels.contains(static_cast<std::size_t>(s)); }
  /// Below 0: read by count, so that the place may lie in several.
  std::int32_t soft_domain(std::int32_t s) const {
    return at(reads_.soft, s).by_count() ? -1 : domain(at(reads_.soft, s));
  }
  std::int64_t soft_count(std::int32_t s) const { return count(at(reads_.soft, s), at(numbers_.soft, s)); }
  bool is_ignored() const { return cell_.ignored; }
  std::int64_t node_count() const { return node_count_; }

  std::int32_t preferred_size() const { return size(reads_.scores); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(program_.scores, t).multiplier; }
  std::int64_t preferred_count(std::int32_t t) const { return count(at(reads_.scores, t), at(numbers_.scores, t)); }
  std::int64_t folded_score() const { return 0; }

 private:
  template <class Term>
  static std::int32_t size(const std::vector<Term>& terms) {
    return static_cast<std::int32_t>(terms.size());
  }
  template <class Term>
  static const Term& at(const std::vector<Term>& terms, std::int32_t index) {
    return terms[static_cast<std::size_t>(index)];
  }
  std::int32_t domain(const TableRead& read) const { return cell_.domains[static_cast<std::size_t>(read.coarse)]; }
  std::int64_t count(const TableRead& read, std::int32_t number) const {
    if (read.by_count()) return fine_counts_ == nullptr ? 0 : fine_counts_[number];
    return at(now_.coarse_counts, number)[static_cast<std::size_t>(domain(read))];
  }

  const CellsNow& now_;
  const TopologyProgram& program_;
  const TableReads& reads_;
  const CellsOfClass::Numbers& numbers_;
  const NodeCells::Cell& cell_;
  std::int64_t node_count_;
  const std::int64_t* fine_counts_;
};

}  // namespace berth
