// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "batching/excluded_nodes.h"
#include "batching/pod_class.h"
#include "host/cluster/pages.h"
#include "host/engine/cpu/key_tournament.h"
#include "host/engine/cpu/lane_params.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// The rows of up to kMaxSlots classes of one profile: the keys of all classes ("slots") on a node are adjacent in
/// memory, so that a placement refreshes its node for every class in one pass. Rows are as of `position` in the
/// commit log; refresh() updates one node.
class RowTile {
 public:
  /// Evaluates nothing yet: build() does.
  /// @param classes at least one, at most kMaxSlots, all of one profile that has keys
  /// @param retired a tile that is no longer needed; its memory is reused where the shape is the same. May be null
  RowTile(std::span<const std::int32_t> classes, ClassTable& table, const Snapshot& snapshot,
          RowTile* retired = nullptr);
  RowTile(const RowTile&) = delete;
  RowTile& operator=(const RowTile&) = delete;

  /// Evaluates every class on every node, in parallel over pages of nodes (inside the caller's task arena).
  void build(const Snapshot& snapshot);
  /// The node's object may have changed: takes over its node sides. Call refresh() afterwards.
  void reload_base(const Snapshot& snapshot, std::int32_t node);
  /// Some node side of the classes was built again, or will be when it is needed.
  bool has_outdated_node_side() const;
  /// Re-evaluates one node for every class. Normalisers that moved take effect with finish_refresh().
  void refresh(const Snapshot& snapshot, std::int32_t node);
  void finish_refresh(const Snapshot& snapshot);
  /// Prefetches the memory that refresh() of the node touches first.
  void prefetch(std::int32_t node) const { keys_.prefetch(node); }

  /// The nodes count as infeasible for the slot from now on, and no others do but those that are: they refuse its pods
  /// for a reason that the row does not contain. Costs as much as differs from the call before.
  /// @param version  another one whenever `nodes` differs from the call before for the slot; 0: none
  void leave_out(const Snapshot& snapshot, int slot, const ExcludedNodes& nodes, std::uint64_t version);
  /// The nodes that leave_out() left out are none.
  bool is_whole(int slot) const { return left_out_[static_cast<std::size_t>(slot)].nodes.empty(); }

  int slot_of(std::int32_t pod_class) const;
  std::span<const std::int32_t> classes() const { return classes_; }
  const LaneParams& lanes() const { return lanes_; }

  std::int64_t feasible_count(int slot) const { return feasible_count_[static_cast<std::size_t>(slot)]; }
  using Best = KeyTournament::Best;
  /// Of a slot without a topology program, as best_outside().
  Best best(int slot, NodeOrder order) const { return keys_.best(slot, order); }
  /// Above 0: feasible; below 0: feasible, but left out.
  NodeKey key(int slot, std::int32_t node) const { return keys_.key(slot, node); }
  // The same of the nodes outside a set.
  std::int64_t feasible_outside(int slot, const ExcludedNodes& excluded) const;
  Best best_outside(int slot, const ExcludedNodes& excluded, NodeOrder order) const {
    return keys_.best_outside(slot, excluded, order);
  }
  /// Weighted node-side total of an accepted node, below 0 where the node side refuses. Of a class with a topology
  /// program it leaves out what is normalised: GroupedRow adds that.
  std::int32_t base(int slot, std::int32_t node) const;
  /// Largest raw scores of the feasible nodes, by which the totals in keys are normalised. Where they cannot move, of
  /// all nodes that the node side accepts: those do not differ.
  const RawScores& maxima(int slot) const { return normalizers_[static_cast<std::size_t>(slot)].maxima; }
  /// The same of the feasible nodes outside a set, of which there is at least one.
  RawScores maxima_outside(int slot, const Snapshot& snapshot, const ExcludedNodes& excluded) const;
  /// The weights by which normalised scores count in the totals of the slot.
  NormalizedWeights normalized_weights(int slot) const {
    return node_sides_[static_cast<std::size_t>(slot)]->normalized_weights();
  }

  /// Can the normalisers of the slot move while its nodes fill up?
  bool tracks_maxima(int slot) const { return normalizers_[static_cast<std::size_t>(slot)].tracked; }

  /// [rule of RawScores] how many feasible nodes hold each of the slot's maxima.
  using MaximaHolders = std::array<std::int64_t, RawScores::kRules>;
  MaximaHolders maxima_holders(int slot) const;
  /// Takes a node that becomes infeasible off `holders`. @return true when it was the last one of a maximum
  bool loses_holder(int slot, const Snapshot& snapshot, std::int32_t node, MaximaHolders& holders) const;
  std::uint64_t bytes() const;

  std::uint64_t position = 0;            ///< in the commit log
  std::uint64_t node_sides_version = 0;  ///< ClassTable::node_sides_version() up to which the tile is current
  std::uint64_t last_used = 0;           ///< for the cache that holds tiles
  std::int64_t pods_left = 0;            ///< of the batch, of its classes; for the cache too
  std::int64_t refresh_count = 0;        ///< (class, node) evaluations so far

 private:
  /// Counts of feasible nodes by raw score, so that a maximum that loses its last holder is seen at once.
  struct Normalizer {
    bool tracked = false;
    bool moved = false;
    RawScores maxima;
    /// [rule of RawScores] (raw, feasible nodes), raw descending
    std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, RawScores::kRules> counts;
  };

  /// The nodes that leave_out() left out.
  struct LeftOut {
    std::uint64_t version = 0;
    std::vector<std::int32_t> nodes;
  };

  bool evaluate(const Snapshot& snapshot, std::int32_t node, std::int64_t* feasible_count);
  bool evaluate_keys(const Snapshot& snapshot, std::int32_t node, std::int64_t* feasible_count);
  std::uint64_t slots_left_out(std::int32_t node) const {
    return slots_left_out_.empty() ? 0 : slots_left_out_[static_cast<std::size_t>(node)];
  }
  void turn_keys(std::int32_t node, std::uint64_t slots, bool left_out, std::int64_t* feasible_count);
  void turn(const Snapshot& snapshot, int slot, std::int32_t node, bool left_out);
  bool evaluate_in_integers(const Snapshot& snapshot, std::int32_t node, const std::int32_t* base, NodeKey* keys,
                            std::int64_t* feasible_count);
  /// Node-side totals of all slots on a node, below 0 where the node side or a port refuses; may lie in `scratch`.
  const std::int32_t* node_base(const Snapshot& snapshot, std::int32_t node, std::int32_t* scratch) const;
  void take_storage(RowTile* retired);
  bool has_topology(int slot) const { return table_[classes_[static_cast<std::size_t>(slot)]].topology != nullptr; }
  std::int32_t initial_base(const Snapshot& snapshot, int slot, std::int32_t node) const;
  void fill_base(const Snapshot& snapshot, std::int32_t first, std::int32_t last);
  void count_raws(const Snapshot& snapshot, int slot);
  void note_flip(const Snapshot& snapshot, int slot, std::int32_t node, int change);
  std::int32_t normalized_base(const Snapshot& snapshot, int slot, std::int32_t node) const;
  void renormalize(const Snapshot& snapshot, int slot);

  ClassTable& table_;
  std::vector<std::int32_t> classes_;
  std::vector<const NodeSideRow*> node_sides_;
  std::vector<std::uint64_t> node_side_versions_;  ///< of those
  int slot_count_ = 0;
  std::int32_t node_count_ = 0;
  std::vector<int> port_slots_;
  LaneParams lanes_;

  bool finds_best_ = false;   ///< some slot has no topology program: others are selected from in groups
  bool shares_base_ = false;  ///< all slots have one node side whose normalisers never move: its totals serve as base
  Pages<std::int32_t> base_;  ///< per node and slot; empty when shared
  KeyTournament keys_;
  std::array<std::int64_t, kMaxSlots> feasible_count_{};
  std::vector<Normalizer> normalizers_;
  std::vector<int> tracked_slots_;
  std::vector<LeftOut> left_out_;              ///< [slot]
  std::vector<std::uint64_t> slots_left_out_;  ///< [node] bit s: left out for slot s; empty where no node ever was
};

}  // namespace berth
