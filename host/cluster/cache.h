// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cluster state: nodes, and pods with their node, bound or assumed. Every change of a node advances its generation.
// Snapshots follow events instead (snapshot.h). docs/behaviour/scheduler-core.md 2.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/objects/cluster_objects.h"

namespace berth {

/// (hostIP, protocol, port) of a used host port; empty ip and protocol already read as 0.0.0.0 and TCP.
struct HostPort {
  std::string ip;
  std::string protocol;
  std::int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

/// Host ports of app containers and sidecars; each key once. docs/behaviour/plugins-node.md 9.
std::vector<HostPort> wanted_host_ports(const PodSpec& spec);

/// A node with its pods. Without a node object it is a ghost: known only through its pods, and in no snapshot. Sums
/// wrap around at the int64 range like kube-scheduler's, so that removing a pod always subtracts what it added.
struct NodeInfo {
  std::string name;
  /// Of the entry, in its cache and in the copies of it; no other entry of the process has it.
  std::uint64_t id = 0;
  NodePtr node;              ///< null: ghost
  std::vector<PodPtr> pods;  ///< append on add; removal swaps the last into the hole
  ResourceAmounts requested;
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
  /// Sorted. A port that several pods have is listed once for each: removing one of them frees it nevertheless
  /// (docs/behaviour/plugins-node.md 9), forgetting a pod that was never bound does not.
  std::vector<HostPort> used_ports;
  std::uint64_t generation = 0;
};

/// One image name: the first reported size, and the number of nodes that have it.
struct ImageState {
  std::int64_t size_bytes = 0;
  std::int32_t node_count = 0;
  bool sizes_differ = false;  ///< some node that has or had it reported another size
};

/// Errors of watch-driven operations are return values, not exceptions: the caller logs them and continues.
enum class CacheResult : std::uint8_t { kOk, kUnknownPod, kAlreadyPresent, kWrongState, kNodeMismatch, kUnknownNode };

class UndoSteps;  // undo_steps.h

/// Pods are keyed by uid. One thread at a time. An operation that does not return kOk has no effect.
/// A NodeInfo keeps its address while it is in nodes_in_order() or has a node or a pod.
class ClusterCache {
 public:
  ClusterCache();
  ~ClusterCache();
  /// An independent cache in the same state, its node order included.
  ClusterCache(const ClusterCache& other);
  ClusterCache& operator=(const ClusterCache&) = delete;

  void add_node(NodePtr node);  ///< a ghost of that name becomes real and keeps its pods
  /// The node moves in the tree only when its zone key changed. An image that no other node has gets the size that
  /// this update reports.
  void update_node(NodePtr node);
  CacheResult remove_node(std::string_view name);

  /// The pod is stored as given: its node_name may be empty, but must not name another node (kNodeMismatch).
  CacheResult assume_pod(PodPtr pod, std::string_view node_name);
  /// @param decisions  about its unbound claims; null: none. They are assumed until forget_pod().
  CacheResult assume_pod(PodPtr pod, std::string_view node_name, VolumeDecisionsPtr decisions);
  CacheResult forget_pod(std::string_view uid);  ///< kOk when absent, kWrongState when confirmed
  // The pods of a new cache, at less cost than by assume_pod() and add_pod(): each is placed, and then all are known by
  // their uids. No other change may come in between.

  /// Makes room for `count` pods that come to the node.
  void expect_new_pods(std::string_view node_name, std::size_t count);
  CacheResult place_new_pod(PodPtr pod, std::string_view node_name, bool is_assumed);
  /// Other threads may read nodes and their pods meanwhile, and nothing else. @return false: two pods have one uid, and
  /// the cache is of no use
  bool index_new_pods();
  /// From a watch or a file, on pod->node_name; kUnknownNode when that is empty. Confirms an assumed pod, and moves it
  /// when it was assumed on another node.
  CacheResult add_pod(PodPtr pod);
  CacheResult update_pod(PodPtr pod);  ///< kNodeMismatch when it names another node; kWrongState when assumed
  CacheResult remove_pod(std::string_view uid);
  /// From now on changes are noted in `steps`, which may take them back; null: no longer. The steps are to be finished
  /// or undone before. Node entries keep their address in between. What throws may have changed a part.
  void note_changes_in(UndoSteps* steps) noexcept;
  /// Host ports that the node's pods left behind, for a cache that is brought to the state of another one.
  void set_used_ports(std::string_view node_name, const std::vector<HostPort>& used);
  /// The size of an image that some node has, where another node reports or reported another one: the same for sizes.
  void set_image_size(std::string_view name, std::int64_t size_bytes);
  bool is_assumed(std::string_view uid) const;
  PodPtr get_pod(std::string_view uid) const;               ///< null when absent
  const NodeInfo* node_of_pod(std::string_view uid) const;  ///< null when absent
  struct PodPlace {
    PodPtr pod;
    const NodeInfo* node = nullptr;
    bool is_assumed = false;
  };
  std::optional<PodPlace> find_pod(std::string_view uid) const;  ///< the three of them at once; nullopt when absent

  /// Real nodes, zone-interleaved: docs/behaviour/scheduler-core.md 2.5. Rebuilt only when a node was added or
  /// removed since the last call; a changed zone label has an effect at the next rebuild. Valid until the next call.
  std::span<const NodeInfo* const> nodes_in_order() const;
  /// The real nodes of each zone in order of arrival, zones in order of first appearance: what the order follows from.
  /// Valid until the next change.
  struct NodesOfZone {
    std::string_view zone_key;
    std::vector<const NodeInfo*> nodes;
  };
  std::vector<NodesOfZone> nodes_by_zone() const;
  /// Advances when nodes_in_order() was rebuilt.
  std::uint64_t order_generation() const;
  /// Real nodes whose generation is above `generation`, most recently changed first.
  std::vector<const NodeInfo*> changed_since(std::uint64_t generation) const;
  std::uint64_t generation() const;                        ///< of the latest change
  const NodeInfo* find_node(std::string_view name) const;  ///< ghosts included; null when unknown
  /// Real nodes in no order: nodes_in_order() may change the order, this does not.
  std::vector<const NodeInfo*> nodes() const;
  /// Those among them that offer the scalar resource or have a pod that requests it, and perhaps others.
  std::vector<const NodeInfo*> nodes_with_scalar(std::string_view name) const;
  const std::map<std::string, ImageState, std::less<>>& images() const;
  /// Whether an update that says of the node what it says now changes the size of an image: only this node is left with
  /// it, and reports another size than the one that counts.
  bool would_resize_images(const Node& node) const;

  const ClusterStorage& storage() const;
  /// Objects of the storage: they are changed from outside. What placements assume comes and goes with their pods.
  ClusterStorage& storage();

  std::vector<PodPtr> pods() const;  ///< of all nodes, ghosts included, in no order
  /// No object, no pod and no ghost.
  bool empty() const;
  std::size_t pod_count() const;
  std::size_t ghost_count() const;
  std::vector<const NodeInfo*> ghosts() const;  ///< in no order
  std::uint64_t memory_bytes() const;           ///< of the cache itself, objects it shares not included

  /// Recounts every aggregate from the pods and compares: one line per difference, empty when consistent.
  /// docs/behaviour/scheduler-core.md 2.7.
  std::vector<std::string> check_consistency() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth
