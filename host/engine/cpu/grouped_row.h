// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batching/pod_class.h"
#include "batching/selection.h"
#include "batching/topology_rules.h"
#include "host/engine/cpu/node_groups.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

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

  /// Applies the log entries since the last call. The keys must be current to the end of the log.
  void catch_up(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts, const CommitLog& log) {
    groups_.catch_up(keys, table, counts, log);
  }
  /// The node of the highest total, from the current counts. Call catch_up() with the same keys before.
  Selection select(const SlotKeys& keys, const TopologyCounts& counts);

  std::uint64_t bytes() const;
  std::uint64_t last_used = 0;  ///< for the cache that holds rows

 private:
  class GroupTopology;
  /// Notes which groups the topology rules accept. @return their feasible nodes
  std::int64_t mark_passing(const TopologyCounts& counts);
  /// Weighs each soft constraint by the number of its domains with a feasible node that is not ignored.
  void weigh_domains(const TopologyCounts& counts);
  /// Raw scores of the groups that pass, and what they are normalised by.
  void measure(const TopologyCounts& counts);
  std::int64_t normalized_total(const NodeGroups::Group& group) const;

  std::shared_ptr<const TopologyProgram> program_;
  const CompiledProfile& profile_;
  NormalizedWeights node_side_weights_;
  const DomainWeights& domain_weights_;
  TableReads reads_;
  NodeGroups groups_;

  // Of the selection under way.
  std::vector<std::int64_t> minima_;                 ///< [hard constraint] global_minimum()
  bool no_pod_matches_affinity_ = false;             ///< the function of that name
  std::vector<double> weights_;                      ///< [soft constraint]
  std::vector<std::int64_t> domain_counts_;          ///< [soft constraint] domains found so far
  std::vector<std::vector<std::uint32_t>> seen_at_;  ///< [soft constraint][domain] latest selection that found it
  std::uint32_t selection_ = 0;                      ///< number of the selection, for seen_at_
  TopologyRanges ranges_;
  RawScores maxima_;
};

}  // namespace berth
