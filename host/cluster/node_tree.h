// SPDX-License-Identifier: Apache-2.0
#pragma once

// The zone of each real node, and the resulting node order: docs/behaviour/scheduler-core.md 2.5.

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/cluster/cache.h"

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
  Zone* zone = nullptr;     ///< null: not in the tree
  bool in_order = false;    ///< in the list that nodes_in_order() gave last
  bool is_leaving = false;  ///< waits for the next rebuild of that list to be dropped

  bool is_real() const { return node != nullptr; }
  /// Neither node nor pods: kept only because the list still refers to it.
  bool is_vacant() const { return node == nullptr && pods.empty(); }
};

/// Zones in order of first appearance; an emptied zone is removed and returns at the end.
class NodeTree {
 public:
  /// Appends `entry` to its zone. An existing entry moves only when its zone key changed.
  void put(NodeEntry& entry, const std::string& zone_key);
  void remove(NodeEntry& entry);  ///< nothing happens when it is not in the tree

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
  void unlink(NodeEntry& entry);

  std::list<Zone> zones_;
  std::unordered_map<std::string, std::list<Zone>::iterator> zone_by_key_;
  std::size_t node_count_ = 0;
};

}  // namespace berth
