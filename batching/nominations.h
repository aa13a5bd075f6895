// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batching/pod_class.h"

namespace berth {

/// Pods that are nominated to a node on which they do not run yet. Rows contain the state without them; at selection
/// the few nominated nodes get kube-scheduler's first pass: docs/behaviour/plugins-node.md 2.5.
class Nominations {
 public:
  struct Nominated {
    PodPtr pod;
    ResourceDelta delta;
    std::vector<HostPort> ports;
  };

  Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
              ClassTable& table);

  /// Call when node objects or their order changed: finds the nominated nodes again by name.
  void rebuild(ClassTable& table, const Snapshot& snapshot);

  bool empty() const { return on_node_.empty(); }
  /// The node the pod is nominated to, or -1.
  std::int32_t node_of(const Pod& pod) const;
  /// @return true when the pod was nominated; it is no longer
  bool remove(const Pod& pod);
  void restore(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot);

  /// Nodes with a nominated pod that counts against `pod`: equal or higher priority, another uid.
  std::vector<std::int32_t> nodes_against(const Pod& pod) const;
  /// Status of the class on the node with those pods added; the columns are as before afterwards.
  Status filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                    const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  /// The same on the node that the pod itself is nominated to. It is filtered first and alone, even outside PreFilter's
  /// node set: docs/behaviour/plugins-node.md 2.3.
  Status filter_own_nominated_node(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                   const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  /// Call when resource columns were added: recomputes the deltas.
  void refresh_deltas(ClassTable& table);

 private:
  Status filter_with_added_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  std::vector<CountMove> topology_moves(const Pod& pod, const PodClass& pod_class, const std::vector<Nominated>& here,
                                        bool affinity_skips) const;
  void claim(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot);
  static bool counts_against(const Pod& nominated, const Pod& pod);

  TopologyIndex& topology_;
  std::vector<PodPtr> held_;  ///< all nominated pods, also those whose node does not exist
  std::map<std::int32_t, std::vector<Nominated>> on_node_;
  std::map<std::string, std::int32_t, std::less<>> node_of_uid_;
};

}  // namespace berth
