// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::vector<std::int32_t> groups_left_out;         ///< settled group of each excluded node that is in one
  std::vector<std::int64_t> left_out;                ///< [settled group] excluded nodes; 0 between selections
  std::vector<RawTopologyScores> group_raws;         ///< [settled group]
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

/// What a selection from all nodes of a row finds, while the counts are what they are: settled_groups.h. All that a
/// selection of a fork reads of a group is here, side by side.
struct SettledGroups {
  /// A group that topology rules accept.
  struct Group {
    NodeGroups::Entry best;   ///< of its nodes
    NodeKey normalized = 0;   ///< what normalised scores add to the key of each
    std::int32_t group = 0;   ///< for NodeGroups::group()
    bool is_ignored = false;  ///< by the scores of PodTopologySpread
    std::int64_t live = 0;
    RawTopologyScores raw;
    RawScores node_side;
  };
  /// In soft_counts: the nodes lack the label of the constraint.
  static constexpr std::int64_t kNoLabel = -1;

  std::uint64_t version = 0;              ///< of the groups
  std::vector<Group> groups;              ///< the one with the best node first
  std::vector<std::int32_t> at;           ///< [NodeGroups::group()] index into groups; -1: not accepted
  std::vector<std::int64_t> soft_counts;  ///< [group][soft constraint]
  std::vector<std::uint64_t> versions;    ///< parallel to the tables of the row
  std::vector<std::int64_t> minima;       ///< as in SelectionScratch, and what follows
  std::vector<double> weights;
  std::vector<std::vector<std::uint8_t>> has_domain;  ///< [soft constraint][domain] 1: a group is in it
  TopologyRanges ranges;
  RawScores maxima;
  std::int64_t feasible_count = 0;
  std::int64_t counted_nodes = 0;  ///< feasible nodes that are not ignored

  std::uint64_t bytes() const;
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
  /// Selects from all nodes, and keeps what that finds. Call after a catch_up() for a selection outside a set.
  void settle(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch);
  /// settle() was called since the groups changed.
  bool is_settled() const { return settled_ != nullptr && settled_->version == groups_.version(); }
  /// All that the class counts is as it was at settle(): other nodes than those that changed need not be left out.
  bool counts_are_settled(const TopologyCounts& counts) const;
  /// As select(), where counts_are_settled(). @return nullopt: call select()
  template <class Place>
  std::optional<Selection> select_settled(const SlotKeys& keys, const TopologyCounts& counts,
                                          const ExcludedNodes& excluded, std::span<const ExtraPlace<Place>> extras,
                                          SelectionScratch& scratch) const;
  /// From all nodes of the row.
  Selection select(const SlotKeys& keys, const TopologyCounts& counts, SelectionScratch& scratch) const;

  std::uint64_t bytes() const { return groups_.bytes() + (settled_ == nullptr ? 0 : settled_->bytes()); }
  std::uint64_t last_used = 0;  ///< for the cache that holds rows

 private:
  template <class Counts>
  friend struct RowTerms;
  template <class Counts, class Place>
  friend class GroupedSelection;
  template <class Place>
  friend class SettledSelection;

  /// What normalised scores add to a total.
  std::int64_t normalized(const RawScores& raws, const RawScores& maxima, const RawTopologyScores& topology,
                          const TopologyRanges& ranges) const {
    return normalized_total(raws, maxima, node_side_weights_) +
           topology_total(topology, ranges, profile_.weight<PodTopologySpread>(), profile_.weight<InterPodAffinity>());
  }

  std::shared_ptr<const TopologyProgram> program_;
  const CompiledProfile& profile_;
  NormalizedWeights node_side_weights_;
  const DomainWeights& domain_weights_;
  TableReads reads_;
  std::vector<std::int32_t> tables_;  ///< that the class reads
  NodeGroups groups_;
  std::unique_ptr<SettledGroups> settled_;
};

}  // namespace berth
