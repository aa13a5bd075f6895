// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a class knows of the groups of a NodePartition: the node side, and the domains of its topology terms.

#include <cstdint>
#include <memory>
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
  /// [group] the highest NodeSideRow::total_of; below 0: no node of the group is accepted
  std::vector<std::int32_t> base;
  bool is_uniform = true;  ///< all nodes of each group have that total
  /// Of each rule whose raw scores vary, some nodes that hold the largest one: while one of them is feasible, totals
  /// are normalised as NodeSideRow::total_of is.
  std::vector<std::vector<std::int32_t>> holders;
};

/// Splits the partition by the node side, if that does not make too many groups.
SideOnGroups side_on_groups(const NodeSideRow& row, const Snapshot& snapshot, NodePartition& partition);

/// The topology terms of a class, cell by cell: groups whose nodes lie in the same domains, except for the keys that
/// are read by count. On those keys a cell stands for the nodes in whose domains nothing is counted.
struct CellsOfClass {
  CellsOfClass(std::shared_ptr<const TopologyProgram> of_class, const TopologyCounts& counts,
               std::int32_t coarse_domains_max);

  /// Splits the partition by the keys that the class reads. @return false: that would make too many groups
  bool split(const TopologyCounts& counts, NodePartition& partition);
  /// Call after split(), for the groups as they are now.
  void find_cells(const TopologyCounts& counts, const NodePartition& partition);

  /// The number of each table that is read by count among TableReads::counted_tables.
  struct Fine {
    std::vector<std::int32_t> hard, soft, affinity, anti, existing_anti, scores;  ///< parallel to those of TableReads
  };

  std::shared_ptr<const TopologyProgram> program;
  TableReads reads;
  Fine fine;
  bool has_too_many = false;            ///< split() returned false: there would be too many groups, and more later
  std::uint64_t partition_version = 0;  ///< of the cells; 0: none
  std::vector<NodeCells::Cell> cells;
  std::vector<std::int32_t> cell_of;  ///< [group] -1: its nodes lack a key without which they are refused
};

/// What the cells of one selection have in common. It must outlive their CellTopology.
struct CellsNow {
  const CellsOfClass& of_class;
  const TopologyCounts& counts;
  const std::vector<std::int64_t>& minima;  ///< [hard constraint] global_minimum()
  bool no_pod_matches_affinity;
};

/// A cell, or one node that lies in its domains, as batching/topology_rules.h reads it.
class CellTopology {
 public:
  /// @param node_count  feasible nodes
  /// @param fine_counts  [CellsOfClass::Fine] of one node; null: nothing is counted there
  CellTopology(const CellsNow& now, const NodeCells::Cell& cell, std::int64_t node_count,
               const std::int64_t* fine_counts)
      : now_(now),
        program_(*now.of_class.program),
        reads_(now.of_class.reads),
        fine_(now.of_class.fine),
        cell_(cell),
        node_count_(node_count),
        fine_counts_(fine_counts) {}

  std::int32_t hard_size() const { return size(reads_.hard); }
  const HardSpread& hard(std::int32_t h) const { return at(program_.hard, h); }
  bool lacks_hard_key(std::int32_t) const { return false; }
  std::int64_t hard_count(std::int32_t h) const { return count(at(reads_.hard, h), at(fine_.hard, h)); }
  std::int64_t hard_minimum(std::int32_t h) const { return at(now_.minima, h); }

  std::int32_t affinity_size() const { return size(reads_.affinity); }
  bool lacks_affinity_key(std::int32_t) const { return false; }
  std::int64_t affinity_count(std::int32_t t) const { return count(at(reads_.affinity, t), at(fine_.affinity, t)); }
  bool no_pod_matches_affinity() const { return now_.no_pod_matches_affinity; }
  bool matches_itself() const { return program_.matches_itself; }
  std::int32_t anti_size() const { return size(reads_.anti); }
  std::int64_t anti_count(std::int32_t t) const { return count(at(reads_.anti, t), at(fine_.anti, t)); }
  std::int32_t existing_anti_size() const { return size(reads_.existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const {
    return count(at(reads_.existing_anti, t), at(fine_.existing_anti, t));
  }

  std::int32_t soft_size() const { return size(reads_.soft); }
  const SoftSpread& soft(std::int32_t s) const { return at(program_.soft, s); }
  bool has_soft_label(std::int32_t s) const { return cell_.soft_labels.contains(static_cast<std::size_t>(s)); }
  std::int32_t soft_domain(std::int32_t s) const { return domain(at(reads_.soft, s)); }
  std::int64_t soft_count(std::int32_t s) const { return count(at(reads_.soft, s), at(fine_.soft, s)); }
  bool is_ignored() const { return cell_.ignored; }
  std::int64_t node_count() const { return node_count_; }

  std::int32_t preferred_size() const { return size(reads_.scores); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(program_.scores, t).multiplier; }
  std::int64_t preferred_count(std::int32_t t) const { return count(at(reads_.scores, t), at(fine_.scores, t)); }
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
  std::int64_t count(const TableRead& read, std::int32_t fine) const {
    if (read.by_count()) return fine_counts_ == nullptr ? 0 : fine_counts_[fine];
    return now_.counts.count(read.table, domain(read));
  }

  const CellsNow& now_;
  const TopologyProgram& program_;
  const TableReads& reads_;
  const CellsOfClass::Fine& fine_;
  const NodeCells::Cell& cell_;
  std::int64_t node_count_;
  const std::int64_t* fine_counts_;
};

}  // namespace berth
