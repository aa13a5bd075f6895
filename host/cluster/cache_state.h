// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a cache consists of, and its changes. cache.cpp has the operations that are made of them.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "host/cluster/cache_tables.h"
#include "host/cluster/image_table.h"
#include "host/cluster/node_tree.h"
#include "host/cluster/pod_footprint.h"
#include "host/cluster/scalar_index.h"
#include "host/cluster/undo_steps.h"

namespace berth {

struct ClusterCache::State {
  NodeEntrySet nodes;
  CachedPodSet pods;
  std::vector<CachedPod> new_pods;  ///< that `pods` lacks, until index_new_pods()
  NodeTree tree;
  ImageTable images;
  FootprintMemo footprints;
  ScalarIndex<NodeEntry> scalars;
  ClusterStorage storage;
  NodeEntry* newest = nullptr;
  std::uint64_t generation = 0;

  std::vector<const NodeInfo*> order;
  std::uint64_t order_generation = 0;
  std::int64_t order_difference_count = 0;  ///< entries of which is_real() and in_order differ

  UndoSteps* undo = nullptr;  ///< where changes are noted; null: they are for good
  bool has_vacant = false;    ///< entries outside the order became vacant while changes were noted

  State();
  State(const State& other);
  NodeEntry* find(std::string_view name) const;
  NodeEntry& find_or_create(std::string_view name);
  void unlink(NodeEntry& entry) noexcept;
  void touch(NodeEntry& entry) noexcept;
  /// Of all entries, in the zone tree, the images and the index of scalars.
  void set_node(NodePtr node);
  void clear_node(NodeEntry& entry);
  void drop_if_vacant(NodeEntry& entry) noexcept;
  void erase(NodeEntry& entry) noexcept;
  void drop_vacant() noexcept;
  /// The pod must not be in the cache. Places it, or throws and changes nothing.
  /// @param not_indexed  gets the pod instead of the index of pods; null: it is known by its uid at once
  void place(PodPtr pod, std::string_view node_name, PodStage stage, std::vector<CachedPod>* not_indexed = nullptr);
  bool index_new_pods();
  enum class Ports : std::uint8_t { kFree, kTakeOff };
  /// Takes the pod off, or throws and changes nothing.
  /// @param ports  kFree: the pod's ports become free whoever else has them; kTakeOff: only what this pod brought goes
  void displace(CachedPodSet::const_iterator found, Ports ports = Ports::kFree);
  /// As displace() and place() on pod->node_name, or throws and changes nothing.
  /// @param found  a pod of the same uid
  void replace(CachedPodSet::const_iterator found, PodPtr pod);
  void rebuild_order();
  void ensure_order() {
    if (order_difference_count != 0) rebuild_order();
  }

 private:
  class Created;
  class Placed;
  class Displaced;
  class Exchanged;
  class ObjectSet;
  class Ordered;
  void exchange(CachedPodSet::const_iterator found, PodPtr pod);
  void set_object(NodeEntry& entry, NodePtr node);
  void exchange_object(NodeEntry& entry, NodePtr& node) noexcept;
};

}  // namespace berth
