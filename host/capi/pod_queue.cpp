// SPDX-License-Identifier: Apache-2.0
#include "host/capi/pod_queue.h"

#include <utility>
#include <vector>

#include "host/capi/api_error.h"
#include "host/capi/handles.h"
#include "host/objects/pod_copy.h"
#include "host/plugin_abi/loop_plugins.h"
#include "host/queue/change_events.h"

namespace berth::capi {
namespace {

constexpr ClusterEvent kAssignedPodAdd{EventResource::kAssignedPod, EventAction::kAdd};
constexpr ClusterEvent kAssignedPodDelete{EventResource::kAssignedPod, EventAction::kDelete};
constexpr ClusterEvent kNodeAdd{EventResource::kNode, EventAction::kAdd};
constexpr ClusterEvent kNodeDelete{EventResource::kNode, EventAction::kDelete};

/// Without the profiles that stand for "plugins ignored", whose names are those of others.
SchedulerConfig config_of(const Engine& engine) {
  SchedulerConfig config = engine.config;
  if (engine.ignoring_profiles_at > 0) config.profiles.resize(static_cast<std::size_t>(engine.ignoring_profiles_at));
  return config;
}

/// What plugins by C ABI say of pods that come, and of events.
PluginRegistry plugins_of(const Engine& engine) {
  PluginRegistry registry;
  register_loop_plugins(engine.engine.host_plugins, registry);
  return registry;
}

/// As it waits: where it stands is of no account.
const PodPtr& waiting_object(const PodHandle& pod) { return pod.pod->placeable(true).pod; }

ApiError not_here(const PodHandle& pod, const char* what) {
  return {BERTH_E_NOT_FOUND, "Pod " + pod.pod->given->full_name(), what};
}

PodPtr standing_pod(const State& state, const std::string& uid) {
  const std::string node = state.fork.node_of_pod(uid);
  if (!node.empty())
    for (const PodPtr& pod : state.fork.pods_on(node)) {
      if (pod->uid() != uid) continue;
      const std::shared_ptr<Pod> there = copy_of(*pod);
      there->node_name = node;
      return there;
    }
  throw ApiError(BERTH_E_NOT_FOUND, "Pod " + uid, "stands on no node here");
}

}  // namespace

PodQueue::PodQueue(std::shared_ptr<Cluster> cluster, std::int64_t now_us)
    : cluster_(std::move(cluster)),
      clock_(now_us),
      selecting_(cluster_->selecting()),
      has_declared_features_(cluster_->engine().config.gates.enabled("NodeDeclaredFeatures")),
      plugins_(
          config_of(cluster_->engine()), [this](const Pod& pod) { return selectors_.of(pod); },
          plugins_of(cluster_->engine())),
      queue_(plugins_.take_profiles(), queue_options(cluster_->engine().config), clock_) {
  cluster_->engine().memory.check();
}

PodQueue::Use::Use(PodQueue& queue) : queue_(queue) {
  if (queue_.busy_.test_and_set(std::memory_order_acquire))
    throw ApiError(BERTH_E_BUSY, "queue", "another thread is in a call on the queue");
}

PodQueue::KeptPods::iterator PodQueue::kept(const PodHandle& pod) {
  const Pod* object = waiting_object(pod).get();
  const auto at = pods_.find(object);
  if (at == pods_.end() || at->first != object) throw not_here(pod, "is not in the queue");
  return at;
}

PodQueue::KeptPods::iterator PodQueue::tried(const PodHandle& pod) {
  const auto at = kept(pod);
  if (!at->second.tried) throw not_here(pod, "waits, and is not tried");
  return at;
}

std::uint64_t PodQueue::bytes() const {
  constexpr std::uint64_t kQueueBytesOfPod = 400;  // tests/property/queue_memory_test.cpp
  return sizeof(PodQueue) + pods_.size() * (kQueueBytesOfPod + sizeof(KeptPods::value_type)) +
         pods_.bucket_count() * sizeof(void*);
}

void PodQueue::add(const berth_pod& pod) {
  cluster_->engine().memory.check();
  const PodPtr& object = waiting_object(*pod.pod);
  const std::string name = "Pod " + object->full_name();
  if (!queue_.has_profile(object->spec->scheduler_name))
    throw ApiError(BERTH_E_ARGUMENT, name, "no profile is for its schedulerName");
  if (pods_.contains(object.get()) || queue_.in_flight().contains(object->uid()))
    throw ApiError(BERTH_E_EXISTS, name, "a pod of its name is in the queue");
  RetainedPod handle(berth_pod_retain(const_cast<berth_pod*>(&pod)));
  const auto at = pods_.emplace(object.get(), Kept{std::move(handle)}).first;
  try {
    queue_.add(object);
  } catch (...) {
    pods_.erase(at);
    throw;
  }
}

void PodQueue::remove(const PodHandle& pod) {
  const auto at = kept(pod);
  queue_.remove(*waiting_object(pod));
  if (at->second.tried) queue_.done(pod.pod->uid);
  pods_.erase(at);
}

RetainedPod PodQueue::pop() {
  std::optional<QueuedPodInfo> info = queue_.pop();
  if (!info) return nullptr;
  Kept& kept = pods_.find(info->pod.get())->second;
  kept.tried = std::move(info);
  return RetainedPod(berth_pod_retain(kept.handle.get()));
}

void PodQueue::fail(const PodHandle& pod, const Rejectors& rejectors) {
  const auto at = tried(pod);
  queue_.add_failed(*at->second.tried, rejectors);
  at->second.tried.reset();
}

void PodQueue::done(const PodHandle& pod) {
  const auto at = tried(pod);
  queue_.done(pod.pod->uid);
  pods_.erase(at);
}

void PodQueue::advance(std::int64_t now_us) {
  if (now_us < clock_.now_us()) throw ApiError(BERTH_E_ARGUMENT, "now_us", "is before the queue's time");
  for (std::int64_t due_us = queue_.next_wake_us(); due_us <= now_us; due_us = queue_.next_wake_us()) {
    clock_.advance_to(due_us);
    queue_.flush();
  }
  clock_.advance_to(now_us);
  if (queue_.next_flush_us() <= now_us) queue_.flush();  // nobody waits: the next time is a future one
}

void PodQueue::pod_came(const State& state, const std::string& uid) {
  queue_.move_on_event(kAssignedPodAdd, {.new_pod = standing_pod(state, uid)});
}

void PodQueue::pod_leaves(const State& state, const std::string& uid) {
  queue_.move_on_event(kAssignedPodDelete, {.old_pod = standing_pod(state, uid)});
}

void PodQueue::node_changed(const NodePtr& before, const NodePtr& after) {
  std::vector<ClusterEvent> events;
  if (before == nullptr) events = {kNodeAdd};
  if (after == nullptr) events = {kNodeDelete};
  if (before != nullptr && after != nullptr) events = node_change_events(*before, *after, has_declared_features_);
  queue_.move_on_events(events, {.old_node = before, .new_node = after});
}

}  // namespace berth::capi
