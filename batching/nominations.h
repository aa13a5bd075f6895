// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "batching/node_overlay.h"
#include "batching/node_side_view.h"
#include "batching/pod_class.h"
#include "host/cluster/undo_steps.h"

namespace berth {

/// What became of a nomination: its node, and what it reserves there.
struct NominationHeld {
  PodPtr pod;
  std::string node_name;
  std::int32_t slot = -1;   ///< of the node, while it exists
  std::uint64_t order = 0;  ///< a later nomination has a higher one
};

/// Pods that are nominated to a node on which they do not run yet. Rows contain the state without them; the few
/// nominated nodes get kube-scheduler's first pass besides (NominationAnswers): docs/behaviour/plugins-node.md 2.5.
class Nominations {
 public:
  struct Nominated {
    PodPtr pod;
    ResourceDelta delta;
    std::vector<HostPort> ports;
  };

  Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
              ClassTable& table);
  /// With all() of others.
  Nominations(std::span<const NominationUpsert> all, const SchedulerConfig& config, const Snapshot& snapshot,
              ClassTable& table);

  // Which pods are nominated where is a model that can be taken back (EngineCluster); what follows from it is not.

  void begin() noexcept { is_noting_ = true; }
  void keep() noexcept;
  /// Restores which pods are nominated; nothing else is valid afterwards.
  void take_back() noexcept;
  /// The model alone: release() as remove(), hold() as set(). Both change nothing when they throw, except hold() of a
  /// pod that is held. The caller passes the results on to reserve() and give_up().
  std::optional<NominationHeld> release(std::string_view uid);
  /// @return null when the pod is not nominated. Valid until the next change.
  NominationHeld* hold(const PodPtr& pod, const std::string& node_name);
  /// What follows from the model.
  void give_up(const NominationHeld& held);
  void reserve(NominationHeld& held, ClassTable& table, const Snapshot& snapshot) { claim(held, table, snapshot); }

  /// Call when slots or topology tables were numbered again: finds the nominated nodes by name.
  void rebuild(ClassTable& table, const Snapshot& snapshot);
  /// Call when selectors of terms may select a namespace now, or no longer: nominated pods of the namespace may count
  /// for other terms. @param counts_moved  counts of topology domains changed
  void change_namespace(std::string_view name, bool counts_moved);
  /// Call when a node got a slot, or before it loses it.
  void enter_node(std::int32_t slot, ClassTable& table, const Snapshot& snapshot);
  void leave_node(std::int32_t slot);

  /// No pod is nominated to a node that exists.
  bool empty() const { return at_priority_.empty(); }
  /// The pod is nominated; its node need not exist.
  bool holds(const Pod& pod) const { return !held_.empty() && held_.contains(pod.uid()); }
  /// Some pod is nominated to a node of this name, which need not exist.
  bool any_to(std::string_view node_name) const;
  /// The slot of the node that the pod is nominated to, or -1.
  std::int32_t node_of(const Pod& pod) const;
  /// The pod is nominated to this node from now on, and to no other; not when the name is empty, or when the pod is not
  /// one that the queue holds.
  void set(const PodPtr& pod, const std::string& node_name, ClassTable& table, const Snapshot& snapshot);
  /// The pod is nominated no longer. @return the name of the node; nullopt when it was not nominated
  std::optional<std::string> remove(const Pod& pod) { return held_.empty() ? std::nullopt : remove(pod.uid()); }
  std::optional<std::string> remove(std::string_view uid);

  /// All nominations in their order, in the form in which an engine receives them.
  std::vector<NominationUpsert> all() const;

  // A nominated pod counts against a pod of equal or lower priority and another uid.

  /// On any node.
  bool any_against(const Pod& pod) const;
  bool any_against(const Pod& pod, std::int32_t node) const;
  /// Calls use(nominated) for those of the node, in the order in which they were nominated: Filter plugins that look at
  /// one pod after another end with the first error.
  template <class Use>
  void for_each_against(const Pod& pod, std::int32_t node, Use use) const {
    for (const Nominated& nominated : on(node))
      if (counts_against(*nominated.pod, pod)) use(nominated);
  }
  /// Some pod is nominated to the node.
  bool is_nominated(std::int32_t node) const { return !on(node).empty(); }
  /// Nodes with a nominated pod: one entry for each such pod, in no order.
  std::vector<std::int32_t> nominated_nodes() const;
  /// Of the pods that count against pods of this priority, the lowest priority; nullopt: no pod counts against them.
  std::optional<std::int32_t> lowest_against(std::int32_t priority) const;
  /// What the pods of this priority and above that are nominated to the node will add to it.
  struct ReservedLoad {
    std::int64_t milli_cpu = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t pods = 0;
  };
  ReservedLoad reserved_on(std::int32_t node, std::int32_t from_priority) const;
  /// Different nominated pods count against pods of these priorities that are not nominated themselves.
  bool tell_apart(std::int32_t priority, std::int32_t other) const;

  // What changed, for answers that are kept.

  /// Changes when every node may have changed: changed_nodes() begins again.
  std::uint64_t generation() const { return generation_; }
  /// Nodes to which a pod was nominated, or is not any more, in this generation, oldest first.
  std::span<const std::int32_t> changed_nodes() const { return changed_nodes_; }

  /// A node with the nominated pods that count against a pod; for one node after another.
  struct CrowdedNode {
    NodeOverlay overlay;
    bool affinity_skips = false;
  };
  CrowdedNode crowded_node(const PodClass& pod_class, const Snapshot& snapshot) const;
  /// @param crowded  of the class @return false: no nominated pod of the node counts against `pod`
  bool crowd(const Pod& pod, const PodClass& pod_class, std::int32_t node, CrowdedNode& crowded) const;

  /// Filters the node with those pods added, and without them: the first refusal, or success. Also for the node that
  /// the pod itself is nominated to, which is filtered first and alone, with the row of NodeSet::kIgnored:
  /// docs/behaviour/plugins-node.md 2.3.
  Status filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                    const NodeSideView& row, const Snapshot& snapshot, std::int32_t node) const;
  /// The same without reasons. @param crowded  of the class
  NodeVerdict verdict_with_nominated_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                          const NodeSideView& row, const Snapshot& snapshot, std::int32_t node,
                                          CrowdedNode& crowded) const;
  /// Adds those pods to the node of an overlay that reads for the class.
  void add_against(const Pod& pod, const PodClass& pod_class, bool affinity_skips, NodeOverlay& overlay) const;
  /// The same without what they change in topology tables. @return false when none counts against the pod
  bool add_loads_against(const Pod& pod, NodeOverlay& overlay) const;
  /// Some pod that is nominated to the node changes a count that the class reads, whatever their priorities.
  bool change_counts(const PodClass& pod_class, std::int32_t node) const;
  /// The same of a nominated pod.
  bool changes_counts(const PodClass& pod_class, const Pod& nominated) const;
  /// Calls use(pod) for the pods whose node exists: their terms were noted.
  template <class Use>
  void for_each_claimed(Use use) const {
    for (const std::vector<Nominated>& here : on_node_)
      for (const Nominated& nominated : here) use(*nominated.pod);
  }
  /// Call when resource columns were added: recomputes the deltas.
  void refresh_deltas(ClassTable& table);

 private:
  using Held = NominationHeld;
  struct HashOfUid {
    using is_transparent = void;
    std::size_t operator()(std::string_view uid) const { return std::hash<std::string_view>()(uid); }
  };
  std::span<const Nominated> on(std::int32_t node) const {
    if (static_cast<std::size_t>(node) >= on_node_.size()) return {};
    return on_node_[static_cast<std::size_t>(node)];
  }
  void claim(Held& held, ClassTable& table, const Snapshot& snapshot);
  void note_change(const Pod& pod, std::int32_t slot, std::int64_t change);
  void change_all();
  void note_changed_node(std::int32_t slot);
  static bool counts_against(const Pod& nominated, const Pod& pod);

  const SchedulerConfig& config_;
  TopologyIndex& topology_;
  using HeldOfUid = std::unordered_map<std::string, Held, HashOfUid, std::equal_to<>>;
  class HeldChanged;

  HeldOfUid held_;  ///< [uid]
  std::uint64_t last_order_ = 0;
  UndoSteps steps_;
  bool is_noting_ = false;                       ///< between begin() and keep()
  std::vector<std::vector<Nominated>> on_node_;  ///< [slot] up to the highest one that was nominated; in their order
  std::map<std::int32_t, std::int64_t> at_priority_;  ///< pods in on_node_
  std::vector<std::int32_t> changed_nodes_;
  std::uint64_t generation_ = 1;
};

}  // namespace berth
