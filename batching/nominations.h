// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "batching/pod_class.h"

namespace berth {

/// Pods that hold a claim on a node they do not run on yet. Rows hold the state without them and know nothing of
/// priority; at selection the few nominated nodes get kube-scheduler's first pass: docs/behaviour/plugins-node.md 2.5.
class Nominations {
 public:
  struct Nominated {
    PodPtr pod;
    ResourceDelta delta;
    std::vector<HostPort> ports;
  };

  Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
              ClassTable& table);

  /// Node objects or their order changed: claims stay with the names of their nodes.
  void rebuild(ClassTable& table, const Snapshot& snapshot);

  bool empty() const { return on_node_.empty(); }
  /// The node the pod is nominated to, or -1.
  std::int32_t node_of(const Pod& pod) const;
  /// @return true when the pod held a nomination; it is then gone
  bool remove(const Pod& pod);
  void restore(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot);

  /// Nodes with somebody nominated who counts against `pod`: equal or higher priority, another uid.
  std::vector<std::int32_t> nodes_against(const Pod& pod) const;
  /// Status of the class on the node with those added; the columns are changed and changed back.
  Status filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                    const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  /// The same on the node that the pod itself is nominated to, which is asked first and alone, in PreFilter's node set
  /// or not: docs/behaviour/plugins-node.md 2.3.
  Status filter_own_nominated_node(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                   const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  /// Columns of these resources came later: deltas are made anew.
  void refresh_deltas(ClassTable& table);

 private:
  Status filter_with_added_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const;
  std::vector<CountMove> topology_moves(const Pod& pod, const PodClass& pod_class, const std::vector<Nominated>& here,
                                        bool affinity_skips) const;
  void claim(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot);
  static bool counts_against(const Pod& nominated, const Pod& pod);

  TopologyIndex& topology_;
  std::vector<PodPtr> held_;  ///< all that hold a nomination, to a node that is not there too
  std::map<std::int32_t, std::vector<Nominated>> on_node_;
  std::map<std::string, std::int32_t, std::less<>> node_of_uid_;
};

}  // namespace berth
