// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "batching/excluded_nodes.h"
#include "batching/node_topology.h"
#include "batching/pod_class.h"
#include "batching/selection.h"
#include "batching/topology_rules.h"
#include "host/engine/cpu/node_groups.h"
#include "host/engine/cpu/row_selection.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// What a selection from a grouped row computes. The caller owns it and uses it again, for any rows and one selection
/// at a time, so that only the first ones allocate.
struct SelectionScratch {
  /// A group outside the set of excluded nodes.
  struct GroupState {
    std::int64_t live = 0;  ///< feasible nodes, without topology rules
    bool passes = false;    ///< topology rules accept its nodes
    RawTopologyScores raw;
  };
  std::vector<GroupState> groups;  ///< parallel to NodeGroups::active()
  std::vector<std::int64_t> live_outside;
  std::vector<RawTopologyScores> extra_raws;         ///< parallel to the extra nodes
  std::vector<std::int64_t> minima;                  ///< [hard constraint] global_minimum()
  bool no_pod_matches_affinity = false;              ///< the function of that name
  std::vector<double> weights;                       ///< [soft constraint]
  std::vector<std::int64_t> domain_counts;           ///< [soft constraint] domains found so far
  std::vector<std::vector<std::uint32_t>> found_at;  ///< [soft constraint][domain] latest selection that found it
  std::uint32_t selection = 0;                       ///< number of the selection, for found_at
  TopologyRanges ranges;
  RawScores maxima;
};

/// The row of a class that PodTopologySpread or InterPodAffinity filters or scores. A placement changes the count of a
/// whole domain, and with it the verdict and the score of every node there. So a selection filters, weighs and
/// normalises groups of nodes, and compares the best node of each.
class GroupedRow {
 public:
  /// @param coarse_domains_max  keys with more domains are grouped by count instead of by domain
  /// @param weights  up to the number of nodes; must outlive the row, as the profile must
  GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
             const TopologyCounts& counts, std::int32_t coarse_domains_max, const DomainWeights& weights);
  GroupedRow(const GroupedRow&) = delete;  // its groups point at its reads
  GroupedRow& operator=(const GroupedRow&) = delete;

  const CellColumns& cell_columns() const { return reads_.columns; }
  /// Before the first catch_up(). @param cells  of cell_columns()
  void set_cells(std::shared_ptr<const NodeCells> cells) { groups_.set_cells(std::move(cells)); }

  const NodeCells& cells() const { return groups_.cells(); }
  const TableReads& reads() const { return reads_; }
  /// catch_up() for a selection outside a set was called since the log's last entry.
  bool is_current(const CommitLog& log) const { return groups_.is_current(log) && groups_.knows_all_nodes(); }

  /// NodeGroups::note_key_changes()
  void note_key_changes(std::span<const std::int32_t> nodes) { groups_.note_key_changes(nodes); }
  /// Applies the log entries since the last call. The keys must be current to the end of the log.
  void catch_up(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts, const CommitLog& log,
                NodeGroups::Knows needed = NodeGroups::Knows::kBestNode) {
    groups_.catch_up(keys, table, counts, log, needed);
  }

  /// The node of the highest total among the row's nodes outside a set and the extra ones, from the current counts.
  /// Call catch_up() with the same keys before. Changes nothing but `scratch`.
  /// @tparam Counts  TopologyCounts, or what has its members count(), count_at(), total(), existing_domains(),
  /// minimum(), column() and column_of(). A node whose count of a table in TableReads::counted_tables differs from the
  /// count at catch_up() must be excluded, since it lies in a group by that count
  /// @param excluded  empty, or the groups know all nodes
  /// @param extras  outside the row, or members of `excluded`; their feasibility is the caller's
  template <class Counts, class Place>
  Selection select(const SlotKeys& keys, const Counts& counts, const ExcludedNodes& excluded,
                   std::span<const ExtraPlace<Place>> extras, SelectionScratch& scratch) const;
  /// From all nodes of the row.
  Selection select(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch) const;

  std::uint64_t bytes() const { return groups_.bytes(); }
  std::uint64_t last_used = 0;  ///< for the cache that holds rows

 private:
  template <class Counts>
  friend class GroupTopology;
  template <class Counts, class Place>
  friend class GroupedSelection;

  std::shared_ptr<const TopologyProgram> program_;
  const CompiledProfile& profile_;
  NormalizedWeights node_side_weights_;
  const DomainWeights& domain_weights_;
  TableReads reads_;
  NodeGroups groups_;
};

}  // namespace berth
