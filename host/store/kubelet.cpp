// SPDX-License-Identifier: Apache-2.0
#include "host/store/kubelet.h"

#include <algorithm>
#include <utility>

#include "host/objects/pod_state.h"

namespace berth {

Kubelet::Kubelet(ObjectStore& store, KubeletOptions options) : store_(store), options_(std::move(options)) { list(); }

std::int64_t Kubelet::next_event_us() {
  read_events();
  return tasks_.empty() ? kNeverUs : tasks_.begin()->first.first;
}

void Kubelet::run_until(std::int64_t now_us) {
  while (next_event_us() <= now_us && !tasks_.empty()) {
    const auto [key, task] = *tasks_.begin();
    tasks_.erase(tasks_.begin());
    if (task.node != nullptr) {
      task.node->collection.reset();
      collect(*task.node);
    } else {
      task.pod->task.reset();
      if (task.pod->action == Action::kStart) task.pod->started_us = key.first;
      run(*task.pod, key.first);
    }
  }
}

/// From the beginning: the store's objects as they are now.
void Kubelet::list() {
  pods_.clear();
  nodes_.clear();
  tasks_.clear();
  const StoreContents contents = store_.list_all();
  watch_ = store_.watch(contents.resource_version, KindSet().with(ObjectKind::kPod).with(ObjectKind::kNode)).watch;
  const std::int64_t now_us = store_.clock().now_us();
  for (const StoredPtr<Node>& node : contents.of<Node>()) see_node(node->object->name, true, now_us);
  for (const StoredPodPtr& pod : contents.of<Pod>()) see_pod(pod, now_us);
}

void Kubelet::read_events() {
  const WatchBatch batch = watch_.poll();
  if (!batch.status.is_success()) return list();
  for (const WatchEvent& event : batch.events) take(event);
}

void Kubelet::take(const WatchEvent& event) {
  if (const auto* node = event.get<Node>()) {
    if (node->before == nullptr) see_node(node->after->object->name, true, event.time_us);
    if (node->after == nullptr) see_node(node->before->object->name, false, event.time_us);
    return;
  }
  const auto* pod = event.get<Pod>();
  pod->after != nullptr ? see_pod(pod->after, event.time_us) : forget_pod(uid_of(*pod->before));
}

void Kubelet::see_node(const std::string& name, bool exists, std::int64_t time_us) {
  NodeWork& node = nodes_[name];
  node.exists = exists;
  if (!exists && node.pods.empty()) {
    nodes_.erase(name);
    return;
  }
  drop_task(node.collection);
  if (!exists) plan_collection(node, time_us);
  std::vector<PodWork*> pods = node.pods;
  std::sort(pods.begin(), pods.end(), [](const PodWork* a, const PodWork* b) {
    return a->pod->object->full_name() < b->pod->object->full_name();
  });
  for (PodWork* work : pods) plan(*work, time_us);
}

void Kubelet::see_pod(const StoredPodPtr& pod, std::int64_t time_us) {
  if (!is_assigned(*pod->object)) return;
  const auto [at, is_new] = pods_.try_emplace(uid_of(*pod));
  PodWork& work = at->second;
  work.pod = pod;
  if (is_new) {
    work.node = &nodes_[pod->object->node_name];
    work.position = work.node->pods.size();
    work.node->pods.push_back(&work);
    if (!work.node->exists && !work.node->collection) plan_collection(*work.node, time_us);
  }
  plan(work, time_us);
}

void Kubelet::forget_pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  PodWork& work = found->second;
  drop_task(work.task);
  NodeWork& node = *work.node;
  PodWork* const last = node.pods.back();
  node.pods[work.position] = last;
  last->position = work.position;
  node.pods.pop_back();
  if (node.pods.empty() && !node.exists) {
    drop_task(node.collection);
    nodes_.erase(work.pod->object->node_name);
  }
  pods_.erase(found);
}

void Kubelet::plan(PodWork& work, std::int64_t time_us) {
  drop_task(work.task);
  if (!work.node->exists) return;
  const Pod& pod = *work.pod->object;
  const RareMeta& meta = work.pod->meta.rare();
  if (!work.bound_us) work.bound_us = time_us;
  if (pod.phase != PodPhase::kPending && !work.started_us)
    work.started_us = pod.start_time_us == 0 ? time_us : pod.start_time_us;

  std::optional<std::int64_t> due;
  if (work.pod->meta.is_being_deleted()) {
    work.action = Action::kEnd;
    if (*meta.deletion_grace_s == 0) return;  // only finalizers keep it
    const bool runs = work.started_us.has_value() && !is_finished(pod);
    due = runs ? std::min(meta.deletion_time_us, run_end_us(work)) : time_us;
  } else if (pod.phase == PodPhase::kPending) {
    work.action = Action::kStart;
    due = *work.bound_us + options_.start_delay_us;
  } else if (!is_finished(pod) && run_end_us(work) != kNeverUs) {
    work.action = Action::kFinish;
    due = run_end_us(work);
  }
  if (due) work.task = add_task(*due, {.pod = &work});
}

void Kubelet::plan_collection(NodeWork& node, std::int64_t time_us) {
  node.collection = add_task(time_us + options_.orphan_delay_us, {.node = &node});
}

std::int64_t Kubelet::run_end_us(const PodWork& work) const {
  if (options_.run_duration_us == nullptr) return kNeverUs;
  const std::optional<std::int64_t> duration_us = options_.run_duration_us(*work.pod->object);
  if (!duration_us || *duration_us >= kNeverUs - *work.started_us) return kNeverUs;
  return *work.started_us + *duration_us;
}

std::optional<Kubelet::TaskKey> Kubelet::add_task(std::int64_t time_us, Task task) {
  const TaskKey key = {time_us, next_sequence_++};
  tasks_.emplace(key, task);
  return key;
}

void Kubelet::drop_task(std::optional<TaskKey>& key) {
  if (key) tasks_.erase(*key);
  key.reset();
}

void Kubelet::run(const PodWork& work, std::int64_t due_us) {
  const StoredPodPtr pod = work.pod;
  if (work.action == Action::kStart) return set_phase(pod, {.phase = PodPhase::kRunning, .start_time_us = due_us});
  if (work.action == Action::kFinish) return set_phase(pod, {.phase = PodPhase::kSucceeded});
  if (!is_finished(*pod->object)) {
    const bool ran_to_its_end = work.started_us && run_end_us(work) <= due_us;
    set_phase(pod, {.phase = ran_to_its_end ? PodPhase::kSucceeded : PodPhase::kFailed});
  }
  remove(pod);
}

/// gcOrphaned() of gc_controller.go.
void Kubelet::collect(const NodeWork& node) {
  std::vector<StoredPodPtr> pods;
  pods.reserve(node.pods.size());
  for (const PodWork* work : node.pods) pods.push_back(work->pod);
  std::sort(pods.begin(), pods.end(), [](const StoredPodPtr& a, const StoredPodPtr& b) {
    return a->object->full_name() < b->object->full_name();
  });
  for (const StoredPodPtr& pod : pods) {
    if (!is_finished(*pod->object)) {
      set_phase(pod, {.phase = PodPhase::kFailed,
                      .conditions = {{.type = "DisruptionTarget",
                                      .status = ConditionStatus::kTrue,
                                      .reason = "DeletionByPodGC",
                                      .message = "PodGC: node no longer exists"}}});
    }
    remove(pod);
  }
}

/// A pod that somebody else removed meanwhile is NotFound, and needs nothing more; its event comes.
void Kubelet::set_phase(const StoredPodPtr& pod, PodStatusPatch patch) {
  patch.uid = uid_of(*pod);
  store_.update_status(key_of(*pod->object), patch);
}

void Kubelet::remove(const StoredPodPtr& pod) {
  store_.remove<Pod>(key_of(*pod->object), {.grace_period_s = 0, .uid = uid_of(*pod)});
}

}  // namespace berth
