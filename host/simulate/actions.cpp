// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/actions.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "host/objects/pod_state.h"

namespace berth {
namespace {

template <class T>
void create(const std::shared_ptr<const T>& object, bool keeps_status, ObjectStore& store,
            std::vector<std::string>& messages) {
  CreateOptions options;
  options.keeps_status = keeps_status;
  const StoreResult<T> result = store.create(object, options);
  if (!result.is_success()) messages.push_back(result.status.message);
}

template <class T>
void create_each(const std::vector<T>& objects, bool keeps_status, ObjectStore& store,
                 std::vector<std::string>& messages) {
  for (const T& object : objects) create(std::make_shared<const T>(object), keeps_status, store, messages);
}

/// Calls `visit` with the list of each kind.
template <class Visit>
void for_each_list(const StorageObjects& storage, Visit visit) {
  visit(storage.classes), visit(storage.csi_drivers), visit(storage.csi_nodes), visit(storage.capacities);
  visit(storage.volumes), visit(storage.claims), visit(storage.attachments);
}

template <class T>
StoreStatus remove_one(ObjectStore& store, const ObjectReference& object) {
  return store.remove<T>({object.namespace_, object.name}).status;
}

struct Removal {
  std::string_view kind;
  StoreStatus (*remove)(ObjectStore& store, const ObjectReference& object);
};
/// Kinds but pods, which have a grace period, and workloads, which take others along.
constexpr auto kRemovals = std::to_array<Removal>({{"Node", remove_one<Node>},
                                                   {"Namespace", remove_one<Namespace>},
                                                   {"Service", remove_one<Service>},
                                                   {"PriorityClass", remove_one<PriorityClass>},
                                                   {"PodDisruptionBudget", remove_one<PodDisruptionBudget>},
                                                   {"PersistentVolume", remove_one<PersistentVolume>},
                                                   {"PersistentVolumeClaim", remove_one<VolumeClaim>},
                                                   {"StorageClass", remove_one<StorageClass>},
                                                   {"CSINode", remove_one<CsiNode>},
                                                   {"CSIDriver", remove_one<CsiDriver>},
                                                   {"CSIStorageCapacity", remove_one<CsiStorageCapacity>},
                                                   {"VolumeAttachment", remove_one<VolumeAttachment>}});

bool is_controlled_by(const std::vector<OwnerReference>& owners, std::string_view kind, std::string_view name) {
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& owner) {
    return owner.controller && owner.kind == kind && owner.name == name;
  });
}

LabelMap changed(const LabelMap& labels, const NodePatch& change) {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : labels) result.emplace(name, value);
  for (const auto& [name, value] : change.labels) {
    if (value)
      result[name] = *value;
    else
      result.erase(name);
  }
  return LabelMap(std::vector<std::pair<std::string, std::string>>(result.begin(), result.end()));
}

}  // namespace

std::vector<std::string> create_objects(const ClusterObjects& objects, bool keeps_status, ObjectStore& store) {
  std::vector<std::string> messages;
  create_each(objects.namespaces, keeps_status, store, messages);
  create_each(objects.priority_classes, keeps_status, store, messages);
  create_each(objects.services, keeps_status, store, messages);
  create_each(objects.workloads, keeps_status, store, messages);
  create_each(objects.pod_disruption_budgets, keeps_status, store, messages);
  for_each_list(objects.storage, [&](const auto& list) { create_each(list, keeps_status, store, messages); });
  for (const NodePtr& node : objects.nodes) create(node, keeps_status, store, messages);
  for (const PodPtr& pod : objects.pods) create(pod, keeps_status, store, messages);
  return messages;
}

ScenarioPlayer::ScenarioPlayer(const Scenario& scenario, ObjectStore& store)
    : scenario_(scenario), store_(store), next_copy_(scenario.arrivals.size(), 0) {
  std::size_t source = 1;
  for (const ScenarioAction& action : scenario.actions) due_.emplace(scenario.start_us + action.at_us, source++);
  for (const Arrivals& arrivals : scenario.arrivals) due_.emplace(scenario.start_us + arrivals.at_us, source++);
  load_cluster();
}

void ScenarioPlayer::load_cluster() {
  ClusterObjects objects = scenario_.cluster;
  std::erase_if(objects.pods, [&](const PodPtr& pod) {
    const bool comes_later = is_pending(*pod) && pod->creation_time_us > scenario_.start_us;
    if (comes_later) late_pods_.emplace(pod->creation_time_us, pod);
    return comes_later;
  });
  if (!late_pods_.empty()) due_.emplace(late_pods_.begin()->first, 0);
  std::vector<InputProblem> problems;
  for (std::string& message : create_objects(objects, true, store_))
    problems.push_back({"", "", "the cluster cannot be loaded: " + std::move(message)});
  if (!problems.empty()) throw InputError(std::move(problems));
}

void ScenarioPlayer::run_until(std::int64_t now_us) {
  while (next_us() <= now_us) {
    const std::size_t source = due_.begin()->second;
    due_.erase(due_.begin());
    play(source);
  }
}

void ScenarioPlayer::play(std::size_t source) {
  if (source == 0) return play_late_pod();
  if (source <= scenario_.actions.size()) return play(scenario_.actions[source - 1]);
  play_arrival(source - 1 - scenario_.actions.size());
}

void ScenarioPlayer::play_late_pod() {
  std::vector<std::string> messages;
  create(late_pods_.begin()->second, true, store_, messages);
  late_pods_.erase(late_pods_.begin());
  for (std::string& message : messages) fail("the cluster", std::move(message));
  if (!late_pods_.empty()) due_.emplace(late_pods_.begin()->first, 0);
}

void ScenarioPlayer::play(const ScenarioAction& action) {
  for (const auto& [name, fails] : action.provisioners) store_.set_provisioner_fails(name, fails);
  provisioner_changes_ += action.provisioners.size();
  for (std::string& message : create_objects(action.create, false, store_)) fail(action.location, std::move(message));
  for (const NodePatch& node : action.update) change(node, action.location);
  for_each_list(action.replace, [&](const auto& list) { replace(list, action.location); });
  for (const ObjectDeletion& deletion : action.remove) remove(deletion, action.location);
}

void ScenarioPlayer::play_arrival(std::size_t number) {
  const Arrivals& arrivals = scenario_.arrivals[number];
  const std::int64_t k = next_copy_[number]++;
  std::vector<InputProblem> problems;
  for (std::string& message : create_objects(arrivals.copy(k, problems), false, store_))
    fail(arrivals.location, std::move(message));
  for (const InputProblem& problem : problems) fail(arrivals.location, problem.message);
  if (k + 1 == arrivals.count) return;
  const std::int64_t next_us = scenario_.start_us + arrivals.at_us + (k + 1) * arrivals.every_us;
  due_.emplace(next_us, 1 + scenario_.actions.size() + number);
}

void ScenarioPlayer::change(const NodePatch& change, const std::string& location) {
  const ObjectKey key{{}, change.name};
  const StoredPtr<Node> stored = store_.get<Node>(key);
  if (stored == nullptr) return fail(location, not_found(names_of<Node>(key), change.name).message);
  const auto node = std::make_shared<Node>(*stored->object);
  node->labels = changed(node->labels, change);
  if (change.unschedulable) node->unschedulable = *change.unschedulable;
  if (change.taints) node->taints = *change.taints;
  const StoreResult<Node> result = store_.update<Node>(node);
  if (!result.is_success()) fail(location, result.status.message);
}

template <class T>
void ScenarioPlayer::replace(const std::vector<T>& objects, const std::string& location) {
  for (const T& object : objects) {
    const StoreResult<T> result = store_.update(std::make_shared<const T>(object));
    if (!result.is_success()) fail(location, result.status.message);
  }
}

void ScenarioPlayer::remove(const ObjectDeletion& deletion, const std::string& location) {
  const ObjectReference& object = deletion.object;
  const ObjectKey key{object.namespace_, object.name};
  DeleteOptions options;
  options.grace_period_s = deletion.grace_period_s;
  const auto removal =
      std::find_if(kRemovals.begin(), kRemovals.end(), [&](const Removal& known) { return known.kind == object.kind; });
  StoreStatus status;
  if (object.kind == "Pod")
    status = store_.remove<Pod>(key, options).status;
  else if (removal != kRemovals.end())
    status = removal->remove(store_, object);
  else
    status = remove_workload(object);
  if (!status.is_success()) fail(location, std::move(status.message));
}

/// Takes along what it controls, as the garbage collector does: workloads of workloads, and their pods.
StoreStatus ScenarioPlayer::remove_workload(const ObjectReference& object) {
  const StoreStatus status = store_.remove<Workload>({object.namespace_, object.name, object.kind}).status;
  if (!status.is_success()) return status;
  for (const StoredPtr<Workload>& stored : store_.list<Workload>().items) {
    const Workload& workload = *stored->object;
    if (workload.namespace_ == object.namespace_ && is_controlled_by(workload.owners, object.kind, object.name))
      remove_workload({workload.kind, workload.namespace_, workload.name});
  }
  for (const StoredPodPtr& stored : store_.list<Pod>().items) {
    const Pod& pod = *stored->object;
    if (pod.namespace_ == object.namespace_ && pod.owners != nullptr &&
        is_controlled_by(*pod.owners, object.kind, object.name))
      store_.remove<Pod>(key_of(pod));
  }
  return status;
}

void ScenarioPlayer::fail(const std::string& location, std::string message) {
  ++failure_count_;
  if (failures_.size() < kFailuresKept)
    failures_.push_back({store_.clock().now_us() - scenario_.start_us, location, std::move(message)});
}

}  // namespace berth
