// SPDX-License-Identifier: Apache-2.0
#include "host/objects/admission.h"

#include <algorithm>

#include "host/objects/dump_command.h"
#include "host/objects/label_keys.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr std::int32_t kSystemClusterCritical = 2'000'000'000;
constexpr std::int32_t kSystemNodeCritical = 2'000'001'000;

void add_if_absent(ResourceList& list, const std::pair<std::string, Quantity>& entry) {
  const auto at =
      std::lower_bound(list.begin(), list.end(), entry, [](const auto& a, const auto& b) { return a.first < b.first; });
  if (at == list.end() || at->first != entry.first) list.insert(at, entry);
}

void copy_limits_to_requests(std::vector<Container>& containers) {
  for (Container& container : containers) {
    for (const auto& limit : container.limits) add_if_absent(container.requests, limit);
  }
}

void copy_container_ports_to_host_ports(std::vector<Container>& containers) {
  for (Container& container : containers) {
    for (ContainerPort& port : container.ports) {
      if (port.host_port == 0) port.host_port = port.container_port;
    }
  }
}

bool any_container_requests(const PodSpec& spec, std::string_view name) {
  const auto requests_it = [&](const Container& container) { return find(container.requests, name) != nullptr; };
  return std::any_of(spec.containers.begin(), spec.containers.end(), requests_it) ||
         std::any_of(spec.init_containers.begin(), spec.init_containers.end(), requests_it);
}

/// docs/behaviour/plugins-node.md 1.3 "Pod-level defaulting", after the containers' requests were filled from their
/// limits.
void apply_pod_level_defaults(PodSpec& spec) {
  for (const auto& entry : container_limits_total(spec)) {
    const bool is_huge_page = entry.first.starts_with("hugepages-");
    if (is_huge_page && find(spec.pod_level_requests, entry.first) == nullptr)
      add_if_absent(spec.pod_level_limits, entry);
  }
  if (spec.pod_level_limits.empty()) return;
  const ResourceList total = container_requests_total(spec);
  for (const std::string_view name : {kCpu, kMemory}) {
    if (!any_container_requests(spec, name)) continue;
    if (const Quantity* amount = find(total, name))
      add_if_absent(spec.pod_level_requests, {std::string(name), *amount});
  }
  for (const auto& entry : spec.pod_level_limits) {
    if (is_pod_level_resource(entry.first)) add_if_absent(spec.pod_level_requests, entry);
  }
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

}  // namespace

void apply_spec_defaults(PodSpec& spec) {
  copy_limits_to_requests(spec.containers);
  copy_limits_to_requests(spec.init_containers);
  if (spec.has_pod_level_resources) apply_pod_level_defaults(spec);
  if (spec.host_network) {
    copy_container_ports_to_host_ports(spec.containers);
    copy_container_ports_to_host_ports(spec.init_containers);
  }
}

Admission::Admission(const std::vector<PriorityClass>& priority_classes,
                     const std::vector<RuntimeClass>& runtime_classes, ObjectPools& pools)
    : pools_(pools) {
  classes_["system-cluster-critical"] = {"system-cluster-critical", kSystemClusterCritical, false, std::nullopt};
  classes_["system-node-critical"] = {"system-node-critical", kSystemNodeCritical, false, std::nullopt};
  for (const PriorityClass& priority_class : priority_classes) classes_[priority_class.name] = priority_class;
  for (const auto& [name, priority_class] : classes_) {
    // Of several defaults the API server takes the one of the lowest value.
    const bool is_better = global_default_ == nullptr || priority_class.value < global_default_->value;
    if (priority_class.global_default && is_better) global_default_ = &priority_class;
  }
  for (const RuntimeClass& runtime_class : runtime_classes) runtime_classes_[runtime_class.name] = &runtime_class;
}

const PriorityClass* Admission::find_class(std::string_view name) const {
  if (name.empty()) return global_default_;
  const auto at = classes_.find(name);
  return at == classes_.end() ? nullptr : &at->second;
}

std::string Admission::resolve(std::string_view class_name, std::optional<std::int32_t> priority,
                               std::optional<PreemptionPolicy> policy, Priority& out) const {
  // The global default is for pods without any priority; a pod that has one takes no policy from it.
  const PriorityClass* priority_class = priority && class_name.empty() ? nullptr : find_class(class_name);
  if (!priority && !class_name.empty() && priority_class == nullptr) {
    return "spec.priorityClassName: got \"" + std::string(class_name) +
           "\", expected a PriorityClass of the input, since spec.priority is absent. To add what is missing: " +
           dump_command_for("priorityclasses") + ", or all that Berth reads: " + std::string(kDumpCommand);
  }
  out.value = priority.value_or(priority_class != nullptr ? priority_class->value : 0);
  if (policy) {
    out.policy = *policy;
  } else if (priority_class != nullptr) {
    out.policy = priority_class->preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
  }
  return {};
}

bool Admission::has_nothing_to_fill(const DecodedPod& decoded) const {
  if (decoded.has_runtime_class || decoded.has_label_keys) return false;
  if (decoded.has_priority && decoded.has_preemption_policy) return true;
  return !decoded.priority_class_name && (decoded.has_priority || global_default_ == nullptr);
}

std::string Admission::admit(DecodedPod& decoded) {
  if (has_nothing_to_fill(decoded)) return {};
  Pod& pod = *decoded.pod;
  if (decoded.has_runtime_class) pod.spec = with_runtime_class(pod.spec);
  if (decoded.has_label_keys) pod.spec = with_label_keys(pod.spec, pod.labels, pools_);
  if (decoded.has_priority && decoded.has_preemption_policy) return {};
  const auto priority = decoded.has_priority ? std::optional(pod.priority) : std::nullopt;
  const auto policy = decoded.has_preemption_policy ? std::optional(pod.preemption_policy) : std::nullopt;
  const std::string_view class_name = decoded.priority_class_name ? *decoded.priority_class_name : std::string_view();
  Priority resolved;
  std::string problem = resolve(class_name, priority, policy, resolved);
  pod.priority = resolved.value;
  pod.preemption_policy = resolved.policy;
  return problem;
}

std::string Admission::admit(PodTemplate& pod_template) {
  if (!pod_template.spec->runtime_class_name.empty()) pod_template.spec = with_runtime_class(pod_template.spec);
  Priority resolved;
  std::string problem =
      resolve(pod_template.priority_class_name, pod_template.priority, pod_template.preemption_policy, resolved);
  pod_template.priority = resolved.value;
  pod_template.preemption_policy = resolved.policy;
  return problem.empty() ? problem : "spec.template." + problem;
}

SpecPtr Admission::with_runtime_class(const SpecPtr& spec) {
  const auto known = merged_specs_.find(spec);
  if (known != merged_specs_.end()) return known->second;
  const auto runtime_class = runtime_classes_.find(spec->runtime_class_name);
  SpecPtr result = spec;
  if (runtime_class != runtime_classes_.end()) {
    result = pools_.spec(merged(*spec, *runtime_class->second));
  } else if (says_missing_classes_ && spec->overhead.empty()) {
    add_once(warnings_, "the input has no RuntimeClass \"" + spec->runtime_class_name +
                            "\", named by a pod: no overhead is added. To add what is missing: " +
                            dump_command_for("runtimeclasses"));
  }
  merged_specs_.emplace(spec, result);
  return result;
}

PodSpec Admission::merged(const PodSpec& spec, const RuntimeClass& runtime_class) {
  PodSpec result = spec;
  if (result.overhead.empty()) result.overhead = runtime_class.overhead_pod_fixed;
  std::vector<std::pair<std::string, std::string>> selector(runtime_class.node_selector.begin(),
                                                            runtime_class.node_selector.end());
  for (const auto& [key, value] : spec.node_selector) {
    const auto required = runtime_class.node_selector.find(key);
    if (required && *required != value) {
      add_once(warnings_, "RuntimeClass \"" + runtime_class.name +
                              "\" and a pod that names it select different values of " + std::string(key) +
                              ": the pod's is kept");
    }
    selector.emplace_back(key, value);  // behind the class's, so that it wins
  }
  result.node_selector = LabelMap(std::move(selector));
  for (const Toleration& toleration : runtime_class.tolerations) {
    const auto& own = result.tolerations;
    if (std::find(own.begin(), own.end(), toleration) == own.end()) result.tolerations.push_back(toleration);
  }
  return result;
}

}  // namespace berth
