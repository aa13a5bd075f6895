// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/cluster/namespace_objects.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "plugins/label_index.h"
#include "plugins/pod_query.h"
#include "plugins/pod_topology_spread/rule.h"

namespace berth {

/// The one key whose soft constraints take every node for a domain of its own: docs/behaviour/plugins-topology.md 2.9.
inline constexpr std::string_view kHostnameKey = "kubernetes.io/hostname";

/// A constraint as the plugin reads it, defaults filled in: docs/behaviour/plugins-topology.md 2.1.
struct SpreadConstraint {
  std::string key;
  std::int32_t max_skew = 1;
  std::int32_t min_domains = 1;
  bool honors_node_affinity = true;
  bool honors_node_taints = false;
  PodLabelSelector selector = PodLabelSelector::nothing();
};

/// What a pod asks of its spread.
struct SpreadConstraints {
  std::vector<SpreadConstraint> hard;  ///< DoNotSchedule, in the order of the spec
  std::vector<SpreadConstraint> soft;  ///< ScheduleAnyway, likewise
  /// Scoring ignores nodes that lack a key of a soft constraint; not so under the system's default constraints.
  bool requires_all_topologies = true;
  std::string hard_error;  ///< non-empty: PreFilter ends the cycle with this error
  std::string soft_error;  ///< non-empty: PreScore does
};

/// Does default spreading read the selector of an owner of this kind and version?
bool is_read_by_default_spreading(const OwnerReference& owner);

/// Does default spreading read the selectors of workloads of this kind?
bool is_read_by_default_spreading(std::string_view workload_kind);
/// Names a workload within its namespace.
std::string workload_key(std::string_view kind, std::string_view name);
/// workload_key() of the controller of a pod whose selector default spreading reads; empty: the pod has none.
/// @param owners  of the pod; null: none
std::string controller_key(const std::vector<OwnerReference>* owners);
/// Does a Service with this selector select pods with these labels? One without a selector selects none.
bool is_selected(const LabelMap& labels, const LabelMap& selector);

/// Which pods the default constraints count with a given pod, from what selects or owns it. Reads the services and
/// workloads of a cluster once.
class DefaultSelectors {
 public:
  /// `objects` must outlive the object, and change with change_namespace() only.
  explicit DefaultSelectors(const ObjectsByNamespace& objects);
  /// Services or workloads of the namespace changed. @param objects  as for the constructor, those of the namespace
  void change_namespace(const std::string& name, const NamespaceObjects& objects);
  /// There are no selectors.
  bool none() const { return namespaces_.empty(); }
  /// Without a requirement: the pod gets no default constraints. docs/behaviour/plugins-topology.md 2.2.
  PodLabelSelector of(const Pod& pod) const;

 private:
  /// A pod is met through its own labels.
  struct OfNamespace {
    LabelIndex by_label;
    std::vector<LabelMap> selectors;                   ///< of Services
    std::map<std::string, const Workload*> workloads;  ///< by workload_key()
  };
  static OfNamespace read(const NamespaceObjects& objects);
  static const Workload* owner_of(const Pod& pod, const OfNamespace& here);

  std::unordered_map<std::string, OfNamespace> namespaces_;  ///< that have selectors
};

/// Does a pod of this spec get the constraints of the profile instead of its own?
bool uses_default_constraints(const PodSpec& spec, const PodTopologySpreadArgs& args);

/// @param default_selector  of the pod; read only where uses_default_constraints()
/// @param match_label_keys  gate MatchLabelKeysInPodTopologySpread
SpreadConstraints compile_spread_constraints(const PodSpec& spec, const LabelMap& labels,
                                             const PodLabelSelector& default_selector,
                                             const PodTopologySpreadArgs& args, bool match_label_keys);

}  // namespace berth
