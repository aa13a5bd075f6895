// SPDX-License-Identifier: Apache-2.0
#pragma once

// The row of a class that PodTopologySpread or InterPodAffinity has something to say about. A placement moves the count
// of a whole domain, and with it the verdict and the score of every node there; so nodes are not looked at one by one.
// They lie in groups whose members are equal in all that those plugins and the normalisers read: the domains of keys
// with few domains, counts per domain of the other keys, labels that are there or not, raw scores that are normalised.
// A group keeps its feasible nodes in a heap by what is left of the total. A moved count or extreme re-weighs groups.
//
// Keys come from the class's slot in a tile, which holds what does not depend on other nodes.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "batching/commit_log.h"
#include "batching/node_side_row.h"
#include "batching/pod_class.h"
#include "batching/topology_scores.h"
#include "host/engine/cpu/row_tile.h"

namespace berth {

/// What never changes of the nodes, as far as groups are made of it: shared by the classes that ask the same keys.
struct NodeCells {
  /// Nodes of one cell are equal in all of this.
  struct Cell {
    std::vector<std::int32_t> domains;  ///< of each coarse column
    std::uint64_t soft_labels = 0;      ///< bit per soft constraint: the node has the label
    bool ignored = false;               ///< by the scores of PodTopologySpread
    std::int64_t taint_raw = 0;
    std::int64_t affinity_raw = 0;  ///< of NodeAffinity
  };
  std::vector<Cell> cells;
  std::vector<std::int32_t> cell_of;  ///< [node] -1: refused by its object, or without a key that the class requires
};

/// Which columns cells are made of.
struct CellColumns {
  std::vector<std::int32_t> coarse;
  std::vector<std::int32_t> required;     ///< a node without a domain in one of them is in no cell
  std::vector<std::int32_t> soft_labels;  ///< one a soft constraint
  bool ignores_incomplete = false;
  friend auto operator<=>(const CellColumns&, const CellColumns&) = default;
};

class GroupedRow {
 public:
  /// @param coarse_domains_max  keys with more domains are grouped by count instead of by domain
  /// @param weights  up to the number of nodes; must outlive the row, as the profile must
  GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
             const Snapshot& snapshot, std::int32_t coarse_domains_max, const DomainWeights& weights);

  const CellColumns& cell_columns() const { return columns_; }
  void set_cells(std::shared_ptr<const NodeCells> cells);

  /// Takes up what the log holds since the last call. The tile is current to the end of the log.
  void catch_up(const RowTile& tile, int slot, const ClassTable& table, const TopologyCounts& counts,
                const CommitLog& log);

  struct Choice {
    std::int64_t feasible_count = 0;
    std::int32_t node = -1;
    std::int64_t total = 0;
  };
  /// The node of the highest total, from the counts as they stand. `node` is -1 when none is feasible.
  Choice select(const RowTile& tile, int slot, const TopologyCounts& counts);

  std::uint64_t bytes() const;
  std::uint64_t last_used = 0;

 private:
  /// A table and how its counts reach a group: through the domain of a coarse key, or through the counts themselves.
  struct Read {
    std::int32_t table = 0;
    std::int32_t coarse = -1;     ///< index into Cell::domains; -1: by count
    std::size_t count_index = 0;  ///< into Group::counts, of a constraint that is read by count
  };
  struct Entry {
    NodeKey key;
    std::int32_t node;
  };
  struct Group {
    std::int32_t cell = 0;
    std::int32_t next_alike = -1;      ///< another group whose counts hash alike
    std::vector<std::int64_t> counts;  ///< as counts_of_node() gives them
    std::int64_t live = 0;             ///< nodes with room
    std::int32_t active_at = -1;       ///< index into active_, -1 without live nodes
    std::vector<Entry> heap;           ///< best first; entries of nodes that moved on stay until they come up
    Entry best{};                      ///< of a flat row, which has no heaps
    bool passes = false;               ///< as of this selection
    std::int64_t spread_raw = 0;
    std::int64_t pod_affinity_raw = 0;
  };

  Read read_of(std::int32_t table, const TopologyCounts& counts);
  void choose_columns(const TopologyCounts& counts, std::int32_t coarse_domains_max);
  void number_counts();
  /// @return false when a count by itself keeps pods of the class off the node
  bool counts_of_node(const TopologyCounts& counts, std::int32_t node, std::vector<std::int64_t>& out) const;
  std::int32_t find_group(const TopologyCounts& counts, std::int32_t node);
  std::int32_t add_group(std::int32_t cell);
  /// Does the entry change a count that nodes are grouped by?
  bool moves_groups(const LogEntry& entry, const ClassTable& table);
  void begin_anew();
  void assign_all(const RowTile& tile, int slot, const TopologyCounts& counts);
  void assign_flat(const RowTile& tile, int slot, const TopologyCounts& counts);
  std::int32_t group_without_counts(const TopologyCounts& counts, std::int32_t node);
  void assign(const RowTile& tile, int slot, std::int32_t node);
  void regroup(const RowTile& tile, int slot, const TopologyCounts& counts, std::int32_t node);
  void regroup_with_mates(const RowTile& tile, int slot, const TopologyCounts& counts, std::int32_t node);
  void set_live(std::int32_t node, bool live);
  void push(std::int32_t group, Entry entry, const RowTile& tile, int slot);
  bool is_current(const Entry& entry, std::int32_t group, const RowTile& tile, int slot) const;
  const NodeCells::Cell& cell_of(const Group& group) const {
    return cells_->cells[static_cast<std::size_t>(group.cell)];
  }

  std::int64_t count_in(const Read& read, const Group& group, const TopologyCounts& counts) const;
  bool passes(const Group& group, const TopologyCounts& counts) const;
  std::int64_t mark_passing(const TopologyCounts& counts);
  void weigh_domains(std::int64_t feasible_count);
  std::int64_t spread_raw(const Group& group, const TopologyCounts& counts) const;
  std::int64_t pod_affinity_raw(const Group& group, const TopologyCounts& counts) const;
  std::int64_t normalized_total(const Group& group) const;
  void measure(const TopologyCounts& counts);
  const Entry& top(Group& group, const RowTile& tile, int slot) const;

  std::shared_ptr<const TopologyProgram> program_;
  const CompiledProfile& profile_;
  bool scores_affinity_;  ///< NodeAffinity's PreScore does not skip
  CellColumns columns_;
  std::vector<std::int32_t> mate_columns_;  ///< grouped by count, with domains of several nodes
  std::vector<Read> hard_, soft_, affinity_, anti_, existing_anti_, scores_;
  bool by_count_ = false;  ///< something is
  /// Index into Group::counts of "every affinity term that is read by count is held", and of the sum of the scores that
  /// are; kNone where nothing is.
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t affinity_index_ = kNone;
  std::size_t score_index_ = kNone;

  std::shared_ptr<const NodeCells> cells_;
  std::vector<std::int32_t> group_of_;        ///< [node] -1: never feasible, or a count keeps the class off
  std::vector<std::uint8_t> live_;            ///< [node] in a group, and feasible by its key
  std::vector<std::int32_t> group_of_cell_;   ///< the group of the cell's nodes whose counts are all 0; -1: none yet
  std::vector<std::int32_t> counted_tables_;  ///< that nodes are grouped by the counts of, each once
  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, std::int32_t> group_of_hash_;
  enum class Moves : std::uint8_t { kUnknown, kNo, kYes };
  std::vector<Moves> moved_by_;  ///< [class] of placements: moves_groups()
  std::vector<std::int32_t> active_;
  std::uint64_t position_ = UINT64_MAX;  ///< in the log; UINT64_MAX: nothing assigned yet
  bool flat_ = true;                     ///< groups know their best node alone, as of position_

  // Of the selection under way.
  std::vector<std::int64_t> minima_;  ///< [hard constraint]
  bool first_of_series_ = false;
  std::vector<double> weights_;                      ///< [soft constraint]
  std::vector<std::vector<std::uint32_t>> seen_at_;  ///< [soft constraint][domain] selection that met it last
  std::uint32_t selection_ = 0;
  const DomainWeights& domain_weights_;
  RawRange spread_range_, pod_affinity_range_;
  RawMaxima maxima_;
  std::vector<std::int64_t> scratch_;
};

/// Keeps as many grouped rows as a byte limit allows; the least recently used goes first.
class GroupedRows {
 public:
  GroupedRows(std::uint64_t bytes_max, std::int32_t coarse_domains_max)
      : bytes_max_(bytes_max), coarse_domains_max_(coarse_domains_max) {}

  /// Valid until the next call.
  GroupedRow& find(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot);
  void clear() {
    rows_.clear();
    cells_.clear();
  }
  std::uint64_t bytes() const;

 private:
  void make_room(std::int32_t node_count);
  const std::shared_ptr<const NodeCells>& cells_for(const CellColumns& columns, const NodeSideRow& node_side,
                                                    const CompiledProfile& profile, const Snapshot& snapshot);

  std::uint64_t bytes_max_;
  std::int32_t coarse_domains_max_;
  DomainWeights weights_;  ///< one table for all rows
  std::unordered_map<std::int32_t, GroupedRow> rows_;
  std::map<std::pair<const NodeSideRow*, CellColumns>, std::shared_ptr<const NodeCells>> cells_;
  std::uint64_t clock_ = 0;
};

}  // namespace berth
