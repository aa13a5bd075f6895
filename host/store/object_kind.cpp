// SPDX-License-Identifier: Apache-2.0
#include "host/store/object_kind.h"

#include <array>
#include <utility>

namespace berth {
namespace {

constexpr std::array<std::pair<std::string_view, KindNames>, 6> kWorkloads = {{
    {"ReplicationController", {"replicationcontrollers", "ReplicationController", "controllers"}},
    {"ReplicaSet", {"replicasets.apps", "ReplicaSet.apps", "replicasets"}},
    {"StatefulSet", {"statefulsets.apps", "StatefulSet.apps", "statefulsets"}},
    {"Deployment", {"deployments.apps", "Deployment.apps", "deployments"}},
    {"DaemonSet", {"daemonsets.apps", "DaemonSet.apps", "daemonsets"}},
    {"Job", {"jobs.batch", "Job.batch", "jobs"}},
}};

constexpr std::array<KindNames, kObjectKindCount> kNames = {{
    {"pods", "Pod", "pods"},
    {"nodes", "Node", "minions"},
    {"namespaces", "Namespace", "namespaces"},
    {"services", "Service", "services/specs"},
    {},  // by kWorkloads
    {"poddisruptionbudgets.policy", "PodDisruptionBudget.policy", "poddisruptionbudgets"},
    {"priorityclasses.scheduling.k8s.io", "PriorityClass.scheduling.k8s.io", "priorityclasses"},
    {"persistentvolumes", "PersistentVolume", "persistentvolumes"},
    {"persistentvolumeclaims", "PersistentVolumeClaim", "persistentvolumeclaims"},
    {"storageclasses.storage.k8s.io", "StorageClass.storage.k8s.io", "storageclasses"},
    {"csinodes.storage.k8s.io", "CSINode.storage.k8s.io", "csinodes"},
    {"csidrivers.storage.k8s.io", "CSIDriver.storage.k8s.io", "csidrivers"},
    {"csistoragecapacities.storage.k8s.io", "CSIStorageCapacity.storage.k8s.io", "csistoragecapacities"},
    {"volumeattachments.storage.k8s.io", "VolumeAttachment.storage.k8s.io", "volumeattachments"},
}};

}  // namespace

KindNames names_of(ObjectKind kind, std::string_view workload_kind) {
  if (kind != ObjectKind::kWorkload) return kNames[static_cast<std::size_t>(kind)];
  for (const auto& [name, names] : kWorkloads)
    if (name == workload_kind) return names;
  return {"workloads", "Workload", "workloads"};
}

}  // namespace berth
