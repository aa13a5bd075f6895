// SPDX-License-Identifier: Apache-2.0
#pragma once

// Finds the best node of any class without a row for it: nodes of similar load lie side by side in trees of boxes, and
// a search looks into the boxes alone that may hold a better node than the best one so far. What a pod costs depends
// on how many boxes that are, and not on how many classes there are. docs/decisions/0011-an-index-by-load.md

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "batching/commit_log.h"
#include "batching/compiled_profile.h"
#include "batching/excluded_nodes.h"
#include "batching/node_key.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/load_boxes.h"
#include "host/engine/cpu/nominated_loads.h"
#include "host/engine/cpu/slot_kernel.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// The nodes of a snapshot in groups, for one profile. A group is one tree; a search bounds what is not load by group.
class LoadIndex {
 public:
  /// Whether bounds exist for the profile's scores.
  static bool serves(const CompiledProfile& profile);

  /// @param profile  that serves() accepts; must outlive the object
  /// @param changes_min, nodes_per_change  the trees are laid out again after so many changes, and one for so many
  /// nodes
  /// @param nominated  pods that count where nodes are filtered, but not where they are scored
  /// @param moving_nodes_min  with so many nodes a group, those that change leave their leaves, so that leaves of nodes
  /// in one state stay as they are
  LoadIndex(const CompiledProfile& profile, std::int64_t changes_min, std::int64_t nodes_per_change,
            std::int64_t moving_nodes_min, CountedNominations nominated = {})
      : profile_(profile),
        changes_min_(changes_min),
        nodes_per_change_(nodes_per_change),
        moving_nodes_min_(moving_nodes_min),
        nominated_(nominated) {}

  /// Follows the log, or lays the trees out: when that was never done, after clear(), or when many nodes changed.
  /// @param group_of  [slot] -1: no node. Read where the trees are laid out
  void catch_up(const Snapshot& snapshot, const CommitLog& log, std::span<const std::int32_t> group_of,
                std::int32_t group_count);
  /// So many searches have opened so many blocks. Where they open many, nodes that change leave their leaves from now
  /// on.
  void note_searches(std::int64_t searches, std::int64_t blocks);
  /// The groups changed, or objects of nodes: lay out everything with the next catch_up().
  void clear() { is_laid_out_ = false; }

  /// catch_up() has little to do.
  bool is_close(const CommitLog& log) const {
    return is_laid_out_ && log.reaches(position_) &&
           log.position() - position_ <= static_cast<std::uint64_t>(changes_min_);
  }

  /// Nodes that no box holds, since they offer no cpu or memory, or amounts beyond exact doubles: callers evaluate
  /// them.
  std::span<const std::int32_t> odd_nodes() const { return odd_; }
  /// How many nodes of the group have room for one more pod and its cpu and memory; may stop counting at `enough`.
  /// @param side  [slot] below 0: does not count. Empty: all nodes do
  std::int64_t count_fitting(const ClassOnLoads& of_class, std::int32_t group, std::int64_t enough,
                             std::span<const std::int32_t> side = {}) const;

  /// Nodes by what they are short of for a class.
  struct Shortage {
    bool of_cpu = false;
    bool of_memory = false;
    bool forever = false;  ///< some request is more than the node offers
    friend bool operator==(const Shortage&, const Shortage&) = default;
  };
  /// Calls all(shortage, nodes) for boxes of the group whose nodes agree, and one(node) for other nodes. Nodes without
  /// room for one more pod, and odd ones, are in neither: has_full_nodes().
  template <class All, class One>
  void count_short(const ClassOnLoads& of_class, std::int32_t group, All all, One one) const {
    for (const std::int32_t lane : top_.lanes_of[static_cast<std::size_t>(group)])
      count_short_in(of_class, top_.boxes[static_cast<std::size_t>(lane / kBoxLanes)], lane % kBoxLanes,
                     top_.blocks[static_cast<std::size_t>(lane)], all, one);
  }
  /// catch_up() has nothing to do.
  bool is_current(const CommitLog& log) const { return is_laid_out_ && position_ == log.position(); }
  bool has_full_nodes() const { return full_nodes_ > 0; }

  bool is_odd(std::int32_t node) const { return room_on_[static_cast<std::size_t>(node)].is_odd(); }
  /// The same of one node that is not odd.
  bool fits(const ClassOnLoads& of_class, std::int32_t node) const {
    return room_on_[static_cast<std::size_t>(node)].holds(of_class);
  }
  /// is_odd() and fits() will be asked of the node.
  void prefetch(std::int32_t node) const { __builtin_prefetch(&room_on_[static_cast<std::size_t>(node)]); }

  std::uint64_t bytes() const;
  std::int64_t layouts() const { return layouts_; }

 private:
  friend class LoadSearch;

  /// Sixteen boxes side by side. Those of a leaf are nodes, those of any other block blocks.
  struct Block {
    LoadBoxes boxes;
    std::int32_t first_child = -1;  ///< the children are consecutive; -1: a leaf
    std::int32_t parent = -1;       ///< -1: the box around the block is in top_
    std::int32_t lane = 0;          ///< of that box
    std::int32_t group = 0;
  };
  /// Where searches begin: blocks of all groups side by side, so that few steps pass over the widest boxes.
  struct Top {
    std::vector<LoadBoxes> boxes;
    std::vector<std::int32_t> blocks;                 ///< [lane]
    std::vector<std::int32_t> groups;                 ///< [lane]
    std::vector<std::vector<std::int32_t>> lanes_of;  ///< [group]
  };
  /// Leaves of a group for nodes that changed since the layout.
  struct Loose {
    std::int32_t first_leaf;
    std::int32_t count;  ///< nodes
  };
  /// What is free on a node for one more pod.
  struct RoomOnNode {
    double cpu = kOdd;
    double memory = kOdd;
    static constexpr double kOdd = -0x1p70;   ///< no box holds the node
    static constexpr double kFull = -0x1p69;  ///< of pods
    bool is_odd() const { return cpu == kOdd; }
    bool holds(const ClassOnLoads& of_class) const {
      return cpu != kFull && !NodeResourcesFit::is_short(of_class.cpu.request, cpu, 0.0) &&
             !NodeResourcesFit::is_short(of_class.memory.request, memory, 0.0);
    }
  };
  /// A node while its group is laid out.
  struct Place {
    std::array<float, 4> position;
    std::int32_t node;
    bool is_tight;  ///< nominated pods leave little room
  };

  bool holds(const Snapshot& snapshot, std::int32_t node) const;
  LoadBox box_of(const Snapshot& snapshot, std::int32_t node) const;
  bool is_tight(const Snapshot& snapshot, std::int32_t node, double cpu, double memory) const;
  void follow_nominations(const Snapshot& snapshot);
  void lay_out(const Snapshot& snapshot, std::span<const std::int32_t> group_of, std::int32_t group_count);
  void lay_out_group(std::int32_t group, std::span<Place> nodes, std::int64_t top_blocks, const Snapshot& snapshot);
  void add_tree(std::int32_t group, std::span<const Place> nodes, std::int64_t top_blocks, const Snapshot& snapshot);
  void put_under(std::int32_t child, std::int32_t parent, std::int32_t lane);
  void add_to_top(std::int32_t block);
  void fill_place(const Snapshot& snapshot, Place& place) const;
  void add_loose_leaves(std::int32_t group);
  void move(std::int32_t node, const LoadBox& box, const Snapshot& snapshot);
  void settle(std::int32_t group, const Snapshot& snapshot);
  void write_in_top(std::int32_t lane, const LoadBox& box);
  void put(std::int32_t position, LoadBox box);
  std::int32_t add_block(std::int32_t group);
  void update(const Snapshot& snapshot, std::int32_t node);
  LoadBox join(std::int32_t block) const {
    return slot_kernels().join(blocks_[static_cast<std::size_t>(block)].boxes, packs_);
  }
  void write_room(std::int32_t node, const LoadBox& box);
  std::int64_t count_fitting_in(const ClassOnLoads& of_class, const LoadBoxes& boxes, std::int32_t lane,
                                std::int32_t block, std::int64_t enough) const;
  std::int64_t count_accepted_in(const ClassOnLoads& of_class, std::int32_t block, std::int64_t enough,
                                 std::span<const std::int32_t> side) const;

  /// What all nodes of a box are short of. nullopt: they may differ
  static std::optional<Shortage> shortage_of(const ClassOnLoads& of_class, const LoadBoxes& boxes, std::size_t lane);
  template <class All, class One>
  void count_short_in(const ClassOnLoads& of_class, const LoadBoxes& boxes, std::int32_t lane, std::int32_t block,
                      All& all, One& one) const {
    const auto l = static_cast<std::size_t>(lane);
    if (boxes.count[l] == 0) return;
    if (const std::optional<Shortage> shortage = shortage_of(of_class, boxes, l)) return all(*shortage, boxes.count[l]);
    const Block& inner = blocks_[static_cast<std::size_t>(block)];
    for (std::int32_t child = 0; child < kBoxLanes; ++child) {
      if (inner.first_child >= 0) {
        count_short_in(of_class, inner.boxes, child, inner.first_child + child, all, one);
      } else if (inner.boxes.count[child] > 0) {
        const std::int32_t position = block * kBoxLanes + child;
        one(node_at_[static_cast<std::size_t>(position)]);
      }
    }
  }

  const CompiledProfile& profile_;
  std::int64_t changes_min_, nodes_per_change_, moving_nodes_min_;
  CountedNominations nominated_;
  std::uint64_t nominations_generation_ = 0;
  std::size_t nominations_seen_ = 0;
  bool packs_ = profile_.fit.type == ScoringStrategyType::kMostAllocated;
  std::vector<Block> blocks_;
  std::vector<std::int32_t> node_at_;      ///< [block * kBoxLanes + lane] of leaves; -1: none
  std::vector<std::int32_t> position_of_;  ///< [slot] in node_at_; -1: odd, or no node
  std::vector<RoomOnNode> room_on_;        ///< [slot]
  std::int64_t full_nodes_ = 0;
  Top top_;
  std::int32_t home_end_ = 0;  ///< of the blocks of the latest layout
  std::vector<Loose> loose_;   ///< [group] empty: nodes stay where they are
  double pod_cpu_ = 0;         ///< a 64th of what an average node offers
  double pod_memory_ = 0;
  std::vector<std::int32_t> odd_;
  std::uint64_t position_ = 0;  ///< in the log
  std::int64_t changes_ = 0;    ///< since the layout
  bool may_move_ = false;       ///< trees are large enough
  bool moves_ = false;          ///< nodes that change leave their leaves, where trees are large enough
  std::int64_t searches_ = 0;   ///< since note_searches() looked at them
  std::int64_t blocks_opened_ = 0;
  std::int64_t layouts_ = 0;
  bool is_laid_out_ = false;
};

/// What is added to the total of a node's load.
struct BasesOfNodes {
  /// [group] at least what is added on each of its nodes that the search has to find; below 0: none is wanted
  std::span<const std::int32_t> of_group;
  /// [group] other than 0: on a node that is `side` of the node and `beside_side` of the group, or the node is not
  /// wanted, since its `side` is below 0. Empty: the nodes of no group differ
  std::span<const std::uint8_t> differs = {};
  std::span<const std::int32_t> side = {};         ///< [slot]
  std::span<const std::int32_t> beside_side = {};  ///< [group] empty: 0
};

/// One search for nodes of one class. Changes nothing but its own memory, which the next search uses again.
class LoadSearch {
 public:
  struct Candidate {
    NodeKey bound = 0;
    std::int32_t node = -1;
    std::int32_t group = -1;
  };

  /// The arguments must outlive the search. @param excluded  nodes that are not returned
  void begin(const LoadIndex& index, const ClassOnLoads& of_class, const BasesOfNodes& bases,
             const ExcludedNodes& excluded);
  /// A node that was not returned yet and whose bound reaches `least`; node -1 when there is none. The first ones are
  /// among the best, so that a caller which raises `least` to the best key so far sees few.
  /// @param least  not lower than in the calls before
  Candidate next(NodeKey least);

  /// Of up to kBoxLanes nodes, whatever their groups, those whose bounds reach `least`, bit by bit.
  /// Call after begin(). @param nodes  not odd. @param bases  [node] what is added to the total of its load, at least 0
  std::uint32_t reaching(std::span<const std::int32_t> nodes, std::span<const std::int32_t> bases, NodeKey least,
                         std::array<NodeKey, kBoxLanes>& bounds);

  std::int64_t blocks_seen = 0;  ///< by all searches so far

 private:
  /// A box that was bounded.
  struct Found {
    NodeKey bound;
    std::int32_t at;  ///< block in the box; below 0: -1 - the place of a node in node_at_
    bool operator<(const Found& other) const { return bound < other.bound; }
  };
  void open_top(NodeKey least);
  bool take_from_top(NodeKey least);
  void open(std::int32_t block, NodeKey least);
  std::uint32_t bound_leaf(std::int32_t block, NodeKey least, NodeKey* bounds) const;

  const LoadIndex* index_ = nullptr;
  const ClassOnLoads* of_class_ = nullptr;
  ClassOnBoxes on_boxes_{};
  BasesOfNodes bases_;
  const ExcludedNodes* excluded_ = nullptr;
  std::vector<Found> found_;     ///< to be looked at, last first
  std::vector<Found> top_left_;  ///< boxes of the top, to be looked at after them
  bool is_begun_ = false;        ///< the boxes of the top are bounded
  bool is_sorted_ = false;       ///< those that are left, the best last
  LoadBoxes gathered_{};         ///< of reaching()
};

}  // namespace berth
