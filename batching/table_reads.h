// SPDX-License-Identifier: Apache-2.0
#pragma once

// How groups of nodes read the counts of a class's tables. A topology key with few domains is coarse: each group lies
// in one domain, and the count is looked up on demand. Any other key is read by count: the nodes of a group have equal
// counts in their domains, and verdicts and scores depend on the counts only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "batching/node_cells.h"
#include "batching/topology_program.h"
#include "host/cluster/topology_counts.h"

namespace berth {

/// One table that the class reads.
struct TableRead {
  std::int32_t table = 0;
  std::int32_t coarse = -1;     ///< index into NodeCells::Cell::domains; -1: by count
  std::size_t count_index = 0;  ///< into the counts of a group, of a constraint that is read by count
  bool by_count() const { return coarse < 0; }
};

struct TableReads {
  /// How soft constraints whose keys have many domains are read. Their weights need the domains with a feasible node.
  enum class SoftKeys : std::uint8_t {
    kCoarse,          ///< by domain
    kCoarseWhereFew,  ///< like other keys
  };
  /// @param coarse_domains_max  keys with more domains are read by count
  TableReads(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t coarse_domains_max,
             SoftKeys soft_keys = SoftKeys::kCoarse);

  /// The counts of a node that are read by count. @return false when one of them alone makes the node infeasible
  bool counts_of_node(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t node,
                      std::vector<std::int64_t>& out) const;

  bool any_by_count() const { return !counted_tables.empty(); }
  /// Whether the moves change a count that nodes are grouped by.
  bool moved_by(const std::vector<CountMove>& moves) const;

  static constexpr std::size_t kNone = SIZE_MAX;

  std::vector<TableRead> hard, soft;  ///< parallel to TopologyProgram::hard and so on
  std::vector<TableRead> affinity, anti, existing_anti, scores;
  CellColumns columns;
  std::vector<std::int32_t> counted_tables;  ///< read by count, each once
  std::vector<std::int32_t> mate_columns;    ///< read by count, with several nodes in a domain
  /// Indices into a group's counts: 1 where every affinity term that is read by count has a pod, and the sum of the
  /// preferred terms that are read by count. kNone without such terms.
  std::size_t affinity_index = kNone;
  std::size_t score_index = kNone;

 private:
  void choose_coarse(const TopologyProgram& program, const TopologyCounts& counts, std::int32_t coarse_domains_max,
                     SoftKeys soft_keys);
  TableRead read_of(std::int32_t table, const TopologyCounts& counts);
  void number_counts();
};

}  // namespace berth
