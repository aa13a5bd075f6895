// SPDX-License-Identifier: Apache-2.0
#include "host/store/object_rules.h"

#include <fmt/format.h>

namespace berth {
namespace {

std::string_view text_of(PreemptionPolicy policy) {
  return policy == PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority";
}

}  // namespace

bool is_same_object(const Node& a, const Node& b) {
  return a.name == b.name && a.labels == b.labels && a.unschedulable == b.unschedulable && a.taints == b.taints &&
         a.allocatable == b.allocatable && a.allowed_pod_number == b.allowed_pod_number && a.images == b.images &&
         a.declared_features == b.declared_features;
}

bool is_same_object(const Namespace& a, const Namespace& b) { return a.name == b.name && a.labels == b.labels; }

bool is_same_object(const Service& a, const Service& b) { return key_of(a) == key_of(b) && a.selector == b.selector; }

bool is_same_object(const Workload& a, const Workload& b) {
  return key_of(a) == key_of(b) && a.uid == b.uid && a.selector == b.selector && a.owners == b.owners &&
         a.expanded_pod_count == b.expanded_pod_count;
}

bool is_same_object(const PodDisruptionBudget& a, const PodDisruptionBudget& b) {
  return key_of(a) == key_of(b) && a.selector == b.selector && a.disruptions_allowed == b.disruptions_allowed &&
         a.disrupted_pods == b.disrupted_pods;
}

bool is_same_object(const PriorityClass& a, const PriorityClass& b) {
  return a.name == b.name && a.value == b.value && a.global_default == b.global_default &&
         a.preemption_policy == b.preemption_policy;
}

bool is_same_object(const Pod& a, const Pod& b) {
  const auto same = [](const auto& x, const auto& y) { return x == y || (x != nullptr && y != nullptr && *x == *y); };
  return key_of(a) == key_of(b) && a.stored_uid == b.stored_uid && a.labels == b.labels && same(a.spec, b.spec) &&
         a.node_name == b.node_name && same(a.owners, b.owners) && a.rare() == b.rare() &&
         a.creation_time_us == b.creation_time_us && a.start_time_us == b.start_time_us && a.priority == b.priority &&
         a.preemption_policy == b.preemption_policy && a.phase == b.phase && a.terminating == b.terminating;
}

NodePtr with_stored_status(const NodePtr& wanted, const Node& stored) {
  auto node = std::make_shared<Node>(*wanted);
  node->allocatable = stored.allocatable;
  node->allowed_pod_number = stored.allowed_pod_number;
  node->images = stored.images;
  node->declared_features = stored.declared_features;
  return node;
}

std::shared_ptr<const PodDisruptionBudget> with_stored_status(const std::shared_ptr<const PodDisruptionBudget>& wanted,
                                                              const PodDisruptionBudget& stored) {
  auto budget = std::make_shared<PodDisruptionBudget>(*wanted);
  budget->disruptions_allowed = stored.disruptions_allowed;
  budget->disrupted_pods = stored.disrupted_pods;
  return budget;
}

NodePtr with_status_of(const Node& stored, const Node& wanted) {
  return with_stored_status(std::make_shared<const Node>(stored), wanted);
}

std::shared_ptr<const PodDisruptionBudget> with_status_of(const PodDisruptionBudget& stored,
                                                          const PodDisruptionBudget& wanted) {
  return with_stored_status(std::make_shared<const PodDisruptionBudget>(stored), wanted);
}

bool has_other_spec(const PodDisruptionBudget& before, const PodDisruptionBudget& after) {
  return !(before.selector == after.selector);
}

bool has_other_spec(const Workload& before, const Workload& after) { return !(before.selector == after.selector); }

std::vector<std::string> update_problems(const PriorityClass& before, const PriorityClass& after) {
  std::vector<std::string> problems;
  if (before.value != after.value) problems.emplace_back("value: Forbidden: may not be changed in an update.");
  // An absent policy is stored as the default.
  const PreemptionPolicy policy = after.preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
  if (before.preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority) != policy)
    problems.push_back(fmt::format("preemptionPolicy: Invalid value: \"{}\": field is immutable", text_of(policy)));
  return problems;
}

}  // namespace berth
