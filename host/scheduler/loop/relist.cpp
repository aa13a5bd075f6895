// SPDX-License-Identifier: Apache-2.0
// Events that a watch has lost: what the loop knows is compared with a list.

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "host/cluster/engine_cluster.h"
#include "host/scheduler/loop/list_changes.h"
#include "host/scheduler/loop/scheduling_loop.h"

namespace berth {
namespace {

/// Unique among the objects of a kind: no name has a slash.
template <class T>
std::string path_of(const T& object) {
  const ObjectKey key = key_of(object);
  return std::string(key.workload_kind) + "/" + std::string(key.namespace_) + "/" + std::string(key.name);
}

template <class T>
std::map<std::string, std::shared_ptr<const T>> by_path(const std::vector<T>& list) {
  std::map<std::string, std::shared_ptr<const T>> known;
  for (const T& object : list) known.emplace(path_of(object), std::make_shared<const T>(object));
  return known;
}

/// Objects of one kind of storage, by path; empty for other kinds.
template <class T>
struct KnownStorage {
  std::map<std::string, std::shared_ptr<const T>> objects;
};

template <class T>
void append_storage(KnownStorage<T>& known, const StoreContents& now, std::vector<WatchEvent>& events) {
  if constexpr (is_storage(kKindOf<T>)) {
    append_changes(std::move(known.objects), now.of<T>(), [](const T& object) { return path_of(object); }, events);
  }
}

}  // namespace

void LoopCluster::append_changes_to(const StoreContents& now, std::vector<WatchEvent>& events) const {
  const auto path = [](const auto& object) { return path_of(object); };
  std::map<std::string, NodePtr> nodes;
  for (const NodeInfo* const node : cache_.nodes()) nodes.emplace(path_of(*node->node), node->node);
  append_changes(std::move(nodes), now.of<Node>(), path, events);
  std::vector<Namespace> namespaces;
  namespaces.reserve(namespaces_.size());
  for (const std::string& name : namespaces_) namespaces.push_back({name, {}});
  append_changes(by_path(namespaces), now.of<Namespace>(), path, events);
  const ClusterObjects objects = EngineObjects{{}, objects_}.listed();
  append_changes(by_path(objects.services), now.of<Service>(), path, events);
  append_changes(by_path(objects.workloads), now.of<Workload>(), path, events);
  std::vector<PodDisruptionBudget> budgets;
  budgets.reserve(budgets_.size());
  for (const auto& [unused, budget] : budgets_) budgets.push_back(budget);
  append_changes(by_path(budgets), now.of<PodDisruptionBudget>(), path, events);
  EachKind<std::tuple, KnownStorage> storage;
  cache_.storage().for_each_stored([&]<class T>(const T& object) {
    std::get<KnownStorage<T>>(storage).objects.emplace(path_of(object), std::make_shared<const T>(object));
  });
  std::apply([&](auto&... known) { (append_storage(known, now, events), ...); }, storage);
}

/// Pods as events have told of them: an assumed one is still pending there. One whose binding was answered, and that is
/// gone before an event said so, was on its node.
std::map<std::string, PodPtr> SchedulingLoop::known_pods(const std::set<std::string>& listed) const {
  std::map<std::string, PodPtr> known;
  for (const PodPtr& pod : cluster_.cache().pods()) {
    const std::string uid = pod->uid();
    known.emplace(uid, tasks_.contains(uid) || listed.contains(uid) ? pod : cluster_.pod_with_node(uid));
  }
  const SchedulingQueue::PendingPods pending = queue_.pending_pods();
  for (const auto* pods : {&pending.active, &pending.backoff, &pending.unschedulable})
    for (const PodPtr& pod : *pods) known.insert_or_assign(pod->uid(), pod);
  const auto note = [&](const std::string& uid, const PodPtr& newest) {
    if (newest == nullptr) {
      known.erase(uid);
    } else {
      known.insert_or_assign(uid, newest);
    }
  };
  for (const auto& [uid, task] : tasks_) note(uid, task->newest);
  if (synchronous_preemption_) note(synchronous_preemption_->info.pod->uid(), synchronous_preemption_->newest);
  return known;
}

void SchedulingLoop::take_list(const StoreContents& now) {
  std::vector<WatchEvent> events;
  cluster_.append_changes_to(now, events);
  std::set<std::string> listed;
  for (const StoredPodPtr& pod : now.of<Pod>()) listed.insert(pod->object->uid());
  append_changes(known_pods(listed), now.of<Pod>(), [](const Pod& pod) { return pod.uid(); }, events);
  take(events);
}

}  // namespace berth
