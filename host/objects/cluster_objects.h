// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/objects/node.h"
#include "host/objects/pod.h"
#include "host/objects/selectors.h"
#include "host/objects/volumes.h"

namespace berth {

struct Namespace {
  std::string name;
  LabelMap labels;
};

struct PriorityClass {
  std::string name;
  std::int32_t value = 0;
  bool global_default = false;
  std::optional<PreemptionPolicy> preemption_policy;
};

struct Service {
  std::string name;
  std::string namespace_;
  /// Empty is null or {}: default spreading adds the pairs of the services that match a pod, so neither adds any.
  LabelMap selector;
};

struct RuntimeClass {
  std::string name;
  ResourceList overhead_pod_fixed;
  LabelMap node_selector;               ///< scheduling.nodeSelector, merged at admission
  std::vector<Toleration> tolerations;  ///< scheduling.tolerations, merged at admission
};

struct PodDisruptionBudget {
  std::string name;
  std::string namespace_;
  std::optional<LabelSelector> selector;
  std::int32_t disruptions_allowed = 0;
  std::vector<std::string> disrupted_pods;
};

/// ReplicaSet, StatefulSet, ReplicationController, Deployment, DaemonSet or Job. Their missing pods are already among
/// ClusterObjects::pods; what is kept here is what default spreading reads and what the report names.
struct Workload {
  std::string kind;
  std::string name;
  std::string namespace_;
  std::string uid;
  std::optional<LabelSelector> selector;  ///< of a ReplicationController: its plain map, as match_labels
  std::vector<OwnerReference> owners;
  std::int64_t expanded_pod_count = 0;  ///< pods that the loader made because no present object was one
};

/// An object that was read but is not part of the accounts, with the reason, for the report.
struct Remark {
  std::string object;  ///< "Pod default/web-0"
  std::string reason;
};

/// Everything that was loaded, in input order, with admission applied (docs/objects.md).
/// Nodes and pods are immutable and shared with the cache and the engines.
struct ClusterObjects {
  std::vector<NodePtr> nodes;
  std::vector<PodPtr> pods;  ///< running and pending ones; of terminal ones (Succeeded, Failed) only names are kept
  std::vector<Namespace> namespaces;
  std::vector<PriorityClass> priority_classes;
  std::vector<Service> services;
  std::vector<RuntimeClass> runtime_classes;
  std::vector<PodDisruptionBudget> pod_disruption_budgets;
  std::vector<Workload> workloads;
  StorageObjects storage;

  std::int64_t terminal_pod_count = 0;
  std::vector<std::string> terminal_pods;             ///< "namespace/name" of each
  std::map<std::string, std::int64_t> unused_kinds;   ///< kinds known but used by nothing yet, with counts
  std::map<std::string, std::int64_t> unknown_kinds;  ///< "apiVersion/kind" -> count; each is warned of once
  std::vector<std::string> warnings;
  std::uint64_t bytes_read = 0;  ///< after decompression
};

}  // namespace berth
