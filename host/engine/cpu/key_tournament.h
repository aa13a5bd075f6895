// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "batching/excluded_nodes.h"
#include "batching/node_key.h"
#include "host/cluster/pages.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// The keys of every slot of a tile on every node (above 0: feasible), and a tournament of arity four over them: entry
/// e of a level holds, for each slot, the best of entries 4e to 4e + 3 of the level below. Keys of one node lie
/// together, slot by slot.
class KeyTournament {
 public:
  KeyTournament() = default;
  /// Every key is 0.
  /// @param finds_best  best() and best_outside() will be called: without, there are keys alone
  KeyTournament(std::int32_t node_count, int slot_count, bool finds_best);

  NodeKey key(int slot, std::int32_t node) const { return key_at(levels_.front(), slot, node); }
  /// [slot_count] of a node. After a change call climb() for the node, or rebuild().
  NodeKey* write(std::int32_t node) { return levels_.front().write(page_of(node)) + offset_of(node); }

  /// Recomputes all levels over the nodes.
  void rebuild();
  /// Recomputes the entries over one node, up to the first level where nothing changes.
  void climb(std::int32_t node) { climb_groups(node, kAllGroups); }
  /// The same where the key of one slot alone changed.
  void climb(std::int32_t node, int slot) { climb_groups(node, 1u << (slot / kSlotStep)); }
  /// Prefetches the memory that write() and climb() of the node touch first.
  void prefetch(std::int32_t node) const;

  struct Best {
    NodeKey key = 0;  ///< 0: no node is feasible, and `node` has no meaning
    std::int32_t node = 0;
  };
  /// The highest key of a slot; among equal ones the first in node order.
  Best best(int slot, NodeOrder order) const;
  /// The same of the nodes outside a set. Costs a descent for each member of the set that is better than the answer.
  Best best_outside(int slot, const ExcludedNodes& excluded, NodeOrder order) const;

  /// Sets the keys of all nodes to 0. The levels over them change with rebuild().
  void clear() { levels_.front().fill(0); }
  std::uint64_t bytes() const;

 private:
  std::int32_t first_with(NodeKey key, int slot, std::size_t level, std::int32_t entry, NodeOrder order) const;
  /// @param groups  of slots, as SlotKernels::combine() takes them
  void climb_groups(std::int32_t node, std::uint32_t groups);
  using Keys = Pages<NodeKey>;
  static std::size_t page_of(std::int32_t entry) { return static_cast<std::size_t>(entry >> kPageNodesLog2); }
  std::int32_t offset_of(std::int32_t entry) const { return (entry & (kPageNodes - 1)) * slot_count_; }
  const NodeKey* read(std::size_t level, std::int32_t entry) const {
    return levels_[level].read(page_of(entry)) + offset_of(entry);
  }
  NodeKey key_at(const Keys& level, int slot, std::int32_t entry) const {
    return level.read(page_of(entry))[offset_of(entry) + slot];
  }
  /// Writes an entry of a level above the nodes. @param groups  of slots, as SlotKernels::combine() takes and returns
  std::uint32_t combine(std::size_t level, std::int32_t entry, std::uint32_t groups);

  std::int32_t node_count_ = 0;
  int slot_count_ = 0;
  std::vector<Keys> levels_;      ///< [0] per node, each next one a quarter as many
  std::int32_t top_entries_ = 1;  ///< of the last level
};

}  // namespace berth
