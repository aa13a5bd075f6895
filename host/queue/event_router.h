// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "host/cluster/cluster_change.h"
#include "host/framework/scheduling_meter.h"
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
  /// Of an object that a change is about: its kind, namespace and name. Empty: no change is about one.
  std::function<StorageObjectPtr(StorageKind kind, std::string_view name_space, std::string_view name)> storage = {};
};

/// Tells a queue what happened to the cluster: the table of triggers in docs/behaviour/scheduler-core.md 1.7. Call it
/// after the cache has taken a change in, for a removed node before.
class EventRouter {
 public:
  /// Queue and assumed pods must outlive the object.
  EventRouter(SchedulingQueue& queue, AssumedPods& assumed, const FeatureGates& gates);

  /// The change that Backend::apply() takes, too. A nomination goes to the nominator; Services and workloads raise no
  /// event, but what hints know of them is void; namespaces tell the queue nothing, nor does the removal of a storage
  /// object that was not there.
  void route(const ClusterChange& change, const ObjectsBefore& before);

  /// @param meter  is told how long events take; null: nobody. Outlives the router
  void set_meter(SchedulingMeter* meter) { meter_ = meter; }
  /// The time that each of the next events took before it came here, for the meter.
  void set_seconds_before(double seconds) { seconds_before_ = seconds; }

  /// A null object is absent. Objects that are the same raise nothing.
  void node_changed(const NodePtr& before, const NodePtr& after);
  /// A finished pod counts as deleted.
  void pod_changed(const PodPtr& before, const PodPtr& after);
  /// Null: the object came or went; the other one is not null.
  void storage_changed(const StorageObjectPtr& before, const StorageObjectPtr& after);

 private:
  void storage_upserted(const StorageUpsert& change, const ObjectsBefore& before);
  void pod_added(const PodPtr& pod);
  void pod_updated(const PodPtr& before, const PodPtr& after);
  void tell_changes(const PodPtr& before, const PodPtr& after, double seconds) const;
  void pending_pod_updated(const PodPtr& before, const PodPtr& after);
  void pod_removed(const PodPtr& pod);
  void leave_nominated_node(const PodPtr& pod);
  void assumed_pod_removed(const Pod& pod);
  bool is_ours(const Pod& pod) const { return queue_.has_profile(pod.spec->scheduler_name); }

  /// Tells the meter of an event at the end of its life.
  class Handling {
   public:
    Handling(const EventRouter& router, ClusterEvent event)
        : meter_(router.meter_), before_(router.seconds_before_), event_(event), watch_(meter_) {}
    ~Handling() {
      if (meter_ != nullptr) meter_->on_handled(event_, before_ + watch_.seconds());
    }
    Handling(const Handling&) = delete;
    Handling& operator=(const Handling&) = delete;

   private:
    SchedulingMeter* meter_;
    double before_;
    ClusterEvent event_;
    MeterWatch watch_;
  };

  SchedulingQueue& queue_;
  AssumedPods& assumed_;
  SchedulingMeter* meter_ = nullptr;
  double seconds_before_ = 0;
  Release release_;
  bool features_;
};

}  // namespace berth
