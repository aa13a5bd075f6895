// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a selection from all nodes of a row finds, kept for forks in which the counts of the class are those of the
// engine. Most pods of a fork are of classes that nothing in the fork counts for, so that groups keep their verdicts
// and raw scores, and a selection costs what differs in the fork.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/engine/cpu/grouped_row.h"

namespace berth {

/// One selection from settled groups.
/// @tparam Place  a node of batching/topology_rules.h
template <class Place>
class SettledSelection {
 public:
  /// @param row  counts_are_settled(counts)
  SettledSelection(const GroupedRow& row, const SlotKeys& keys, const TopologyCounts& counts,
                   const ExcludedNodes& excluded, std::span<const ExtraPlace<Place>> extras, SelectionScratch& scratch)
      : row_(row),
        settled_(*row.settled_),
        keys_(keys),
        counts_(counts),
        excluded_(excluded),
        extras_(extras),
        scratch_(scratch) {}

  /// @return nullopt: the fork changes more than can be told from what is settled
  std::optional<Selection> run() {
    if (!holds_minima()) return std::nullopt;
    const bool all_stay = leave_out_excluded();
    if (!all_stay || !weigh()) return std::nullopt;
    measure();
    if (feasible_count_ == 0) return Selection{};
    select();
    return Selection{feasible_count_, best_.node, total_of(best_.key)};
  }

 private:
  using Group = SettledGroups::Group;

  /// A group as raw_topology_scores() reads it: what affinity adds does not depend on weights.
  class WeighedGroup {
   public:
    WeighedGroup(const TopologyProgram& program, const Group& group, const std::int64_t* soft_counts)
        : program_(program), group_(group), counts_(soft_counts) {}
    std::int32_t soft_size() const { return static_cast<std::int32_t>(program_.soft.size()); }
    const SoftSpread& soft(std::int32_t s) const { return program_.soft[static_cast<std::size_t>(s)]; }
    bool has_soft_label(std::int32_t s) const { return counts_[s] != SettledGroups::kNoLabel; }
    std::int64_t soft_count(std::int32_t s) const { return counts_[s]; }
    bool is_ignored() const { return group_.is_ignored; }
    std::int32_t preferred_size() const { return 0; }
    std::int64_t preferred_multiplier(std::int32_t) const { return 0; }
    std::int64_t preferred_count(std::int32_t) const { return 0; }
    std::int64_t folded_score() const { return group_.raw.affinity; }

   private:
    const TopologyProgram& program_;
    const Group& group_;
    const std::int64_t* counts_;
  };

  /// Guests may begin domains, and end them.
  bool holds_minima() const {
    const std::vector<HardSpread>& hard = row_.program_->hard;
    for (std::size_t h = 0; h < hard.size(); ++h)
      if (global_minimum(hard[h], counts_) != settled_.minima[h]) return false;
    return true;
  }

  /// @return false: a group has no node left
  bool leave_out_excluded() {
    feasible_count_ = settled_.feasible_count + static_cast<std::int64_t>(extras_.size());
    counted_nodes_ = settled_.counted_nodes;
    scratch_.left_out.resize(std::max(scratch_.left_out.size(), settled_.groups.size()), 0);
    scratch_.groups_left_out.clear();
    for (const std::int32_t node : excluded_.members()) {
      const std::int32_t number = row_.groups_.group_of_live(node);
      const std::int32_t g = number < 0 ? -1 : settled_.at[static_cast<std::size_t>(number)];
      if (g >= 0) scratch_.groups_left_out.push_back(g);
    }
    bool all_stay = true;
    for (const std::int32_t g : scratch_.groups_left_out) {
      const Group& group = settled_.groups[static_cast<std::size_t>(g)];
      --feasible_count_;
      counted_nodes_ -= group.is_ignored ? 0 : 1;
      all_stay = all_stay && ++scratch_.left_out[static_cast<std::size_t>(g)] < group.live;
    }
    for (const std::int32_t g : scratch_.groups_left_out) scratch_.left_out[static_cast<std::size_t>(g)] = 0;
    return all_stay;
  }

  /// @return false: an extra node lies in a domain that has no other feasible node
  bool weigh() {
    const std::vector<SoftSpread>& soft = row_.program_->soft;
    bool all_known = true;
    const auto mark = [&](std::int32_t s, std::int32_t domain) {
      const std::vector<std::uint8_t>& known = settled_.has_domain[static_cast<std::size_t>(s)];
      const auto d = static_cast<std::size_t>(domain);
      all_known = all_known && d < known.size() && known[d] != 0;
    };
    for (const ExtraPlace<Place>& extra : extras_) counted_nodes_ += mark_soft_domains(extra.topology, mark);
    scratch_.weights.assign(settled_.weights.begin(), settled_.weights.end());
    for (std::size_t s = 0; s < soft.size(); ++s)
      if (soft[s].counts_nodes) scratch_.weights[s] = row_.domain_weights_.of(static_cast<std::size_t>(counted_nodes_));
    keeps_weights_ = scratch_.weights == settled_.weights;
    return all_known;
  }

  void measure() {
    scratch_.maxima = settled_.maxima;
    scratch_.ranges = settled_.ranges;
    if (!keeps_weights_) {
      scratch_.ranges = {};
      scratch_.group_raws.resize(settled_.groups.size());
      const std::size_t constraints = row_.program_->soft.size();
      for (std::size_t g = 0; g < settled_.groups.size(); ++g) {
        const WeighedGroup group(*row_.program_, settled_.groups[g], settled_.soft_counts.data() + g * constraints);
        scratch_.group_raws[g] = raw_topology_scores(group, scratch_.weights.data());
        scratch_.ranges.add(scratch_.group_raws[g]);
      }
    }
    scratch_.extra_raws.resize(extras_.size());
    for (std::size_t e = 0; e < extras_.size(); ++e) {
      scratch_.maxima.raise_to(extras_[e].raws);
      scratch_.extra_raws[e] = raw_topology_scores(extras_[e].topology, scratch_.weights.data());
      scratch_.ranges.add(scratch_.extra_raws[e]);
    }
  }

  void compare(NodeGroups::Entry entry) {
    if (keys_.is_better(entry, best_)) best_ = entry;
  }
  NodeKey normalized(const RawScores& raws, const RawTopologyScores& topology) const {
    return make_node_key(row_.normalized(raws, scratch_.maxima, topology, scratch_.ranges), 0);
  }
  /// @param of_group  what is normalised
  void compare_group(const Group& group, NodeKey of_group) {
    if (best_.node >= 0 && group.best.key + of_group < best_.key) return;
    NodeGroups::Entry entry = group.best;
    if (!excluded_.empty())  // with nodes that left, nodes of equal keys may be in another order than in the group
      entry = row_.groups_.best_outside(row_.groups_.group(group.group), keys_, excluded_);
    entry.key += of_group;
    compare(entry);
  }

  void select() {
    for (std::size_t e = 0; e < extras_.size(); ++e)
      compare({extras_[e].key + normalized(extras_[e].raws, scratch_.extra_raws[e]), extras_[e].node});
    if (keeps_weights_ && scratch_.ranges == settled_.ranges && scratch_.maxima == settled_.maxima) {
      for (const Group& group : settled_.groups) {  // best first
        if (best_.node >= 0 && group.best.key + group.normalized < best_.key) return;
        compare_group(group, group.normalized);
      }
      return;
    }
    for (std::size_t g = 0; g < settled_.groups.size(); ++g) {
      const Group& group = settled_.groups[g];
      compare_group(group, normalized(group.node_side, keeps_weights_ ? group.raw : scratch_.group_raws[g]));
    }
  }

  const GroupedRow& row_;
  const SettledGroups& settled_;
  const SlotKeys& keys_;
  const TopologyCounts& counts_;
  const ExcludedNodes& excluded_;
  std::span<const ExtraPlace<Place>> extras_;
  SelectionScratch& scratch_;
  std::int64_t feasible_count_ = 0;
  std::int64_t counted_nodes_ = 0;  ///< feasible nodes that are not ignored
  bool keeps_weights_ = true;
  NodeGroups::Entry best_;
};

}  // namespace berth
