// SPDX-License-Identifier: Apache-2.0
#pragma once

// A class that a node is selected for by an index, with what the index and the snapshot say of single nodes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "batching/compiled_profile.h"
#include "batching/excluded_nodes.h"
#include "batching/node_key.h"
#include "batching/pod_class.h"
#include "batching/selection.h"
#include "host/cluster/snapshot.h"
#include "host/engine/cpu/class_on_groups.h"
#include "host/engine/cpu/load_index.h"
#include "host/engine/cpu/node_partition.h"

namespace berth {

struct IndexQuery {
  const PodClass* pod_class = nullptr;
  const CompiledProfile* profile = nullptr;
  const NodeSideRow* row = nullptr;
  const SideOnNodes* side_on_nodes = nullptr;
  const SideOnGroups* side = nullptr;  ///< for the partition's groups
  const Snapshot* snapshot = nullptr;
  const ExcludedNodes* refused = nullptr;  ///< nodes that are not feasible for other reasons than side and load
  const NodePartition* partition = nullptr;
  const LoadIndex* index = nullptr;
  ClassOnLoads on_loads{};
  /// [slot] other than 0: refused for what mark_refusing_other_loads() looks at. Empty: the class asks for none of that
  std::span<const double> other_loads;
  std::span<const std::int32_t> refusing_other_loads;  ///< those nodes
  /// The only nodes that may be feasible, where they are few. null: they may be many
  const std::vector<std::int32_t>* only = nullptr;
  /// The index counts nominated pods from this priority on.
  std::optional<std::int32_t> nominated_from;

  std::int32_t side_total(std::int32_t node) const { return row->total_of[static_cast<std::size_t>(node)]; }
  /// Of a node that is not odd: the load accepts it.
  bool has_room(std::int32_t node) const { return index->fits(on_loads, node) && !refuses_other_loads(node); }
  bool refuses_other_loads(std::int32_t node) const {
    return !other_loads.empty() && other_loads[static_cast<std::size_t>(node)] != 0;
  }
  /// Node side, load and nominations accept the pod.
  bool fits(std::int32_t node) const;
  /// Of a node that fits.
  NodeKey key_on(std::int32_t node, std::int64_t topology_total) const;
};

/// The best of the nodes so far.
struct BestNode {
  NodeKey key = 0;
  std::int32_t node = -1;
  void add(NodeKey other, std::int32_t other_node, NodeOrder order) {
    if (other > key || (other == key && other > 0 && order.is_before(other_node, node))) *this = {other, other_node};
  }
};

/// Adds those of many nodes whose bound reaches the best one, in registers full of nodes.
class ListedByBound {
 public:
  /// @param search  begun for the query
  ListedByBound(const IndexQuery& query, LoadSearch& search, BestNode& best)
      : query_(query), search_(search), best_(best) {}
  /// A node that fits. @param topology_total  of it
  void add(std::int32_t node, std::int64_t topology_total);
  /// Call after the last one.
  void finish();

 private:
  const IndexQuery& query_;
  LoadSearch& search_;
  BestNode& best_;
  std::size_t count_ = 0;
  std::array<std::int32_t, kBoxLanes> nodes_;
  std::array<std::int32_t, kBoxLanes> bases_;
};

}  // namespace berth
