// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batching/pod_class.h"
#include "batching/selection.h"
#include "batching/topology_scores.h"
#include "host/engine/cpu/node_groups.h"

namespace berth {

/// The row of a class that PodTopologySpread or InterPodAffinity has something to say about. A placement moves the
/// count of a whole domain, and with it the verdict and the score of every node there; so a selection filters, weighs
/// and normalises groups of nodes, and compares the best node of each.
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

  /// Takes up what the log holds since the last call. The keys are current to the end of the log.
  void catch_up(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts, const CommitLog& log) {
    groups_.catch_up(keys, table, counts, log);
  }
  /// The node of the highest total, from the counts as they stand. After catch_up() with the same keys.
  Selection select(const SlotKeys& keys, const TopologyCounts& counts);

  std::uint64_t bytes() const;
  std::uint64_t last_used = 0;  ///< for the cache that holds rows

 private:
  std::int64_t count_in(const TableRead& read, const NodeGroups::Group& group, const TopologyCounts& counts) const;
  bool passes(const NodeGroups::Group& group, const TopologyCounts& counts) const;
  std::int64_t mark_passing(const TopologyCounts& counts);
  /// Domains that hold a feasible node that is not ignored; where every node is a domain of its own, such nodes.
  std::int64_t domain_count(std::size_t soft);
  void weigh_domains();
  std::int64_t spread_raw(const NodeGroups::Group& group, const TopologyCounts& counts) const;
  std::int64_t pod_affinity_raw(const NodeGroups::Group& group, const TopologyCounts& counts) const;
  void measure(const TopologyCounts& counts);
  std::int64_t normalized_total(const NodeGroups::Group& group) const;

  std::shared_ptr<const TopologyProgram> program_;
  const CompiledProfile& profile_;
  bool scores_affinity_;  ///< NodeAffinity's PreScore does not skip
  const DomainWeights& domain_weights_;
  TableReads reads_;
  NodeGroups groups_;

  // Of the selection under way.
  std::vector<std::int64_t> minima_;                 ///< [hard constraint]
  bool first_of_series_ = false;                     ///< nothing_meets_affinity()
  std::vector<double> weights_;                      ///< [soft constraint]
  std::vector<std::vector<std::uint32_t>> seen_at_;  ///< [soft constraint][domain] selection that met it last
  std::uint32_t selection_ = 0;                      ///< mark of seen_at_
  RawRange spread_range_, pod_affinity_range_;
  RawMaxima maxima_;
};

}  // namespace berth
