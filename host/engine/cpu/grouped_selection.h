// SPDX-License-Identifier: Apache-2.0
#pragma once

// The definition of GroupedRow::select(), for any source of counts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "host/engine/cpu/grouped_row.h"
#include "host/engine/cpu/settled_groups.h"

namespace berth {

/// What GroupTopology reads of a row, the same for all of its groups. Spans, since a selection asks for the lengths of
/// all lists at each group, and that of a vector is computed from two pointers.
template <class Counts>
struct RowTerms {
  RowTerms(const GroupedRow& row, const Counts& counts_of_domains, const SelectionScratch& selection)
      : hard_spreads(row.program_->hard),
        soft_spreads(row.program_->soft),
        scored_tables(row.program_->scores),
        hard(row.reads_.hard),
        soft(row.reads_.soft),
        affinity(row.reads_.affinity),
        anti(row.reads_.anti),
        existing_anti(row.reads_.existing_anti),
        scores(row.reads_.scores),
        affinity_index(row.reads_.affinity_index),
        score_index(row.reads_.score_index),
        matches_itself(row.program_->matches_itself),
        counts(counts_of_domains),
        scratch(selection) {}

  std::span<const HardSpread> hard_spreads;
  std::span<const SoftSpread> soft_spreads;
  std::span<const ScoredTable> scored_tables;
  std::span<const TableRead> hard, soft, affinity, anti, existing_anti, scores;
  std::size_t affinity_index, score_index;
  bool matches_itself;
  const Counts& counts;
  const SelectionScratch& scratch;
};

/// A group as batching/topology_rules.h reads it. Its nodes have every key of hard constraints and required affinity,
/// and terms of anti-affinity that are read by count keep nodes out of all groups (TableReads).
template <class Counts>
class GroupTopology {
 public:
  GroupTopology(const RowTerms<Counts>& terms, const NodeGroups::Group& group, const NodeCells::Cell& cell,
                std::int64_t live)
      : terms_(terms), group_(group), cell_(cell), live_(live) {}

  std::int32_t hard_size() const { return size(terms_.hard); }
  const HardSpread& hard(std::int32_t h) const { return at(terms_.hard_spreads, h); }
  bool lacks_hard_key(std::int32_t) const { return false; }
  std::int64_t hard_count(std::int32_t h) const { return count(at(terms_.hard, h)); }
  std::int64_t hard_minimum(std::int32_t h) const { return terms_.scratch.minima[static_cast<std::size_t>(h)]; }

  std::int32_t affinity_size() const { return size(terms_.affinity); }
  bool lacks_affinity_key(std::int32_t) const { return false; }
  /// Of terms that are read by count: 1 where the nodes have pods for all of them, else 0.
  std::int64_t affinity_count(std::int32_t t) const {
    const TableRead& read = at(terms_.affinity, t);
    return read.by_count() ? group_.counts[terms_.affinity_index] : count_in_domain(read);
  }
  bool no_pod_matches_affinity() const { return terms_.scratch.no_pod_matches_affinity; }
  bool matches_itself() const { return terms_.matches_itself; }
  std::int32_t anti_size() const { return size(terms_.anti); }
  std::int64_t anti_count(std::int32_t t) const { return count_by_domain(at(terms_.anti, t)); }
  std::int32_t existing_anti_size() const { return size(terms_.existing_anti); }
  std::int64_t existing_anti_count(std::int32_t t) const { return count_by_domain(at(terms_.existing_anti, t)); }

  std::int32_t soft_size() const { return size(terms_.soft); }
  const SoftSpread& soft(std::int32_t s) const { return at(terms_.soft_spreads, s); }
  bool has_soft_label(std::int32_t s) const { return cell_.soft_labels.contains(static_cast<std::size_t>(s)); }
  std::int32_t soft_domain(std::int32_t s) const { return domain(at(terms_.soft, s)); }
  std::int64_t soft_count(std::int32_t s) const { return count(at(terms_.soft, s)); }
  bool is_ignored() const { return cell_.ignored; }
  std::int64_t node_count() const { return live_; }

  std::int32_t preferred_size() const { return size(terms_.scores); }
  std::int64_t preferred_multiplier(std::int32_t t) const { return at(terms_.scored_tables, t).multiplier; }
  std::int64_t preferred_count(std::int32_t t) const { return count_by_domain(at(terms_.scores, t)); }
  std::int64_t folded_score() const {
    return terms_.score_index == TableReads::kNone ? 0 : group_.counts[terms_.score_index];
  }

 private:
  template <class Term>
  static std::int32_t size(std::span<const Term> terms) {
    return static_cast<std::int32_t>(terms.size());
  }
  template <class Term>
  static const Term& at(std::span<const Term> terms, std::int32_t index) {
    return terms[static_cast<std::size_t>(index)];
  }
  std::int32_t domain(const TableRead& read) const { return cell_.domains[static_cast<std::size_t>(read.coarse)]; }
  std::int64_t count_in_domain(const TableRead& read) const { return terms_.counts.count(read.table, domain(read)); }
  std::int64_t count(const TableRead& read) const {
    return read.by_count() ? group_.counts[read.count_index] : count_in_domain(read);
  }
  /// 0 for terms whose counts are folded into the group.
  std::int64_t count_by_domain(const TableRead& read) const { return read.by_count() ? 0 : count_in_domain(read); }

  const RowTerms<Counts>& terms_;
  const NodeGroups::Group& group_;
  const NodeCells::Cell& cell_;
  std::int64_t live_;
};

/// One selection.
template <class Counts, class Place>
class GroupedSelection {
 public:
  GroupedSelection(const GroupedRow& row, const SlotKeys& keys, const Counts& counts, const ExcludedNodes& excluded,
                   std::span<const ExtraPlace<Place>> extras, SelectionScratch& scratch)
      : row_(row),
        keys_(keys),
        counts_(counts),
        excluded_(excluded),
        extras_(extras),
        scratch_(scratch),
        terms_(row, counts, scratch) {
    if (!excluded.empty() && !row.groups_.knows_all_nodes())
      throw std::logic_error("GroupedRow::select: excluded nodes, and groups that know their best node only");
  }

  Selection run() {
    const std::int64_t feasible_count = mark_passing();
    if (feasible_count == 0) return {};
    weigh_domains();
    measure();
    NodeGroups::Entry best;
    const auto compare = [&](NodeGroups::Entry entry, std::int64_t normalized) {
      entry.key += make_node_key(normalized, 0);
      if (keys_.is_better(entry, best)) best = entry;
    };
    for (std::size_t e = 0; e < extras_.size(); ++e)
      compare({extras_[e].key, extras_[e].node}, normalized(extras_[e].raws, scratch_.extra_raws[e]));
    for_each_passing([&](const NodeGroups::Group& group, const SelectionScratch::GroupState& state) {
      const std::int64_t of_group = normalized(row_.groups_.cell_of(group).raws, state.raw);
      const NodeGroups::Entry& any = row_.groups_.best(group);  // no node outside the set is better
      if (excluded_.empty()) return compare(any, of_group);
      if (best.node >= 0 && any.key + make_node_key(of_group, 0) < best.key) return;
      compare(row_.groups_.best_outside(group, keys_, excluded_), of_group);
    });
    return {feasible_count, best.node, total_of(best.key)};
  }

  /// What run() computes, where no node is excluded.
  void settle(SettledGroups& settled) {
    settled.groups.clear();
    settled.soft_counts.clear();
    settled.at.assign(static_cast<std::size_t>(row_.groups_.group_count()), -1);
    settled.feasible_count = mark_passing();
    weigh_domains();
    measure();
    settled.minima = scratch_.minima;
    settled.weights = scratch_.weights;
    settled.weights.resize(row_.program_->soft.size());
    settled.ranges = scratch_.ranges;
    settled.maxima = scratch_.maxima;
    add_settled(settled);
  }

 private:
  using GroupState = SelectionScratch::GroupState;

  GroupTopology<Counts> topology_of(const NodeGroups::Group& group, const GroupState& state) const {
    return {terms_, group, row_.groups_.cell_of(group), state.live};
  }
  template <class Body>
  void for_each_passing(Body body) {
    const std::span<const std::int32_t> active = row_.groups_.active();
    GroupState* const states = scratch_.groups.data();
    for (std::size_t a = 0; a < active.size(); ++a)
      if (states[a].passes) body(row_.groups_.group(active[a]), states[a]);
  }

  /// Notes which groups the topology rules accept. @return their feasible nodes and the extra ones
  std::int64_t mark_passing() {
    const TopologyProgram& program = *row_.program_;
    scratch_.minima.resize(program.hard.size());
    for (std::size_t h = 0; h < program.hard.size(); ++h) scratch_.minima[h] = global_minimum(program.hard[h], counts_);
    scratch_.no_pod_matches_affinity = no_pod_matches_affinity(program, counts_);
    const std::span<const std::int32_t> active = row_.groups_.active();
    scratch_.groups.resize(active.size());
    GroupState* const states = scratch_.groups.data();
    if (!excluded_.empty()) row_.groups_.live_outside(excluded_, scratch_.live_outside);
    auto feasible_count = static_cast<std::int64_t>(extras_.size());
    for (std::size_t a = 0; a < active.size(); ++a) {
      const NodeGroups::Group& group = row_.groups_.group(active[a]);
      GroupState& state = states[a];
      state.live = excluded_.empty() ? group.live : scratch_.live_outside[a];
      state.passes = state.live > 0 && topology_accepts(topology_of(group, state));
      if (state.passes) feasible_count += state.live;
    }
    return feasible_count;
  }

  void add_settled(SettledGroups& settled) {
    const std::vector<std::int32_t>& active = row_.groups_.active();
    std::vector<std::size_t> active_at(settled.at.size());
    for (std::size_t a = 0; a < active.size(); ++a) {
      const GroupState& state = scratch_.groups[a];
      if (!state.passes) continue;
      const NodeGroups::Group& group = row_.groups_.group(active[a]);
      const NodeCells::Cell& cell = row_.groups_.cell_of(group);
      settled.groups.push_back({row_.groups_.best(group), make_node_key(normalized(cell.raws, state.raw), 0), active[a],
                                cell.ignored, state.live, state.raw, cell.raws});
      active_at[static_cast<std::size_t>(active[a])] = a;
    }
    std::sort(settled.groups.begin(), settled.groups.end(),
              [](const SettledGroups::Group& a, const SettledGroups::Group& b) {
                return a.best.key + a.normalized > b.best.key + b.normalized;
              });
    settled.counted_nodes = 0;
    settled.has_domain.assign(row_.program_->soft.size(), {});
    const auto mark = [&](std::int32_t s, std::int32_t domain) {
      std::vector<std::uint8_t>& known = settled.has_domain[static_cast<std::size_t>(s)];
      known.resize(std::max(known.size(), static_cast<std::size_t>(domain) + 1), 0);
      known[static_cast<std::size_t>(domain)] = 1;
    };
    for (std::size_t g = 0; g < settled.groups.size(); ++g) {
      const std::int32_t group = settled.groups[g].group;
      settled.at[static_cast<std::size_t>(group)] = static_cast<std::int32_t>(g);
      const auto topology =
          topology_of(row_.groups_.group(group), scratch_.groups[active_at[static_cast<std::size_t>(group)]]);
      settled.counted_nodes += mark_soft_domains(topology, mark);
      for (std::int32_t s = 0; s < topology.soft_size(); ++s)
        settled.soft_counts.push_back(topology.has_soft_label(s) ? topology.soft_count(s) : SettledGroups::kNoLabel);
    }
  }

  /// Marks of domains that no selection has found yet.
  void begin_marks() {
    const std::vector<SoftSpread>& soft = row_.program_->soft;
    if (scratch_.found_at.size() < soft.size()) scratch_.found_at.resize(soft.size());
    for (std::size_t s = 0; s < soft.size(); ++s) {
      const auto domains = static_cast<std::size_t>(counts_.domain_count(counts_.column_of(soft[s].table))) + 1;
      if (!soft[s].counts_nodes && scratch_.found_at[s].size() < domains) scratch_.found_at[s].resize(domains);
    }
    if (++scratch_.selection == 0) {  // the number begins again
      for (std::vector<std::uint32_t>& found : scratch_.found_at) std::fill(found.begin(), found.end(), 0u);
      scratch_.selection = 1;
    }
    scratch_.domain_counts.assign(soft.size(), 0);
  }

  /// Weighs each soft constraint by the number of its domains with a feasible node that is not ignored.
  void weigh_domains() {
    const std::vector<SoftSpread>& soft = row_.program_->soft;
    if (soft.empty()) return;
    begin_marks();
    const auto mark = [&](std::int32_t s, std::int32_t domain) {
      std::uint32_t& found = scratch_.found_at[static_cast<std::size_t>(s)][static_cast<std::size_t>(domain)];
      scratch_.domain_counts[static_cast<std::size_t>(s)] += found != scratch_.selection ? 1 : 0;
      found = scratch_.selection;
    };
    std::int64_t nodes = 0;
    for_each_passing([&](const NodeGroups::Group& group, const GroupState& state) {
      nodes += mark_soft_domains(topology_of(group, state), mark);
    });
    for (const ExtraPlace<Place>& extra : extras_) nodes += mark_soft_domains(extra.topology, mark);
    scratch_.weights.resize(soft.size());
    for (std::size_t s = 0; s < soft.size(); ++s)
      scratch_.weights[s] =
          row_.domain_weights_.of(static_cast<std::size_t>(soft[s].counts_nodes ? nodes : scratch_.domain_counts[s]));
  }

  /// Raw scores of the groups that pass and of the extra nodes, and what they are normalised by.
  void measure() {
    scratch_.ranges = {};
    scratch_.maxima = {};
    for_each_passing([&](const NodeGroups::Group& group, GroupState& state) {
      scratch_.maxima.raise_to(row_.groups_.cell_of(group).raws);
      state.raw = raw_topology_scores(topology_of(group, state), scratch_.weights.data());
      scratch_.ranges.add(state.raw);
    });
    scratch_.extra_raws.resize(extras_.size());
    for (std::size_t e = 0; e < extras_.size(); ++e) {
      scratch_.maxima.raise_to(extras_[e].raws);
      scratch_.extra_raws[e] = raw_topology_scores(extras_[e].topology, scratch_.weights.data());
      scratch_.ranges.add(scratch_.extra_raws[e]);
    }
  }

  std::int64_t normalized(const RawScores& raws, const RawTopologyScores& topology) const {
    return row_.normalized(raws, scratch_.maxima, topology, scratch_.ranges);
  }

  const GroupedRow& row_;
  const SlotKeys& keys_;
  const Counts& counts_;
  const ExcludedNodes& excluded_;
  std::span<const ExtraPlace<Place>> extras_;
  SelectionScratch& scratch_;
  RowTerms<Counts> terms_;
};

template <class Place>
std::optional<Selection> GroupedRow::select_settled(const SlotKeys& keys, const TopologyCounts& counts,
                                                    const ExcludedNodes& excluded,
                                                    std::span<const ExtraPlace<Place>> extras,
                                                    SelectionScratch& scratch) const {
  return SettledSelection<Place>(*this, keys, counts, excluded, extras, scratch).run();
}

template <class Counts, class Place>
Selection GroupedRow::select(const SlotKeys& keys, const Counts& counts, const ExcludedNodes& excluded,
                             std::span<const ExtraPlace<Place>> extras, SelectionScratch& scratch) const {
  return GroupedSelection<Counts, Place>(*this, keys, counts, excluded, extras, scratch).run();
}

}  // namespace berth
