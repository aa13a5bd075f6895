// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "batching/node_overlay.h"
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
  bool any_against(const Pod& pod, std::int32_t node) const;
  /// Filters the node with those pods added, and without them: the first refusal, or success. Also for the node that
  /// the pod itself is nominated to, which is filtered first and alone, with the row of NodeSet::kIgnored:
  /// docs/behaviour/plugins-node.md 2.3.
  Status filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                    const NodeSideRow& row, const Snapshot& snapshot, std::int32_t node) const;
  /// The same without reasons.
  NodeVerdict judge_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                        const NodeSideRow& row, const Snapshot& snapshot, std::int32_t node) const;
  /// Adds those pods to the node of an overlay that reads for the class.
  void add_against(const Pod& pod, const PodClass& pod_class, bool affinity_skips, NodeOverlay& overlay) const;
  /// Call when resource columns were added: recomputes the deltas.
  void refresh_deltas(ClassTable& table);

 private:
  /// A node with the nominated pods that count against a pod.
  struct CrowdedNode {
    NodeOverlay overlay;
    bool affinity_skips = false;
  };
  /// nullopt: no nominated pod of the node counts against `pod`.
  std::optional<CrowdedNode> crowded(const Pod& pod, const PodClass& pod_class, const Snapshot& snapshot,
                                     std::int32_t node) const;
  void claim(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot);
  static bool counts_against(const Pod& nominated, const Pod& pod);

  TopologyIndex& topology_;
  std::vector<PodPtr> held_;  ///< all nominated pods, also those whose node does not exist
  std::map<std::int32_t, std::vector<Nominated>> on_node_;
  std::map<std::string, std::int32_t, std::less<>> node_of_uid_;
};

}  // namespace berth
