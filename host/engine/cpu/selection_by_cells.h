// SPDX-License-Identifier: Apache-2.0
#pragma once

// The best node for a class with topology terms, from an index by load. Nodes with equal counts are one cell, which is
// filtered and scored once; nodes in whose domains something is counted are listed.
// docs/decisions/0011-an-index-by-load.md

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "batching/selection.h"
#include "host/engine/cpu/class_on_groups.h"
#include "host/engine/cpu/index_query.h"
#include "host/engine/cpu/load_index.h"
#include "host/engine/cpu/tuning.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// Its members are those of one selection, kept for their memory.
class SelectionByCells {
 public:
  explicit SelectionByCells(const CpuTuning& tuning) : tuning_(tuning) {}

  /// Slots are numbered below this.
  void grow(std::size_t slot_count);

  /// Too many nodes have to be listed, or refuse what their bounds promised.
  enum class Failure : std::uint8_t { kManyListed, kManyRefused };
  /// @return nullopt: failure() says why
  std::optional<Selection> select(const IndexQuery& query, const CellsOfClass& cells, LoadSearch& search);
  Failure failure() const { return failure_; }

  /// Nodes that were evaluated.
  std::int64_t evaluations() const { return evaluations_; }
  std::uint64_t bytes() const;

 private:
  /// A node that is evaluated by itself, since more is counted in its domains than in those of its cell.
  struct Listed {
    std::int32_t node;
    std::int32_t combination = -1;  ///< below 0: not feasible
  };
  /// Listed nodes of one cell with equal counts.
  struct Combination {
    std::int32_t cell;
    std::size_t counts_at;  ///< in fine_counts_
    bool accepts = false;
    std::int64_t live = 0;  ///< feasible nodes
    RawTopologyScores raw = {};
    std::int64_t total = 0;
  };
  struct CellState {
    std::int64_t not_counted = 0;  ///< nodes that the index counts as feasible, and which are listed or refused
    std::int64_t live = 0;         ///< other feasible nodes; at least 2 where they need not be counted
    RawTopologyScores raw;
    std::int32_t total = -1;  ///< below 0: not feasible
  };
  /// [node] latest selection in which it was listed, and where.
  struct ListedAt {
    std::uint64_t selection = 0;
    std::size_t at = 0;
  };

  bool is_listed(std::int32_t node) const { return listed_at_[static_cast<std::size_t>(node)].selection == selection_; }
  std::int32_t group_of(const IndexQuery& query, std::int32_t node) const {
    return query.partition->group_of()[static_cast<std::size_t>(node)];
  }
  /// Below 0: the node is in no cell.
  std::int32_t cell_of(const IndexQuery& query, const CellsOfClass& cells, std::int32_t node) const {
    return cells.on_groups->cell_of[static_cast<std::size_t>(group_of(query, node))];
  }
  std::int64_t* counts_on(const CellsOfClass& cells, std::int32_t node);
  void read_coarse_counts(const IndexQuery& query, const CellsOfClass& cells);
  void list_only(const IndexQuery& query, const CellsOfClass& cells);
  bool list_counted(const IndexQuery& query, const CellsOfClass& cells);
  std::int32_t combination_of(const CellsNow& now, std::int32_t cell, std::size_t counts_at);
  CellTopology topology_of(const CellsNow& now, const Combination& combination) const;
  CellTopology cell_topology(const CellsNow& now, std::size_t cell) const;

  void filter_listed(const IndexQuery& query, const CellsNow& now);
  void leave_out(const IndexQuery& query, const CellsOfClass& cells);
  bool is_counted(const IndexQuery& query, std::size_t group, std::int32_t node) const;
  void note_if_counted(const IndexQuery& query, const CellsOfClass& cells, std::int32_t node);
  bool needs_node_count(const CellsOfClass& cells) const;
  void filter_cells(const IndexQuery& query, const CellsNow& now);

  bool is_feasible(const IndexQuery& query, const CellsNow& now, std::int32_t node) const;
  std::int64_t feasible_domains(const IndexQuery& query, const CellsNow& now, std::int32_t soft);
  void weigh_domains(const IndexQuery& query, const CellsNow& now);
  void score(const IndexQuery& query, const CellsNow& now);
  std::int64_t total_of_raw(const IndexQuery& query, const RawTopologyScores& raw) const;
  bool add_unlisted(const IndexQuery& query, const CellsOfClass& cells, LoadSearch& search, BestNode& best);
  void add_listed(const IndexQuery& query, LoadSearch& search, BestNode& best);

  CpuTuning tuning_;
  Failure failure_ = Failure::kManyListed;
  std::int64_t evaluations_ = 0;
  std::vector<Listed> listed_;
  std::vector<std::int64_t> fine_counts_;                 ///< [listed][TableReads::counted_tables]
  std::vector<std::vector<std::int64_t>> coarse_counts_;  ///< CellsNow::coarse_counts
  std::vector<ListedAt> listed_at_;
  std::uint64_t selection_ = 0;
  std::vector<Combination> combinations_;
  std::vector<CellState> states_;
  std::vector<std::int64_t> minima_;
  std::vector<std::int64_t> domain_counts_;           ///< [soft constraint]
  std::vector<std::vector<std::uint64_t>> found_at_;  ///< [soft constraint][domain] latest selection
  std::vector<std::vector<std::int32_t>> witnesses_;  ///< [column][domain] a node that was feasible lately
  DomainWeights domain_weights_;
  std::vector<double> weights_;
  TopologyRanges ranges_;
  std::vector<std::int32_t> base_;         ///< [group]
  std::vector<std::int32_t> beside_side_;  ///< [group]
};

}  // namespace berth
