// SPDX-License-Identifier: Apache-2.0
#include "host/capi/known_objects.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "host/objects/object_kinds.h"

namespace berth::capi {
namespace {

constexpr std::array<std::string_view, 6> kWorkloads = {
    "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Job"};
constexpr std::string_view kNode = "Node";
constexpr std::string_view kPriorityClass = "PriorityClass";
constexpr std::string_view kRuntimeClass = "RuntimeClass";
constexpr std::string_view kBudget = "PodDisruptionBudget";

struct StorageName {
  std::string_view kind;
  StorageKind storage;
};
constexpr std::array<StorageName, 7> kStorage = {{{"PersistentVolume", StorageKind::kVolume},
                                                  {"PersistentVolumeClaim", StorageKind::kClaim},
                                                  {"StorageClass", StorageKind::kClass},
                                                  {"CSINode", StorageKind::kCsiNode},
                                                  {"CSIDriver", StorageKind::kCsiDriver},
                                                  {"CSIStorageCapacity", StorageKind::kCapacity},
                                                  {"VolumeAttachment", StorageKind::kAttachment}}};

const StorageName* storage_name(std::string_view kind) {
  const auto* const at = std::ranges::find(kStorage, kind, &StorageName::kind);
  return at == kStorage.end() ? nullptr : at;
}

bool is_workload(std::string_view kind) { return std::ranges::find(kWorkloads, kind) != kWorkloads.end(); }

template <class T>
void erase_named(std::vector<T>& list, std::string_view kind, const ObjectKeys& keys) {
  std::erase_if(list, [&](const T& object) {
    if constexpr (requires { object.namespace_; })
      return keys.contains({std::string(kind), object.namespace_, object.name});
    else
      return keys.contains({std::string(kind), "", object.name});
  });
}

}  // namespace

std::string to_string(const ObjectKey& key) {
  return key.kind + " " + (key.namespace_.empty() ? key.name : key.namespace_ + "/" + key.name);
}

bool has_namespace(std::string_view kind) {
  if (is_cluster_wide(kind)) return false;
  return kind == "Pod" || kind == "Service" || kind == kBudget || is_workload(kind) || storage_name(kind) != nullptr;
}

bool is_known_kind(std::string_view kind) { return has_namespace(kind) || is_cluster_wide(kind); }

ObjectKeys keys_of(const DecodedObjects& decoded) {
  ObjectKeys keys;
  const auto add = [&](std::string_view kind, const auto& list) {
    for (const auto& [object, place] : list) {
      if constexpr (requires { object.namespace_; })
        keys.insert({std::string(kind), object.namespace_, object.name});
      else
        keys.insert({std::string(kind), "", object.name});
    }
  };
  for (const auto& [node, place] : decoded.nodes) keys.insert({std::string(kNode), "", node->name});
  add("Namespace", decoded.namespaces);
  add("Service", decoded.services);
  for (const DecodedWorkload& made : decoded.workloads)
    keys.insert({made.workload.kind, made.workload.namespace_, made.workload.name});
  add(kPriorityClass, decoded.priority_classes);
  add(kRuntimeClass, decoded.runtime_classes);
  add(kBudget, decoded.pod_disruption_budgets);
  add("PersistentVolume", decoded.volumes);
  add("PersistentVolumeClaim", decoded.volume_claims);
  add("StorageClass", decoded.storage_classes);
  add("CSINode", decoded.csi_nodes);
  add("CSIDriver", decoded.csi_drivers);
  add("CSIStorageCapacity", decoded.storage_capacities);
  add("VolumeAttachment", decoded.volume_attachments);
  return keys;
}

ObjectKeys keys_of_kind(const std::string& kind, const ObjectKeys& known, const Roster& roster,
                        const NodeTable& nodes) {
  ObjectKeys keys;
  if (kind == kNode) {
    for (const Roster::Entry& node : roster.entries()) keys.insert({kind, "", *nodes.name_of(node.number)});
    return keys;
  }
  for (const ObjectKey& key : known)
    if (key.kind == kind) keys.insert(key);
  return keys;
}

bool is_among(const ObjectKey& key, const ObjectKeys& known, const Roster& roster, const NodeTable& nodes) {
  if (key.kind != kNode) return known.contains(key);
  const std::optional<std::uint32_t> number = nodes.find(key.name);
  return number && roster.find(*number) != nullptr;
}

std::optional<ClusterChange> removal_of(const ObjectKey& key) {
  if (key.kind == kNode) return NodeRemoval{key.name};
  if (key.kind == "Namespace") return NamespaceRemoval{key.name};
  if (key.kind == "Service") return ServiceRemoval{key.namespace_, key.name};
  if (is_workload(key.kind)) return WorkloadRemoval{key.kind, key.namespace_, key.name};
  if (const StorageName* const storage = storage_name(key.kind))
    return StorageRemoval{storage->storage, key.namespace_, key.name};
  return std::nullopt;
}

std::shared_ptr<const SideObjects> side_without(const std::shared_ptr<const SideObjects>& before,
                                                const ObjectKeys& keys) {
  const bool any = std::ranges::any_of(keys, [&](const ObjectKey& key) {
    return !removal_of(key) || before->replicas.contains({key.kind, key.namespace_, key.name});
  });
  if (!any) return before;
  auto after = std::make_shared<SideObjects>(*before);
  erase_named(after->budgets, kBudget, keys);
  erase_named(after->priority_classes, kPriorityClass, keys);
  erase_named(after->runtime_classes, kRuntimeClass, keys);
  for (const ObjectKey& key : keys) after->replicas.erase({key.kind, key.namespace_, key.name});
  return after;
}

std::shared_ptr<const NominatedPods> nominated_after(const std::shared_ptr<const NominatedPods>& before,
                                                     std::span<const ClusterChange> changes,
                                                     const NominatedPods& come) {
  if (before->empty() && come.empty()) return before;
  auto after = std::make_shared<NominatedPods>(*before);
  for (const ClusterChange& change : changes) {
    if (const auto* const upsert = std::get_if<PodUpsert>(&change)) after->erase(upsert->pod->uid());
    if (const auto* const removal = std::get_if<PodRemoval>(&change)) after->erase(removal->uid);
  }
  if (come.empty() && after->size() == before->size()) return before;
  after->insert(come.begin(), come.end());
  return after;
}

}  // namespace berth::capi
