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

}  // namespace

KindNames names_of(ObjectKind kind, std::string_view workload_kind) {
  switch (kind) {
    case ObjectKind::kPod:
      return {"pods", "Pod", "pods"};
    case ObjectKind::kNode:
      return {"nodes", "Node", "minions"};
    case ObjectKind::kNamespace:
      return {"namespaces", "Namespace", "namespaces"};
    case ObjectKind::kService:
      return {"services", "Service", "services/specs"};
    case ObjectKind::kPodDisruptionBudget:
      return {"poddisruptionbudgets.policy", "PodDisruptionBudget.policy", "poddisruptionbudgets"};
    case ObjectKind::kPriorityClass:
      return {"priorityclasses.scheduling.k8s.io", "PriorityClass.scheduling.k8s.io", "priorityclasses"};
    case ObjectKind::kWorkload:
      break;
  }
  for (const auto& [name, names] : kWorkloads)
    if (name == workload_kind) return names;
  return {"workloads", "Workload", "workloads"};
}

}  // namespace berth
