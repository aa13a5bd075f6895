// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_row.h"

#include <algorithm>

#include "batching/topology_filter.h"
#include "plugins/inter_pod_affinity/rule.h"
#include "plugins/normalize.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {

GroupedRow::GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
                       const TopologyCounts& counts, std::int32_t coarse_domains_max, const DomainWeights& weights)
    : program_(pod_class.topology),
      profile_(profile),
      scores_affinity_(node_side.scores_affinity),
      domain_weights_(weights),
      reads_(*program_, counts, coarse_domains_max),
      groups_(*program_, reads_) {
  minima_.resize(program_->hard.size());
  weights_.resize(program_->soft.size());
  for (const SoftSpread& soft : program_->soft) {
    const std::int32_t domains = counts.column(counts.column_of(soft.table)).domain_count;
    seen_at_.emplace_back(soft.counts_nodes ? 0u : static_cast<std::size_t>(domains) + 1);
  }
}

std::int64_t GroupedRow::count_in(const TableRead& read, const NodeGroups::Group& group,
                                  const TopologyCounts& counts) const {
  if (read.by_count()) return group.counts[read.count_index];
  const NodeCells::Cell& cell = groups_.cell_of(group);
  return counts.count(read.table, cell.domains[static_cast<std::size_t>(read.coarse)]);
}

bool GroupedRow::passes(const NodeGroups::Group& group, const TopologyCounts& counts) const {
  for (std::size_t h = 0; h < reads_.hard.size(); ++h) {
    const HardSpread& hard = program_->hard[h];
    if (PodTopologySpread::exceeds_skew(count_in(reads_.hard[h], group, counts), hard.self, minima_[h], hard.max_skew))
      return false;
  }
  const auto held = [&](const TableRead& read) { return !read.by_count() && count_in(read, group, counts) > 0; };
  if (std::any_of(reads_.anti.begin(), reads_.anti.end(), held) ||
      std::any_of(reads_.existing_anti.begin(), reads_.existing_anti.end(), held))
    return false;
  if (reads_.affinity.empty()) return true;
  bool every_term_held = reads_.affinity_index == TableReads::kNone || group.counts[reads_.affinity_index] != 0;
  for (const TableRead& read : reads_.affinity) every_term_held = every_term_held && (read.by_count() || held(read));
  return InterPodAffinity::affinity_holds(every_term_held, first_of_series_, program_->matches_itself);
}

std::int64_t GroupedRow::mark_passing(const TopologyCounts& counts) {
  for (std::size_t h = 0; h < reads_.hard.size(); ++h) minima_[h] = global_minimum(program_->hard[h], counts);
  first_of_series_ = nothing_meets_affinity(*program_, counts);
  std::int64_t feasible_count = 0;
  for (const std::int32_t g : groups_.active()) {
    NodeGroups::Group& group = groups_.group(g);
    group.passes = passes(group, counts);
    if (group.passes) feasible_count += group.live;
  }
  return feasible_count;
}

std::int64_t GroupedRow::domain_count(std::size_t soft) {
  std::int64_t domains = 0;
  for (const std::int32_t g : groups_.active()) {
    const NodeGroups::Group& group = groups_.group(g);
    const NodeCells::Cell& cell = groups_.cell_of(group);
    if (!group.passes || cell.ignored) continue;
    if (program_->soft[soft].counts_nodes) {
      domains += group.live;
      continue;
    }
    const std::int32_t domain = cell.domains[static_cast<std::size_t>(reads_.soft[soft].coarse)];
    std::uint32_t& seen = seen_at_[soft][static_cast<std::size_t>(domain)];
    domains += seen != selection_ ? 1 : 0;
    seen = selection_;
  }
  return domains;
}

void GroupedRow::weigh_domains() {
  ++selection_;
  for (std::size_t s = 0; s < weights_.size(); ++s)
    weights_[s] = domain_weights_.of(static_cast<std::size_t>(domain_count(s)));
}

std::int64_t GroupedRow::spread_raw(const NodeGroups::Group& group, const TopologyCounts& counts) const {
  const NodeCells::Cell& cell = groups_.cell_of(group);
  if (cell.ignored) return 0;
  double cost = 0;
  for (std::size_t s = 0; s < reads_.soft.size(); ++s)
    if (cell.soft_labels.contains(s))
      cost = PodTopologySpread::add_cost(cost, count_in(reads_.soft[s], group, counts), weights_[s],
                                         program_->soft[s].max_skew);
  return PodTopologySpread::raw_score(cost);
}

std::int64_t GroupedRow::pod_affinity_raw(const NodeGroups::Group& group, const TopologyCounts& counts) const {
  std::int64_t raw = reads_.score_index == TableReads::kNone ? 0 : group.counts[reads_.score_index];
  for (std::size_t s = 0; s < reads_.scores.size(); ++s)
    if (!reads_.scores[s].by_count()) raw += program_->scores[s].multiplier * count_in(reads_.scores[s], group, counts);
  return raw;
}

void GroupedRow::measure(const TopologyCounts& counts) {
  spread_range_ = {};
  spread_range_.max = 0;
  pod_affinity_range_ = {};
  maxima_ = {};
  for (const std::int32_t g : groups_.active()) {
    NodeGroups::Group& group = groups_.group(g);
    if (!group.passes) continue;
    const NodeCells::Cell& cell = groups_.cell_of(group);
    maxima_.taint = std::max(maxima_.taint, cell.taint_raw);
    maxima_.affinity = std::max(maxima_.affinity, cell.affinity_raw);
    if (!reads_.soft.empty()) {
      group.spread_raw = spread_raw(group, counts);
      if (!cell.ignored) spread_range_.add(group.spread_raw);
    }
    if (!reads_.scores.empty()) {
      group.pod_affinity_raw = pod_affinity_raw(group, counts);
      pod_affinity_range_.add(group.pod_affinity_raw);
    }
  }
}

std::int64_t GroupedRow::normalized_total(const NodeGroups::Group& group) const {
  const NodeCells::Cell& cell = groups_.cell_of(group);
  std::int64_t total = 0;
  if (profile_.weight_taint_toleration != 0)
    total +=
        profile_.weight_taint_toleration * default_normalize(cell.taint_raw, maxima_.taint, TaintToleration::reverse);
  if (scores_affinity_)
    total += profile_.weight_node_affinity *
             default_normalize(cell.affinity_raw, maxima_.affinity, NodeAffinityRule::reverse);
  if (!reads_.soft.empty() && !cell.ignored)
    total +=
        profile_.weight_spread * PodTopologySpread::normalize(group.spread_raw, spread_range_.min, spread_range_.max);
  if (!reads_.scores.empty())
    total += profile_.weight_pod_affinity *
             InterPodAffinity::normalize(group.pod_affinity_raw, pod_affinity_range_.min, pod_affinity_range_.max);
  return total;
}

Selection GroupedRow::select(const SlotKeys& keys, const TopologyCounts& counts) {
  const std::int64_t feasible_count = mark_passing(counts);
  if (feasible_count == 0) return {};
  weigh_domains();
  measure(counts);
  NodeGroups::Entry best;
  for (const std::int32_t g : groups_.active()) {
    NodeGroups::Group& group = groups_.group(g);
    if (!group.passes) continue;
    NodeGroups::Entry entry = groups_.best(group, keys);
    entry.key += make_node_key(normalized_total(group), 0);
    if (best.node < 0 || NodeGroups::Entry::is_worse(best, entry)) best = entry;
  }
  return {feasible_count, best.node, total_of(best.key)};
}

std::uint64_t GroupedRow::bytes() const {
  std::uint64_t bytes = groups_.bytes();
  for (const auto& seen : seen_at_) bytes += seen.size() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace berth
