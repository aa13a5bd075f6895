// SPDX-License-Identifier: Apache-2.0
#include "plugins/pod_topology_spread/compile.h"

#include <algorithm>

#include "host/framework/label_problems.h"

namespace berth {
namespace {

constexpr std::string_view kZoneKey = "topology.kubernetes.io/zone";

/// The kinds whose selectors default spreading reads; the version that an owner reference has to name.
std::string_view api_version_of(std::string_view kind) {
  if (kind == "ReplicationController") return "v1";
  if (kind == "ReplicaSet" || kind == "StatefulSet") return "apps/v1";
  return {};
}

SpreadConstraint compile_constraint(const TopologySpreadConstraint& constraint) {
  SpreadConstraint out;
  out.key = constraint.topology_key;
  out.max_skew = constraint.max_skew;
  out.min_domains = constraint.min_domains.value_or(1);
  out.honors_node_affinity = constraint.honor_node_affinity;
  out.honors_node_taints = constraint.honor_node_taints;
  return out;
}

/// matchLabelKeys: the pod's own values of those keys, asked for beside the selector.
void merge_match_label_keys(const TopologySpreadConstraint& constraint, const LabelMap& labels,
                            PodLabelSelector& selector) {
  for (const std::string& key : constraint.match_label_keys)
    if (const auto value = labels.find(key)) selector.add_equal(key, *value);
}

const std::vector<TopologySpreadConstraint>& system_defaults() {
  static const std::vector<TopologySpreadConstraint> kDefaults = [] {
    TopologySpreadConstraint host;
    host.max_skew = 3;
    host.topology_key = kHostnameKey;
    host.schedule_anyway = true;
    TopologySpreadConstraint zone = host;
    zone.max_skew = 5;
    zone.topology_key = kZoneKey;
    return std::vector<TopologySpreadConstraint>{host, zone};
  }();
  return kDefaults;
}

}  // namespace

bool is_read_by_default_spreading(const OwnerReference& owner) {
  return !owner.api_version.empty() && owner.api_version == api_version_of(owner.kind);
}

bool is_read_by_default_spreading(std::string_view workload_kind) { return !api_version_of(workload_kind).empty(); }

std::string workload_key(std::string_view kind, std::string_view name) {
  return std::string(kind).append(1, '/').append(name);
}

std::string controller_key(const std::vector<OwnerReference>* owners) {
  if (owners == nullptr) return {};
  const auto controller =
      std::find_if(owners->begin(), owners->end(), [](const OwnerReference& owner) { return owner.controller; });
  if (controller == owners->end() || !is_read_by_default_spreading(*controller)) return {};
  return workload_key(controller->kind, controller->name);
}

bool is_selected(const LabelMap& labels, const LabelMap& selector) {
  return !selector.empty() && std::includes(labels.begin(), labels.end(), selector.begin(), selector.end());
}

DefaultSelectors::DefaultSelectors(const ObjectsByNamespace& objects) {
  for (const auto& [name, of_namespace] : objects) change_namespace(name, of_namespace);
}

void DefaultSelectors::change_namespace(const std::string& name, const NamespaceObjects& objects) {
  OfNamespace now = read(objects);
  if (now.selectors.empty() && now.workloads.empty()) {
    namespaces_.erase(name);
  } else {
    namespaces_[name] = std::move(now);
  }
}

DefaultSelectors::OfNamespace DefaultSelectors::read(const NamespaceObjects& objects) {
  OfNamespace here;
  for (const Service& service : objects.services) {
    if (service.selector.empty()) continue;
    here.by_label.add(static_cast<std::int32_t>(here.selectors.size()),
                      {service.selector.begin(), service.selector.end()});
    here.selectors.push_back(service.selector);
  }
  for (const Workload& workload : objects.workloads)
    if (is_read_by_default_spreading(workload.kind))
      here.workloads.try_emplace(workload_key(workload.kind, workload.name), &workload);
  return here;
}

const Workload* DefaultSelectors::owner_of(const Pod& pod, const OfNamespace& here) {
  const std::string key = here.workloads.empty() ? std::string() : controller_key(pod.owners.get());
  const auto at = key.empty() ? here.workloads.end() : here.workloads.find(key);
  return at == here.workloads.end() ? nullptr : at->second;
}

PodLabelSelector DefaultSelectors::of(const Pod& pod) const {
  const auto known = namespaces_.find(pod.namespace_);
  if (known == namespaces_.end()) return PodLabelSelector::everything();
  const OfNamespace& here = known->second;
  std::map<std::string_view, std::string_view> pairs;
  for (const std::int32_t s : here.by_label.candidates(pod.labels)) {
    const LabelMap& selector = here.selectors[static_cast<std::size_t>(s)];
    if (is_selected(pod.labels, selector)) pairs.insert(selector.begin(), selector.end());
  }
  const Workload* owner = owner_of(pod, here);
  const bool replaces = owner != nullptr && owner->kind == "ReplicationController";
  if (replaces && owner->selector)
    for (const auto& [key, value] : owner->selector->match_labels) pairs[key] = value;
  PodLabelSelector selector = PodLabelSelector::everything();
  for (const auto& [key, value] : pairs) selector.add_equal(key, value);
  if (owner != nullptr && !replaces && !label_selector_problem(owner->selector))
    selector.add_all(PodLabelSelector(owner->selector));
  return selector;
}

bool uses_default_constraints(const PodSpec& spec, const PodTopologySpreadArgs& args) {
  return spec.topology_spread_constraints.empty() && (args.system_defaulting || !args.default_constraints.empty());
}

SpreadConstraints compile_spread_constraints(const PodSpec& spec, const LabelMap& labels,
                                             const PodLabelSelector& default_selector,
                                             const PodTopologySpreadArgs& args, bool match_label_keys) {
  SpreadConstraints out;
  const bool defaults = uses_default_constraints(spec, args);
  if (defaults && default_selector.is_empty()) return out;
  out.requires_all_topologies = !defaults || !args.system_defaulting;
  const auto& constraints = !defaults                ? spec.topology_spread_constraints
                            : args.system_defaulting ? system_defaults()
                                                     : args.default_constraints;
  for (const TopologySpreadConstraint& constraint : constraints) {
    SpreadConstraint compiled = compile_constraint(constraint);
    std::string& error = constraint.schedule_anyway ? out.soft_error : out.hard_error;
    if (defaults) {
      compiled.selector = default_selector;
    } else if (const auto problem = label_selector_problem(constraint.label_selector)) {
      if (error.empty()) error = *problem;
    } else {
      compiled.selector = PodLabelSelector(constraint.label_selector);
      if (match_label_keys) merge_match_label_keys(constraint, labels, compiled.selector);
    }
    (constraint.schedule_anyway ? out.soft : out.hard).push_back(std::move(compiled));
  }
  return out;
}

}  // namespace berth
