// SPDX-License-Identifier: Apache-2.0
#include "host/store/pod_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "host/store/deletion.h"

namespace berth {
namespace {

constexpr std::string_view kPodScheduled = "PodScheduled";
constexpr std::string_view kDisruptionTarget = "DisruptionTarget";
constexpr std::string_view kPodResizePending = "PodResizePending";

bool is_preempted(const PodConditions& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const PodCondition& condition) {
    return condition.type == kDisruptionTarget && condition.status == ConditionStatus::kTrue &&
           condition.reason == "PreemptionByScheduler";
  });
}

bool is_resize_infeasible(const PodConditions& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const PodCondition& condition) {
    return condition.type == kPodResizePending && condition.reason == "Infeasible";
  });
}

void set_rare(Pod& pod, PodRare&& rare) {
  pod.rare_fields = rare == PodRare() ? nullptr : std::make_unique<const PodRare>(std::move(rare));
}

std::shared_ptr<const PodConditions> shared(PodConditions&& conditions) {
  return conditions.empty() ? nullptr : std::make_shared<const PodConditions>(std::move(conditions));
}

}  // namespace

void set_condition(PodConditions& conditions, PodCondition condition, std::int64_t now_us) {
  condition.last_transition_time_us = whole_seconds(now_us);
  const auto old = std::find_if(conditions.begin(), conditions.end(),
                                [&](const PodCondition& other) { return other.type == condition.type; });
  if (old == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (old->status == condition.status) condition.last_transition_time_us = old->last_transition_time_us;
  *old = std::move(condition);
}

void reset_status(StoredPod& stored, std::int64_t now_us) {
  const std::shared_ptr<Pod> pod = copy_of(*stored.object);
  PodRare rare = pod->rare();
  rare.nominated_node_name.clear();
  rare.status_resources.clear();
  rare.resize_infeasible = false;
  rare.preempted = false;
  PodConditions conditions;
  if (!rare.scheduling_gates.empty()) {
    set_condition(conditions,
                  {.type = std::string(kPodScheduled),
                   .status = ConditionStatus::kFalse,
                   .reason = "SchedulingGated",
                   .message = "Scheduling is blocked due to non-empty scheduling gates"},
                  now_us);
  }
  set_rare(*pod, std::move(rare));
  pod->phase = PodPhase::kPending;
  pod->start_time_us = 0;
  pod->terminating = false;
  stored.object = pod;
  stored.shared_conditions = shared(std::move(conditions));
}

void keep_status(StoredPod& stored, std::int64_t now_us) {
  const Pod& pod = *stored.object;
  PodConditions conditions;
  const auto set = [&](std::string_view type, ConditionStatus status, std::string reason) {
    set_condition(conditions, {.type = std::string(type), .status = status, .reason = std::move(reason)}, now_us);
  };
  if (is_assigned(pod)) set(kPodScheduled, ConditionStatus::kTrue, "");
  if (pod.rare().preempted) set(kDisruptionTarget, ConditionStatus::kTrue, "PreemptionByScheduler");
  if (pod.rare().resize_infeasible) set(kPodResizePending, ConditionStatus::kTrue, "Infeasible");
  stored.shared_conditions = shared(std::move(conditions));
  if (!pod.terminating) return;
  change_rare(stored.meta, [&](RareMeta& rare) {
    rare.deletion_grace_s = std::max<std::int64_t>(pod.spec->termination_grace_s, 1);
    rare.deletion_time_us = now_us + grace_us(*rare.deletion_grace_s);
  });
}

std::vector<std::string> status_problems(const Pod& pod, const PodStatusPatch& patch, bool clears_nomination) {
  std::vector<std::string> problems;
  if (!patch.nominated_node_name) return problems;
  const std::string& name = *patch.nominated_node_name;
  if (name.empty() || name == pod.rare().nominated_node_name) return problems;
  if (!is_dns_subdomain(name)) {
    problems.push_back(fmt::format(
        "status.nominatedNodeName: Invalid value: \"{}\": a lowercase RFC 1123 subdomain must consist of lower case "
        "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
        "'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        name));
  }
  if (clears_nomination && is_assigned(pod))
    problems.emplace_back(
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node");
  return problems;
}

void apply(const PodStatusPatch& patch, std::int64_t now_us, StoredPod& stored) {
  const std::shared_ptr<Pod> pod = copy_of(*stored.object);
  PodRare rare = pod->rare();
  if (patch.phase) pod->phase = *patch.phase;
  if (patch.start_time_us) pod->start_time_us = whole_seconds(*patch.start_time_us);
  if (patch.nominated_node_name) rare.nominated_node_name = *patch.nominated_node_name;
  if (!patch.conditions.empty()) {
    PodConditions conditions = stored.conditions();
    for (const PodCondition& condition : patch.conditions) set_condition(conditions, condition, now_us);
    rare.preempted = is_preempted(conditions);
    rare.resize_infeasible = is_resize_infeasible(conditions);
    if (conditions != stored.conditions()) stored.shared_conditions = shared(std::move(conditions));
  }
  set_rare(*pod, std::move(rare));
  stored.object = pod;
}

std::string binding_problem(const StoredPod& stored) {
  const Pod& pod = *stored.object;
  if (stored.meta.is_being_deleted())
    return fmt::format("pod {} is being deleted, cannot be assigned to a host", pod.name);
  if (is_assigned(pod)) return fmt::format("pod {} is already assigned to node \"{}\"", pod.name, pod.node_name);
  if (!pod.rare().scheduling_gates.empty()) return fmt::format("pod {} has non-empty .spec.schedulingGates", pod.name);
  return {};
}

void apply(const PodBinding& binding, bool clears_nomination, std::int64_t now_us, StoredPod& stored) {
  const std::shared_ptr<Pod> pod = copy_of(*stored.object);
  pod->node_name = binding.node_name;
  if (clears_nomination && !pod->rare().nominated_node_name.empty()) {
    PodRare rare = pod->rare();
    rare.nominated_node_name.clear();
    set_rare(*pod, std::move(rare));
  }
  PodConditions conditions = stored.conditions();
  set_condition(conditions, {.type = std::string(kPodScheduled), .status = ConditionStatus::kTrue}, now_us);
  stored.object = pod;
  stored.shared_conditions = shared(std::move(conditions));
}

}  // namespace berth
