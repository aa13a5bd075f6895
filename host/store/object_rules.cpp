// SPDX-License-Identifier: Apache-2.0
#include "host/store/object_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth {
namespace {

std::string_view text_of(PreemptionPolicy policy) {
  return policy == PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority";
}

}  // namespace

bool is_same_object(const Node& a, const Node& b) {
  return a.name == b.name && a.labels == b.labels && a.unschedulable == b.unschedulable && a.taints == b.taints &&
         a.allocatable == b.allocatable && a.allowed_pod_number == b.allowed_pod_number && a.images == b.images &&
         a.declared_features == b.declared_features && a.declared == b.declared;
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
  node->declared.clear();
  for (const DeclaredValue& value : wanted->declared)
    if (!value.is_status) node->declared.push_back(value);
  for (const DeclaredValue& value : stored.declared)
    if (value.is_status) node->declared.push_back(value);
  std::ranges::sort(node->declared, {}, &DeclaredValue::path);
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

std::shared_ptr<const PodDisruptionBudget> with_first_status(const std::shared_ptr<const PodDisruptionBudget>& wanted) {
  return with_stored_status(wanted, PodDisruptionBudget());
}

std::shared_ptr<const PersistentVolume> with_first_status(const std::shared_ptr<const PersistentVolume>& wanted) {
  auto volume = std::make_shared<PersistentVolume>(*wanted);
  volume->is_available = !volume->claim_ref;
  return volume;
}

std::shared_ptr<const VolumeClaim> with_first_status(const std::shared_ptr<const VolumeClaim>& wanted) {
  auto claim = std::make_shared<VolumeClaim>(*wanted);
  claim->is_lost = false;
  return claim;
}

std::shared_ptr<const PersistentVolume> with_stored_status(const std::shared_ptr<const PersistentVolume>& wanted,
                                                           const PersistentVolume& stored) {
  auto volume = std::make_shared<PersistentVolume>(*wanted);
  volume->terminating = stored.terminating;
  volume->is_available = !volume->claim_ref && (stored.claim_ref || stored.is_available);
  return volume;
}

std::shared_ptr<const VolumeClaim> with_stored_status(const std::shared_ptr<const VolumeClaim>& wanted,
                                                      const VolumeClaim& stored) {
  auto claim = std::make_shared<VolumeClaim>(*wanted);
  claim->uid = stored.uid;
  claim->terminating = stored.terminating;
  claim->is_lost = stored.is_lost;
  return claim;
}

std::shared_ptr<const PersistentVolume> with_status_of(const PersistentVolume& stored, const PersistentVolume& wanted) {
  auto volume = std::make_shared<PersistentVolume>(stored);
  volume->is_available = wanted.is_available;
  return volume;
}

std::shared_ptr<const VolumeClaim> with_status_of(const VolumeClaim& stored, const VolumeClaim& wanted) {
  auto claim = std::make_shared<VolumeClaim>(stored);
  claim->is_lost = wanted.is_lost;
  return claim;
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

// kubernetes pkg/apis/core/validation/validation.go and pkg/apis/storage/validation/validation.go, without the diffs
// that end some of the texts.

std::vector<std::string> update_problems(const PersistentVolume& before, const PersistentVolume& after) {
  std::vector<std::string> problems;
  if (!(before.source == after.source))
    problems.emplace_back(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation");
  if (before.is_block != after.is_block) problems.emplace_back("volumeMode: Invalid value: field is immutable");
  if (before.node_affinity && before.node_affinity != after.node_affinity)
    problems.emplace_back("nodeAffinity: Invalid value: field is immutable, except for updating from beta label to GA");
  return problems;
}

std::vector<std::string> update_problems(const VolumeClaim& before, const VolumeClaim& after) {
  VolumeClaim allowed = before;
  if (before.volume_name.empty()) allowed.volume_name = after.volume_name;  // once
  if (before.is_bound()) {
    allowed.request = after.request;
    allowed.attributes_class = after.attributes_class;
  }
  allowed.selected_node = after.selected_node;  // annotations
  allowed.is_bind_completed = after.is_bind_completed;
  allowed.controller_uid = after.controller_uid;
  if (allowed == after) return {};
  return {
      "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
      "bound claims"};
}

std::vector<std::string> update_problems(const StorageClass& before, const StorageClass& after) {
  std::vector<std::string> problems;
  if (before.provisioner != after.provisioner)
    problems.emplace_back("provisioner: Forbidden: updates to provisioner are forbidden.");
  if (before.binding_mode != after.binding_mode)
    problems.emplace_back("volumeBindingMode: Invalid value: field is immutable");
  return problems;
}

std::vector<std::string> update_problems(const CsiStorageCapacity& before, const CsiStorageCapacity& after) {
  std::vector<std::string> problems;
  if (before.node_topology != after.node_topology)
    problems.emplace_back("nodeTopology: Invalid value: field is immutable");
  if (before.class_name != after.class_name)
    problems.emplace_back("storageClassName: Invalid value: field is immutable");
  return problems;
}

std::vector<std::string> update_problems(const VolumeAttachment& before, const VolumeAttachment& after) {
  if (before == after) return {};
  return {"spec: Invalid value: field is immutable"};
}

}  // namespace berth
