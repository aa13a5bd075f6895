// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "host/cluster/cluster_change.h"
#include "host/queue/scheduling_queue.h"

namespace berth {

/// Pods that have a node in the scheduler's cache and not yet at the API server.
class AssumedPods {
 public:
  virtual ~AssumedPods() = default;
  virtual bool is_assumed(const Pod& pod) const = 0;
  /// The pod is going away: one that waits at Permit is rejected, another is forgotten.
  /// @return the assumed pod, with its node; null when the cache does not know it
  virtual PodPtr give_up(const Pod& pod) = 0;
};

/// The objects as they were before a change; null when there was none.
struct ObjectsBefore {
  std::function<NodePtr(std::string_view name)> node;
  std::function<PodPtr(std::string_view uid)> pod;
};

/// Tells a queue what happened to the cluster: the table of triggers in docs/behaviour/scheduler-core.md 1.7. Call it
/// after the cache has taken a change in, for a removed node before.
class EventRouter {
 public:
  /// Queue and assumed pods must outlive the object.
  EventRouter(SchedulingQueue& queue, AssumedPods& assumed, const FeatureGates& gates);

  /// The change that Backend::apply() takes, too. A nomination goes to the nominator; Services and workloads raise no
  /// event, but what hints know of them is void; namespaces tell the queue nothing.
  void route(const ClusterChange& change, const ObjectsBefore& before);

  /// A null object is absent. Objects that are the same raise nothing.
  void node_changed(const NodePtr& before, const NodePtr& after);
  /// A finished pod counts as deleted.
  void pod_changed(const PodPtr& before, const PodPtr& after);

 private:
  void pod_added(const PodPtr& pod);
  void pod_updated(const PodPtr& before, const PodPtr& after);
  void pending_pod_updated(const PodPtr& before, const PodPtr& after);
  void pod_removed(const PodPtr& pod);
  void leave_nominated_node(const PodPtr& pod);
  void assumed_pod_removed(const Pod& pod);
  bool is_ours(const Pod& pod) const { return queue_.has_profile(pod.spec->scheduler_name); }

  SchedulingQueue& queue_;
  AssumedPods& assumed_;
  Release release_;
  bool features_;
};

}  // namespace berth
