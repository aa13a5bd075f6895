// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/grouped_row.h"

#include <algorithm>

#include "batching/node_topology.h"

namespace berth {

/// A group as batching/topology_rules.h reads it. Its nodes have every key that hard constraints and required affinity
/// ask for, and terms of anti-affinity that are read by count keep nodes out of all groups (TableReads).
class GroupedRow::GroupTopology {
 public:
  GroupTopology(const GroupedRow& row, const NodeGroups::Group& group, const TopologyCounts& counts)
      : row_(row),
        program_(*row.program_),
        reads_(row.reads_),
        group_(group),
        cell_(row.groups_.cell_of(group)),
        counts_(counts) {}

  std::int32_t hard_size() const { return size(reads_.hard); }
  const HardSpread& hard(std::int32_t h) const { return at(program_.hard, h); }
  bool lacks_hard_key(std::int32_t) const { return false; }
  std::int64_t hard_count(std::int32_t h) const { return count(at(reads_.hard, h)); }
  std::int64_t hard_minimum(std::int32_t h) const { return at(row_.minima_, h); }

  std::int32_t affinity_size() const { return size(reads_.affinity); }
  bool lacks_affinity_key(std::int32_t) const { return false; }
  /// Of terms that are read by count: 1 where the nodes have pods for all of them, else 0.
  std::int64_t affinity_count(std::int32_t t) const {
    const TableRead& read = at(reads_.affinity, t);
    return read.by_count() ? group_.counts[reads_.affinity_index] : count_in_domain(read);
  }
  bool no_pod_matches_affinity() const { return row_.no_pod_matches_affinity_; }
  bool matches_itself() const { return program_.matches_itself; }
  std::int32_t anti_size() const { return size(reads_.anti); }
  std::int64_t anti_count(std::int32_t t) const { return count_by_domain(at(reads_.anti, t)); }
  std::int32_t existing_anti_size() const { return size(reads_.existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const { return count_by_domain(at(reads_.existing_anti, t)); }

  std::int32_t soft_size() const { return size(reads_.soft); }
  const SoftSpread& soft(std::int32_t s) const { return at(program_.soft, s); }
  bool has_soft_label(std::int32_t s) const { return cell_.soft_labels.contains(static_cast<std::size_t>(s)); }
  std::int32_t soft_domain(std::int32_t s) const { return domain(at(reads_.soft, s)); }
  std::int64_t soft_count(std::int32_t s) const { return count(at(reads_.soft, s)); }
  bool is_ignored() const { return cell_.ignored; }
  std::int64_t node_count() const { return group_.live; }

  std::int32_t preferred_size() const { return size(reads_.scores); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(program_.scores, t).multiplier; }
  std::int64_t preferred_count(std::int32_t t) const { return count_by_domain(at(reads_.scores, t)); }
  std::int64_t folded_score() const {
    return reads_.score_index == TableReads::kNone ? 0 : group_.counts[reads_.score_index];
  }

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
  std::int64_t count_in_domain(const TableRead& read) const { return counts_.count(read.table, domain(read)); }
  std::int64_t count(const TableRead& read) const {
    return read.by_count() ? group_.counts[read.count_index] : count_in_domain(read);
  }
  /// 0 for terms whose counts are folded into the group.
  std::int64_t count_by_domain(const TableRead& read) const { return read.by_count() ? 0 : count_in_domain(read); }

  const GroupedRow& row_;
  const TopologyProgram& program_;
  const TableReads& reads_;
  const NodeGroups::Group& group_;
  const NodeCells::Cell& cell_;
  const TopologyCounts& counts_;
};

GroupedRow::GroupedRow(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& node_side,
                       const TopologyCounts& counts, std::int32_t coarse_domains_max, const DomainWeights& weights)
    : program_(pod_class.topology),
      profile_(profile),
      node_side_weights_(node_side.normalized_weights()),
      domain_weights_(weights),
      reads_(*program_, counts, coarse_domains_max),
      groups_(*program_, reads_) {
  minima_.resize(program_->hard.size());
  weights_.resize(program_->soft.size());
  domain_counts_.resize(program_->soft.size());
  for (const SoftSpread& soft : program_->soft) {
    const std::int32_t domains = counts.column(counts.column_of(soft.table)).domain_count;
    seen_at_.emplace_back(soft.counts_nodes ? 0u : static_cast<std::size_t>(domains) + 1);
  }
}

std::int64_t GroupedRow::mark_passing(const TopologyCounts& counts) {
  for (std::size_t h = 0; h < minima_.size(); ++h) minima_[h] = global_minimum(program_->hard[h], counts);
  no_pod_matches_affinity_ = no_pod_matches_affinity(*program_, counts);
  std::int64_t feasible_count = 0;
  for (const std::int32_t g : groups_.active()) {
    NodeGroups::Group& group = groups_.group(g);
    group.passes = topology_accepts(GroupTopology(*this, group, counts));
    if (group.passes) feasible_count += group.live;
  }
  return feasible_count;
}

void GroupedRow::weigh_domains(const TopologyCounts& counts) {
  if (weights_.empty()) return;
  ++selection_;
  std::fill(domain_counts_.begin(), domain_counts_.end(), 0);
  const auto mark = [&](std::int32_t s, std::int32_t domain) {
    std::uint32_t& seen = seen_at_[static_cast<std::size_t>(s)][static_cast<std::size_t>(domain)];
    domain_counts_[static_cast<std::size_t>(s)] += seen != selection_ ? 1 : 0;
    seen = selection_;
  };
  std::int64_t nodes = 0;
  for (const std::int32_t g : groups_.active())
    if (const NodeGroups::Group& group = groups_.group(g); group.passes)
      nodes += mark_soft_domains(GroupTopology(*this, group, counts), mark);
  for (std::size_t s = 0; s < weights_.size(); ++s)
    weights_[s] =
        domain_weights_.of(static_cast<std::size_t>(program_->soft[s].counts_nodes ? nodes : domain_counts_[s]));
}

void GroupedRow::measure(const TopologyCounts& counts) {
  ranges_ = {};
  maxima_ = {};
  for (const std::int32_t g : groups_.active()) {
    NodeGroups::Group& group = groups_.group(g);
    if (!group.passes) continue;
    const NodeCells::Cell& cell = groups_.cell_of(group);
    maxima_.raise_to(cell.raws);
    group.raw = raw_topology_scores(GroupTopology(*this, group, counts), weights_.data());
    ranges_.add(group.raw);
  }
}

std::int64_t GroupedRow::normalized_total(const NodeGroups::Group& group) const {
  const NodeCells::Cell& cell = groups_.cell_of(group);
  return berth::normalized_total(cell.raws, maxima_, node_side_weights_) +
         topology_total(group.raw, ranges_, profile_.weight<PodTopologySpread>(), profile_.weight<InterPodAffinity>());
}

Selection GroupedRow::select(const SlotKeys& keys, const TopologyCounts& counts) {
  const std::int64_t feasible_count = mark_passing(counts);
  if (feasible_count == 0) return {};
  weigh_domains(counts);
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
