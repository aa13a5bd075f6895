// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/scenario_objects.h"

#include <algorithm>
#include <utility>

#include "host/objects/admission.h"
#include "host/objects/expand.h"
#include "host/objects/pod_names.h"
#include "host/objects/text/item_batch.h"

namespace berth {
namespace {

constexpr std::string_view kExpectedKinds =
    "a Pod, Node, Namespace, Service, PriorityClass, RuntimeClass, PodDisruptionBudget, Deployment, ReplicaSet, "
    "StatefulSet, ReplicationController or Job, or a storage object";

/// "line 1, spec.priority" of an object that was decoded alone -> "spec.priority"
std::string_view path_in_object(std::string_view location) {
  const std::size_t comma = location.find(", ");
  return comma == std::string_view::npos ? std::string_view() : location.substr(comma + 2);
}

std::string joined(const std::string& path, std::string_view within) {
  if (within.empty()) return path;
  return path + (within.front() == '[' ? "" : ".") + std::string(within);
}

/// What cannot be created although it can be read; the decoder has counted it instead of keeping it.
void refuse_kinds(const JsonValue& value, const DecodedObjects& decoded) {
  if (!decoded.terminal_pods.empty()) value.problem("the pod has finished, expected one that is to be placed or runs");
  const auto& kinds = decoded.unknown_kinds.empty() ? decoded.unused_kinds : decoded.unknown_kinds;
  if (!kinds.empty()) value.problem("got kind " + kinds.begin()->first + ", expected " + std::string(kExpectedKinds));
  for (const DecodedWorkload& workload : decoded.workloads) {
    if (workload.workload.kind != "DaemonSet") continue;
    value.problem("got a DaemonSet, whose pods follow the nodes, which nothing does here; expected " +
                  std::string(kExpectedKinds));
  }
}

template <class T>
void take_over(std::vector<Sourced<T>>& from, std::vector<T>& to) {
  for (Sourced<T>& element : from) to.push_back(std::move(element.object));
}

/// What needs no admission.
void take_over_settled(DecodedObjects& from, ClusterObjects& to) {
  take_over(from.nodes, to.nodes);
  take_over(from.namespaces, to.namespaces);
  take_over(from.priority_classes, to.priority_classes);
  take_over(from.services, to.services);
  take_over(from.runtime_classes, to.runtime_classes);
  take_over(from.pod_disruption_budgets, to.pod_disruption_budgets);
  take_over(from.volumes, to.storage.volumes);
  take_over(from.volume_claims, to.storage.claims);
  take_over(from.storage_classes, to.storage.classes);
  take_over(from.csi_nodes, to.storage.csi_nodes);
  take_over(from.csi_drivers, to.storage.csi_drivers);
  take_over(from.storage_capacities, to.storage.capacities);
  take_over(from.volume_attachments, to.storage.attachments);
}

}  // namespace

void InlineObjectReader::read(const JsonValue& value, InlineObjects& out) {
  if (!value.present()) return value.problem("null, expected an object");
  std::string text = simdjson::minify(value.element());
  const std::size_t size = text.size();
  text.append(kSlicePaddingBytes, '\0');
  out.json_bytes += static_cast<std::int64_t>(size);
  ItemSlice item;
  item.json = std::string_view(text).substr(0, size);
  DecodedObjects decoded;
  const std::string path = value.path();
  decoder_.decode(item, {}, static_cast<std::uint32_t>(out.paths.size()), decoded);
  out.paths.push_back(path);
  for (const InputProblem& problem : decoded.problems)
    value.sink().add(joined(path, path_in_object(problem.location)), problem.message);
  for (InputProblem& finding : decoded.findings) {
    finding.location = joined(path, path_in_object(finding.location));
    findings_.push_back(std::move(finding));
  }
  refuse_kinds(value, decoded);
  out.decoded.append(std::move(decoded), kProblemLimit);
}

/// Admission refers to the two lists.
struct InlineAdmission::Classes {
  std::vector<PriorityClass> priority_classes;
  std::vector<RuntimeClass> runtime_classes;
  Admission admission;

  Classes(std::vector<PriorityClass> priorities, std::vector<RuntimeClass> runtimes, ObjectPools& pools)
      : priority_classes(std::move(priorities)),
        runtime_classes(std::move(runtimes)),
        admission(priority_classes, runtime_classes, pools) {
    admission.say_missing_classes();
  }
};

InlineAdmission::InlineAdmission(const ClusterObjects& cluster, const std::vector<const InlineObjects*>& lists,
                                 std::shared_ptr<ObjectPools> pools)
    : pools_(std::move(pools)) {
  std::vector<PriorityClass> priorities = cluster.priority_classes;
  std::vector<RuntimeClass> runtimes = cluster.runtime_classes;
  for (const InlineObjects* list : lists) {
    for (const auto& element : list->decoded.priority_classes) priorities.push_back(element.object);
    for (const auto& element : list->decoded.runtime_classes) runtimes.push_back(element.object);
  }
  classes_ = std::make_unique<Classes>(std::move(priorities), std::move(runtimes), *pools_);
}

InlineAdmission::~InlineAdmission() = default;

void InlineAdmission::refuse(const InlineObjects& list, const std::string& path, const std::string& object,
                             std::string message) {
  fold_into(problems_, InputProblem{list.source, path, std::move(message), object}, kProblemLimit);
}

void InlineAdmission::count_pods(const InlineObjects& list, std::int64_t pods) {
  const std::int64_t left = kScenarioPodsMax - pod_count_;
  if (pods <= left) {
    pod_count_ += pods;
    return;
  }
  refuse(list, list.location, "",
         "makes " + std::to_string(pods) + " pods, expected at most " + std::to_string(kScenarioPodsMax) +
             " from the whole scenario, of which " + std::to_string(pod_count_) + " are made before");
}

ClusterObjects InlineAdmission::admit(InlineObjects&& list) {
  ClusterObjects objects;
  take_over_settled(list.decoded, objects);
  for (DecodedPod& pod : list.decoded.pods) {
    std::string message = classes_->admission.admit(pod);
    if (!message.empty()) refuse(list, list.paths[pod.place.source], "Pod " + pod.pod->full_name(), std::move(message));
    objects.pods.push_back(std::move(pod.pod));
  }
  PodNames names;
  for (const PodPtr& pod : objects.pods) names.insert(*pod);
  for (DecodedWorkload& workload : list.decoded.workloads) {
    std::string message = classes_->admission.admit(workload.pod_template);
    const std::string& path = list.paths[workload.place.source];
    if (!message.empty()) refuse(list, path, name_in_reports(workload.workload), std::move(message));
    if (!workload.volume_claim_templates.empty())
      refuse(list, path, name_in_reports(workload.workload),
             "has volumeClaimTemplates, and no controller of a simulation makes claims; create them");
  }
  auto problems = expand_workloads(std::move(list.decoded.workloads), list.paths, {.pods_max = kScenarioPodsMax},
                                   *pools_, names, objects);
  for (const InputProblem& problem : problems) refuse(list, problem.source, problem.object, problem.message);
  count_pods(list, static_cast<std::int64_t>(objects.pods.size()));
  if (!list.run_duration_us) return objects;
  for (PodPtr& pod : objects.pods) pod = with_run_duration(std::move(pod), *list.run_duration_us);
  return objects;
}

void InlineAdmission::admit(InlineObjects&& object, Arrivals& arrivals) {
  arrivals.pools = pools_;
  std::string message;
  std::string name;
  if (!object.decoded.pods.empty()) {
    DecodedPod& pod = object.decoded.pods.front();
    message = classes_->admission.admit(pod);
    name = "Pod " + pod.pod->full_name();
    PodPtr model = std::move(pod.pod);
    if (object.run_duration_us) model = with_run_duration(std::move(model), *object.run_duration_us);
    arrivals.model = std::move(model);
  } else {
    DecodedWorkload workload = std::move(object.decoded.workloads.front());
    message = classes_->admission.admit(workload.pod_template);
    name = name_in_reports(workload.workload);
    PodRare& rare = workload.pod_template.rare;
    if (!rare.run_duration_us) rare.run_duration_us = object.run_duration_us;
    arrivals.model = std::move(workload);
  }
  if (!message.empty()) return refuse(object, object.location, name, std::move(message));
  std::vector<InputProblem> problems;
  const auto pods_each = static_cast<std::int64_t>(arrivals.copy(0, problems).pods.size());
  for (const InputProblem& problem : problems) refuse(object, object.location, name, problem.message);
  const std::int64_t pods = pods_each * arrivals.count;
  count_pods(object, pods);
  if (pods <= kScenarioPodsMax && pods * object.json_bytes > kArrivalBytesMax) {
    refuse(object, object.location, name,
           "makes " + std::to_string(pods) + " pods of " + std::to_string(object.json_bytes) +
               " bytes, expected at most " + std::to_string(kArrivalBytesMax) + " bytes in all");
  }
}

std::vector<std::string> InlineAdmission::take_warnings() { return classes_->admission.take_warnings(); }

}  // namespace berth
