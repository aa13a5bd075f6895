// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/spread_constraints.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "host/engine/reference/node_rules.h"
#include "host/engine/reference/node_selector_match.h"
#include "host/framework/label_problems.h"

namespace berth::reference {
namespace {

constexpr std::int32_t kSystemHostnameSkew = 3;
constexpr std::int32_t kSystemZoneSkew = 5;

// Default constraints

TopologySpreadConstraint system_constraint(const char* key, std::int32_t max_skew) {
  TopologySpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.max_skew = max_skew;
  constraint.schedule_anyway = true;
  return constraint;
}

const std::vector<TopologySpreadConstraint>& default_constraints(const PodTopologySpreadArgs& args) {
  static const std::vector<TopologySpreadConstraint> kSystem = {
      system_constraint("kubernetes.io/hostname", kSystemHostnameSkew),
      system_constraint("topology.kubernetes.io/zone", kSystemZoneSkew)};
  return args.system_defaulting ? kSystem : args.default_constraints;
}

const OwnerReference* controller_of(const Pod& pod) {
  if (pod.owners == nullptr) return nullptr;
  const auto found = std::find_if(pod.owners->begin(), pod.owners->end(),
                                  [](const OwnerReference& owner) { return owner.controller; });
  return found == pod.owners->end() ? nullptr : &*found;
}

/// The workload that the reference names, if it is of that version and kind and there.
const Workload* find_owner(const OwnerReference& owner, std::string_view api_version, std::string_view kind,
                           const Pod& pod, const ClusterView& cluster) {
  if (owner.api_version != api_version || owner.kind != kind) return nullptr;
  const std::vector<Workload>& workloads = objects_in(pod.namespace_, cluster.objects.selecting).workloads;
  const auto found = std::find_if(workloads.begin(), workloads.end(), [&](const Workload& workload) {
    return workload.kind == kind && workload.name == owner.name;
  });
  return found == workloads.end() ? nullptr : &*found;
}

LabelMap to_label_map(const std::map<std::string, std::string>& pairs) {
  return LabelMap(std::vector<std::pair<std::string, std::string>>(pairs.begin(), pairs.end()));
}

void merge_pairs(const LabelMap& from, std::map<std::string, std::string>& to) {
  for (const auto& [key, value] : from) to[std::string(key)] = value;
}

// Constraints

/// The keys that the pod has, with their values.
LabelMap matched_labels(const std::vector<std::string>& keys, const Pod& pod) {
  std::map<std::string, std::string> pairs;
  for (const std::string& key : keys) {
    if (const std::optional<std::string_view> value = pod.labels.find(key)) pairs[key] = *value;
  }
  return to_label_map(pairs);
}

SpreadConstraint make_constraint(const TopologySpreadConstraint& from, const Request& request) {
  LabelMatcher selector(from.label_selector);
  if (request.gates->enabled("MatchLabelKeysInPodTopologySpread")) {
    selector.require(matched_labels(from.match_label_keys, *request.pod));
  }
  return {from.topology_key,        std::move(selector),   from.max_skew, from.min_domains.value_or(1),
          from.honor_node_affinity, from.honor_node_taints};
}

SpreadConstraints constraints_of(const std::vector<TopologySpreadConstraint>& all, bool schedule_anyway,
                                 const Request& request) {
  SpreadConstraints constraints;
  for (const TopologySpreadConstraint& constraint : all) {
    if (constraint.schedule_anyway != schedule_anyway) continue;
    if (const std::optional<std::string> problem = label_selector_problem(constraint.label_selector)) {
      return {{}, *problem};
    }
    constraints.list.push_back(make_constraint(constraint, request));
  }
  return constraints;
}

SpreadConstraints constraints_of_action(bool schedule_anyway, const Request& request) {
  const std::vector<TopologySpreadConstraint>& own = request.pod->spec->topology_spread_constraints;
  if (!own.empty()) return constraints_of(own, schedule_anyway, request);
  const PodTopologySpreadArgs& args = request.profile->args.pod_topology_spread;
  SpreadConstraints constraints = constraints_of(default_constraints(args), schedule_anyway, request);
  if (constraints.list.empty()) return constraints;
  const LabelMatcher selector = default_selector(*request.pod, *request.cluster);
  if (selector.is_empty()) return {};
  for (SpreadConstraint& constraint : constraints.list) constraint.selector = selector;
  return constraints;
}

// Inclusion policies

bool required_affinity_matches(const PodSpec& spec, const Node& node) {
  if (!labels_match(spec.node_selector, node)) return false;
  const bool has_terms = spec.node_affinity && spec.node_affinity->required;
  return !has_terms || any_term_matches(*spec.node_affinity->required, node);
}

bool tolerates_node(const Request& request, const Node& node) {
  const std::vector<Toleration>& tolerations = request.pod->spec->tolerations;
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::kPreferNoSchedule ||
           std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& toleration) {
             return tolerates(toleration, taint, request.compares_taints);
           });
  });
}

}  // namespace

LabelMatcher default_selector(const Pod& pod, const ClusterView& cluster) {
  std::map<std::string, std::string> pairs;
  for (const Service& service : objects_in(pod.namespace_, cluster.objects.selecting).services) {
    if (LabelMatcher(service.selector).matches(pod.labels)) merge_pairs(service.selector, pairs);
  }
  const OwnerReference* owner = controller_of(pod);
  if (owner == nullptr) return LabelMatcher(to_label_map(pairs));
  if (const Workload* found = find_owner(*owner, "v1", "ReplicationController", pod, cluster)) {
    // Replaces what services say of the same key, even if the pod no longer matches then.
    if (found->selector) merge_pairs(found->selector->match_labels, pairs);
  }
  LabelMatcher selector(to_label_map(pairs));
  for (const char* kind : {"ReplicaSet", "StatefulSet"}) {
    const Workload* found = find_owner(*owner, "apps/v1", kind, pod, cluster);
    if (found != nullptr && !label_selector_problem(found->selector)) selector.require(LabelMatcher(found->selector));
  }
  return selector;
}

SpreadConstraints hard_constraints(const Request& request) { return constraints_of_action(false, request); }

SpreadConstraints soft_constraints(const Request& request) { return constraints_of_action(true, request); }

bool has_all_keys(const std::vector<SpreadConstraint>& constraints, const Node& node) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const SpreadConstraint& constraint) { return node.labels.contains(constraint.topology_key); });
}

bool includes(const SpreadConstraint& constraint, const Request& request, const Node& node) {
  if (constraint.honors_node_affinity && !required_affinity_matches(*request.pod->spec, node)) return false;
  return !constraint.honors_node_taints || tolerates_node(request, node);
}

std::int64_t count_pods(const SpreadConstraint& constraint, const Request& request, const NodeState& state) {
  // Q1: the shortcut for selectors that match nothing is taken for those that match everything.
  if (constraint.selector.is_empty() && request.cluster->bugs.empty_spread_selector_counts_nothing) return 0;
  return std::count_if(state.pods.begin(), state.pods.end(), [&](const PodOnNode& other) {
    return !other.pod->terminating && other.pod->namespace_ == request.pod->namespace_ &&
           constraint.selector.matches(other.pod->labels);
  });
}

}  // namespace berth::reference
