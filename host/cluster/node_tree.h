// SPDX-License-Identifier: Apache-2.0
#pragma once

// The zone of each real node, and the resulting node order: docs/behaviour/scheduler-core.md 2.5.

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/undo_steps.h"

namespace berth {

struct NodeEntry;

/// Nodes of one zone in order of arrival, linked through the entries so that removal has constant cost.
struct Zone {
  std::string key;
  NodeEntry* first = nullptr;
  NodeEntry* last = nullptr;
};

/// A node in the cache: the public part and the links of its two lists.
struct NodeEntry : NodeInfo {
  NodeEntry* newer = nullptr;  ///< list of all entries, most recently changed first
  NodeEntry* older = nullptr;
  NodeEntry* zone_previous = nullptr;
  NodeEntry* zone_next = nullptr;
  Zone* zone = nullptr;   ///< null: not in the tree
  bool in_order = false;  ///< in the list that nodes_in_order() gave last

  bool is_real() const { return node != nullptr; }
  /// Neither node nor pods: kept only because the list still refers to it, or a call that may be taken back.
  bool is_vacant() const { return node == nullptr && pods.empty(); }
};

/// Zones in order of first appearance; an emptied zone is removed and returns at the end.
class NodeTree {
 public:
  /// Appends `entry` to its zone. An existing entry moves only when its zone key changed.
  /// @param undo  null: the change is for good
  void put(NodeEntry& entry, const std::string& zone_key, UndoSteps* undo = nullptr);
  /// Nothing happens when it is not in the tree.
  void remove(NodeEntry& entry, UndoSteps* undo = nullptr);

  /// Calls use(zone key, entry) for zones in their order, and the nodes of each in order of arrival.
  template <class Use>
  void for_each(Use use) const {
    for (const Zone& zone : zones_)
      for (const NodeEntry* entry = zone.first; entry != nullptr; entry = entry->zone_next) use(zone.key, *entry);
  }

  /// The first node of every zone, then the second of every zone, and so on.
  std::vector<const NodeInfo*> interleaved() const;
  std::size_t node_count() const { return node_count_; }

 private:
  using Zones = std::list<Zone>;
  using ZoneByKey = std::unordered_map<std::string, Zones::iterator>;
  /// Where a node was, and the zone that it was the last node of.
  struct Left {
    Zone* zone = nullptr;  ///< null: it was in none
    NodeEntry* previous = nullptr;
    NodeEntry* next = nullptr;
    Zones emptied;
    Zones::iterator zone_behind;
    ZoneByKey::node_type key;
  };
  class Move;

  Left leave(NodeEntry& entry) noexcept;
  void return_to(Left& left, NodeEntry& entry) noexcept;
  void append(Zone& zone, NodeEntry& entry) noexcept;
  static void unlink(NodeEntry& entry) noexcept;

  Zones zones_;
  ZoneByKey zone_by_key_;
  std::size_t node_count_ = 0;
};

}  // namespace berth
