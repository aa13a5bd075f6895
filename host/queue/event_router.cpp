// SPDX-License-Identifier: Apache-2.0
#include "host/queue/event_router.h"

#include <type_traits>
#include <variant>

#include "host/objects/pod_state.h"
#include "host/queue/change_events.h"

namespace berth {
namespace {

constexpr ClusterEvent kAssignedPodAdd{EventResource::kAssignedPod, EventAction::kAdd};
constexpr ClusterEvent kAssignedPodDelete{EventResource::kAssignedPod, EventAction::kDelete};
constexpr ClusterEvent kPendingPodAdd{EventResource::kUnschedulablePod, EventAction::kAdd};
constexpr ClusterEvent kPendingPodUpdate{EventResource::kUnschedulablePod, EventAction::kUpdate};
constexpr ClusterEvent kPendingPodDelete{EventResource::kUnschedulablePod, EventAction::kDelete};
constexpr ClusterEvent kNodeAdd{EventResource::kNode, EventAction::kAdd};
constexpr ClusterEvent kNodeDelete{EventResource::kNode, EventAction::kDelete};

PodPtr unless_finished(const PodPtr& pod) { return pod != nullptr && is_finished(*pod) ? nullptr : pod; }

}  // namespace

EventRouter::EventRouter(SchedulingQueue& queue, AssumedPods& assumed, const FeatureGates& gates)
    : queue_(queue), assumed_(assumed), release_(gates.release()), features_(gates.enabled("NodeDeclaredFeatures")) {}

void EventRouter::route(const ClusterChange& change, const ObjectsBefore& before) {
  std::visit(
      [&](const auto& what) {
        using Change = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<Change, NodeUpsert>) {
          node_changed(before.node(what.node->name), what.node);
        } else if constexpr (std::is_same_v<Change, NodeRemoval>) {
          node_changed(before.node(what.name), nullptr);
        } else if constexpr (std::is_same_v<Change, PodUpsert>) {
          pod_changed(before.pod(what.pod->uid()), what.pod);
        } else if constexpr (std::is_same_v<Change, PodRemoval>) {
          pod_changed(before.pod(what.uid), nullptr);
        } else if constexpr (std::is_same_v<Change, NominationUpsert>) {
          if (what.node_name.empty()) {
            queue_.nominator().remove(*what.pod);
          } else {
            queue_.nominator().add(what.pod, what.node_name);
          }
        } else if constexpr (std::is_same_v<Change, StorageUpsert>) {
          storage_upserted(what, before);
        } else if constexpr (std::is_same_v<Change, StorageRemoval>) {
          if (const StorageObjectPtr gone = before.storage(what.kind, what.namespace_, what.name))
            storage_changed(gone, nullptr);
        } else if constexpr (!std::is_same_v<Change, NamespaceUpsert> && !std::is_same_v<Change, NamespaceRemoval>) {
          queue_.forget_prepared_hints();
        }
      },
      change);
}

void EventRouter::node_changed(const NodePtr& before, const NodePtr& after) {
  if (before == after) return;
  const EventObjects objects{.old_node = before, .new_node = after};
  const auto move = [&](ClusterEvent event) {
    const Handling handling(*this, event);
    queue_.move_on_event(event, objects);
  };
  if (before == nullptr) return move(kNodeAdd);
  if (after == nullptr) return move(kNodeDelete);
  for (const ClusterEvent event : node_change_events(*before, *after, features_)) move(event);
}

void EventRouter::storage_upserted(const StorageUpsert& change, const ObjectsBefore& before) {
  std::visit(
      [&](const auto& object) {
        std::string_view name_space;
        if constexpr (requires { object.namespace_; }) name_space = object.namespace_;
        storage_changed(before.storage(kind_of(change.object), name_space, object.name),
                        std::make_shared<const StorageObject>(change.object));
      },
      change.object);
}

void EventRouter::storage_changed(const StorageObjectPtr& before, const StorageObjectPtr& after) {
  std::uint16_t actions = EventAction::kUpdate;
  if (before == nullptr) actions = EventAction::kAdd;
  if (after == nullptr) actions = EventAction::kDelete;
  const ClusterEvent event{resource_of(kind_of(after != nullptr ? *after : *before)), actions};
  const Handling handling(*this, event);
  queue_.move_on_event(event, {.old_storage = before, .new_storage = after});
}

void EventRouter::pod_changed(const PodPtr& before, const PodPtr& after) {
  const PodPtr was = unless_finished(before);
  const PodPtr is = unless_finished(after);
  if (was == is) return;
  if (was == nullptr) return pod_added(is);
  if (is == nullptr) return pod_removed(was);
  pod_updated(was, is);
}

void EventRouter::pod_added(const PodPtr& pod) {
  if (is_assigned(*pod)) {
    const Handling handling(*this, kAssignedPodAdd);
    queue_.move_on_event(kAssignedPodAdd, {.new_pod = pod});
  } else if (is_ours(*pod)) {
    const Handling handling(*this, kPendingPodAdd);
    queue_.add(pod);
  }
}

void EventRouter::pod_updated(const PodPtr& before, const PodPtr& after) {
  if (is_assigned(*before)) {
    for (const ClusterEvent event : pod_change_events(*before, *after, release_)) {
      const Handling handling(*this, event);
      queue_.move_on_event(event, {.old_pod = before, .new_pod = after});
    }
  } else if (is_assigned(*after)) {
    {
      const Handling handling(*this, kAssignedPodAdd);
      queue_.move_on_event(kAssignedPodAdd, {.new_pod = after});
    }
    if (!is_ours(*before)) return;
    const Handling handling(*this, kPendingPodDelete);
    queue_.remove(*before);
  } else if (is_ours(*before)) {
    pending_pod_updated(before, after);
  }
}

void EventRouter::pending_pod_updated(const PodPtr& before, const PodPtr& after) {
  const MeterWatch watch(meter_);
  if (assumed_.is_assumed(*after)) {
    if (after->terminating && !before->terminating) assumed_pod_removed(*after);
  } else {
    queue_.update(before, after);
    const std::string& nominated = before->rare().nominated_node_name;
    if (!nominated.empty() && nominated != after->rare().nominated_node_name) leave_nominated_node(before);
  }
  if (meter_ != nullptr) tell_changes(before, after, seconds_before_ + watch.seconds());
}

/// The general Update, and the aspects that changed.
void EventRouter::tell_changes(const PodPtr& before, const PodPtr& after, double seconds) const {
  meter_->on_handled(kPendingPodUpdate, seconds);
  for (const ClusterEvent event : pod_change_events(*before, *after, release_))
    if (event != kPendingPodUpdate) meter_->on_handled(event, seconds);
}

void EventRouter::pod_removed(const PodPtr& pod) {
  if (is_assigned(*pod)) {
    const Handling handling(*this, kAssignedPodDelete);
    queue_.move_on_event(kAssignedPodDelete, {.old_pod = pod});
  } else if (is_ours(*pod)) {
    const Handling handling(*this, kPendingPodDelete);
    queue_.remove(*pod);
    if (assumed_.is_assumed(*pod)) {
      assumed_pod_removed(*pod);
    } else if (!pod->rare().nominated_node_name.empty()) {
      leave_nominated_node(pod);
    }
  }
}

void EventRouter::leave_nominated_node(const PodPtr& pod) {
  queue_.move_on_event(kAssignedPodDelete, {.old_pod = pod}, {.priority_max = pod->priority});
}

void EventRouter::assumed_pod_removed(const Pod& pod) {
  if (const PodPtr assumed = assumed_.give_up(pod)) queue_.move_on_event(kAssignedPodDelete, {.old_pod = assumed});
}

}  // namespace berth
