// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

  /// Call when slots or topology tables were numbered again: finds the nominated nodes by name.
  void rebuild(ClassTable& table, const Snapshot& snapshot);
  /// Call when a node got a slot, or before it loses it.
  void enter_node(std::int32_t slot, ClassTable& table, const Snapshot& snapshot);
  void leave_node(std::int32_t slot);

  bool empty() const { return on_node_.empty(); }
  /// The slot of the node that the pod is nominated to, or -1.
  std::int32_t node_of(const Pod& pod) const;
  /// The pod is nominated to this node from now on, and to no other; not when the name is empty, or when the pod is not
  /// one that the queue holds.
  void set(const PodPtr& pod, const std::string& node_name, ClassTable& table, const Snapshot& snapshot);
  /// The pod is nominated no longer. @return the name of the node; nullopt when it was not nominated
  std::optional<std::string> remove(const Pod& pod) { return held_.empty() ? std::nullopt : remove(pod.uid()); }
  std::optional<std::string> remove(std::string_view uid);

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
  /// Calls use(pod) for the pods whose node exists: their terms were noted.
  template <class Use>
  void for_each_claimed(Use use) const {
    for (const auto& [node, here] : on_node_)
      for (const Nominated& nominated : here) use(*nominated.pod);
  }
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
  /// A nominated pod; its node need not exist.
  struct Held {
    PodPtr pod;
    std::string node_name;
  };
  void claim(const Held& held, ClassTable& table, const Snapshot& snapshot);
  static bool counts_against(const Pod& nominated, const Pod& pod);

  const SchedulerConfig& config_;
  TopologyIndex& topology_;
  std::vector<Held> held_;
  std::map<std::int32_t, std::vector<Nominated>> on_node_;
  std::map<std::string, std::int32_t, std::less<>> node_of_uid_;
};

}  // namespace berth
