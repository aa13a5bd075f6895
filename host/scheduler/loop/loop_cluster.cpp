// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/loop_cluster.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <variant>

#include "host/framework/host_plugin.h"
#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

PodPtr unless_off_node(const StoredPodPtr& stored) {
  return stored != nullptr && is_on_node(*stored->object) ? stored->object : nullptr;
}

/// Replaces the object of the key, adds it, or removes it where `after` is null.
template <class T>
void update_list(std::vector<T>& list, const ObjectChange<T>& change) {
  const ObjectKey key = key_of(*(change.after != nullptr ? change.after : change.before)->object);
  const auto at = std::find_if(list.begin(), list.end(), [&](const T& other) { return key_of(other) == key; });
  if (change.after == nullptr) {
    if (at != list.end()) list.erase(at);
  } else if (at != list.end()) {
    *at = *change.after->object;
  } else {
    list.push_back(*change.after->object);
  }
}

template <class T>
std::vector<T> objects_of(const StoreContents& contents) {
  std::vector<T> objects;
  for (const StoredPtr<T>& stored : contents.of<T>()) objects.push_back(*stored->object);
  return objects;
}

template <class T>
void add_storage(const StoredList<T>& list, ClusterStorage& storage) {
  if constexpr (is_storage(kKindOf<T>)) {
    for (const StoredPtr<T>& stored : list) storage.upsert(*stored->object);
  }
}

}  // namespace

LoopCluster::LoopCluster(const StoreContents& start, const LoopOptions& options)
    : options_(options),
      engine_config_(with_topology_profiles(options.config)),
      lowest_priority_(std::numeric_limits<std::int32_t>::max()) {
  ClusterObjects all;
  std::apply([this](const auto&... lists) { (add_storage(lists, cache_.storage()), ...); }, start.items);
  for (const StoredPtr<Node>& node : start.of<Node>()) {
    cache_.add_node(node->object);
    all.nodes.push_back(node->object);
  }
  node_count_ = static_cast<std::int64_t>(all.nodes.size());
  for (const StoredPodPtr& pod : start.of<Pod>())
    if (is_on_node(*pod->object)) put_on_node(pod->object);
  all.services = objects_of<Service>(start);
  all.workloads = objects_of<Workload>(start);
  objects_ = by_namespace(all.services, all.workloads);
  all.namespaces = objects_of<Namespace>(start);
  for (const Namespace& name_space : all.namespaces) namespaces_.insert(name_space.name);
  for (const StoredPtr<PodDisruptionBudget>& budget : start.of<PodDisruptionBudget>())
    budgets_.emplace(std::pair(budget->object->namespace_, budget->object->name), *budget->object);
  selectors_ = std::make_unique<DefaultSelectors>(objects_);
  OpenedBackend opened = open_backend(std::make_shared<ClusterCache>(cache_), all, engine_config_, options.engine,
                                      options.open_accelerator);
  backend_ = std::move(opened.backend);
  why_backend_ = std::move(opened.why);
}

void LoopCluster::take(std::span<const WatchEvent> events) {
  changes_.clear();
  for (const WatchEvent& event : events) std::visit([this](const auto& change) { take(change); }, event.change);
  for (const std::string& name_space : changed_selectors_) {
    const auto here = objects_.find(name_space);
    selectors_->change_namespace(name_space, here->second);
    if (here->second.empty()) objects_.erase(here);
  }
  changed_selectors_.clear();
  if (!changes_.empty()) backend_->apply(changes_);
}

void LoopCluster::take_new_plugin_data() {
  bool is_new = false;
  for (const auto& plugin : options_.engine.host_plugins) is_new = plugin->take_new_data() || is_new;
  if (is_new) post_filter_.reset();  // it remembers whom no eviction helps
}

void LoopCluster::forget_failures() {
  if (post_filter_ != nullptr) post_filter_->forget_failures();
}

void LoopCluster::take(const ObjectChange<Pod>& change) {
  const PodPtr before = unless_off_node(change.before);
  const PodPtr after = unless_off_node(change.after);
  if (before == after) return;
  if (after != nullptr) {
    if (before == nullptr) {
      put_on_node(after);
    } else {
      update_on_node(after);
    }
    changes_.emplace_back(PodUpsert{after});
  } else {
    const std::string uid = before->uid();
    cache_.remove_pod(uid);
    changes_.emplace_back(PodRemoval{uid});
    forget_failures();
  }
}

void LoopCluster::put_on_node(const PodPtr& pod) {
  if (cache_.add_pod(pod) != CacheResult::kOk) replace(pod);
  note_on_node(*pod);
}

void LoopCluster::update_on_node(const PodPtr& pod) {
  if (cache_.update_pod(pod) != CacheResult::kOk) replace(pod);
  forget_failures();
}

/// The cache has the pod in another way than the watch says, and the engine follows the watch.
void LoopCluster::replace(const PodPtr& pod) {
  const std::string uid = pod->uid();
  const NodeInfo* const node = cache_.node_of_pod(uid);
  const bool is_elsewhere = node != nullptr && node->name != pod->node_name;
  if (node == nullptr || is_elsewhere)
    mismatches_.push_back("pod " + pod->full_name() + " is on node " + pod->node_name + " by an event, and " +
                          (node == nullptr ? "on none" : "on node " + node->name) + " in the scheduler's cache");
  cache_.remove_pod(uid);
  cache_.add_pod(pod);
}

void LoopCluster::note_on_node(const Pod& pod) {
  lowest_priority_ = std::min(lowest_priority_, pod.priority);
  if (post_filter_ != nullptr) post_filter_->forget_texts();
}

void LoopCluster::take(const ObjectChange<Node>& change) {
  const NodePtr before = object_of(change.before);
  const NodePtr after = object_of(change.after);
  if (before == after) return;
  if (after == nullptr) {
    cache_.remove_node(before->name);
    changes_.emplace_back(NodeRemoval{before->name});
    --node_count_;
  } else {
    if (before == nullptr) {
      cache_.add_node(after);
      ++node_count_;
    } else {
      cache_.update_node(after);
    }
    changes_.emplace_back(NodeUpsert(after));
  }
  forget_failures();
}

void LoopCluster::take(const ObjectChange<Namespace>& change) {
  if (change.after == nullptr) {
    namespaces_.erase(change.before->object->name);
    changes_.emplace_back(NamespaceRemoval{change.before->object->name});
  } else {
    namespaces_.insert(change.after->object->name);
    changes_.emplace_back(NamespaceUpsert{*change.after->object});
  }
  forget_failures();
}

void LoopCluster::take(const ObjectChange<Service>& change) {
  const Service& service = *(change.after != nullptr ? change.after : change.before)->object;
  update_list(objects_[service.namespace_].services, change);
  if (change.after == nullptr) {
    changes_.emplace_back(ServiceRemoval{service.namespace_, service.name});
  } else {
    changes_.emplace_back(ServiceUpsert{service});
  }
  changed_selectors_.insert(service.namespace_);
  forget_failures();
}

void LoopCluster::take(const ObjectChange<Workload>& change) {
  const Workload& workload = *(change.after != nullptr ? change.after : change.before)->object;
  update_list(objects_[workload.namespace_].workloads, change);
  if (change.after == nullptr) {
    changes_.emplace_back(WorkloadRemoval{workload.kind, workload.namespace_, workload.name});
  } else {
    changes_.emplace_back(WorkloadUpsert{workload});
  }
  changed_selectors_.insert(workload.namespace_);
  forget_failures();
}

void LoopCluster::take(const ObjectChange<PodDisruptionBudget>& change) {
  const PodDisruptionBudget& budget = *(change.after != nullptr ? change.after : change.before)->object;
  const std::pair key(budget.namespace_, budget.name);
  if (change.after == nullptr) {
    budgets_.erase(key);
  } else {
    budgets_.insert_or_assign(key, budget);
  }
  budgets_changed_ = true;
  forget_failures();
}

/// The cache keeps what is stored; the engine has what placements assume, too.
template <class T>
  requires(is_storage(kKindOf<T>))
void LoopCluster::take(const ObjectChange<T>& change) {
  if (change.after == nullptr) {
    const ObjectKey key = key_of(*change.before->object);
    const StorageRemoval removal{kind_of(StorageObject(std::in_place_type<T>)), std::string(key.namespace_),
                                 std::string(key.name)};
    cache_.storage().remove(removal.kind, removal.namespace_, removal.name);
    changes_.emplace_back(removal);
  } else {
    const StorageUpsert& upsert = std::get<StorageUpsert>(changes_.emplace_back(StorageUpsert{*change.after->object}));
    cache_.storage().upsert(upsert.object);
  }
  forget_failures();
}

PostFilter& LoopCluster::post_filter() {
  if (post_filter_ != nullptr && !budgets_changed_) return *post_filter_;
  if (post_filter_ == nullptr) {
    post_filter_ = std::make_unique<PostFilter>(*backend_, cache_, options_.config, budgets(), options_.preemption);
  } else {
    post_filter_->set_budgets(budgets());
  }
  budgets_changed_ = false;
  return *post_filter_;
}

PodPtr LoopCluster::pod_with_node(std::string_view uid) const {
  PodPtr pod = cache_.get_pod(uid);
  if (pod == nullptr || !pod->node_name.empty()) return pod;
  std::shared_ptr<Pod> copy = copy_of(*pod);
  copy->node_name = cache_.node_of_pod(uid)->name;
  return copy;
}

void LoopCluster::undo(const Pod& pod) {
  backend_->undo(pod);
  forget_failures();
}

void LoopCluster::forget(const Pod& pod) {
  undo(pod);
  cache_.forget_pod(pod.uid());
}

void LoopCluster::set_nomination(const PodPtr& pod, const std::string& node) {
  const std::string uid = pod->uid();
  const auto told = told_nominations_.find(uid);
  if (told == told_nominations_.end() ? node.empty() : told->second == node) return;
  const std::vector<ClusterChange> change{NominationUpsert{pod, node}};
  backend_->apply(change);
  forget_failures();
  if (node.empty()) {
    told_nominations_.erase(told);
  } else {
    told_nominations_.insert_or_assign(uid, node);
  }
}

}  // namespace berth
