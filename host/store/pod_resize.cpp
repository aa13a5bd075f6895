// SPDX-License-Identifier: Apache-2.0
#include "host/store/pod_resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace berth {
namespace {

enum class QosClass : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };

struct QosAmounts {
  bool has_any = false;
  bool is_guaranteed = true;
};

/// cpu and memory of one container, as ComputePodQOS() of pkg/apis/core/v1/helper/qos adds them up.
void add_qos(const Container& container, QosAmounts& amounts, std::array<Quantity, 2>& requests,
             std::array<Quantity, 2>& limits) {
  constexpr std::array<std::string_view, 2> kNames = {kCpu, kMemory};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const Quantity* request = find(container.requests, kNames[i]);
    const Quantity* limit = find(container.limits, kNames[i]);
    const bool is_requested = request != nullptr && request->nano > 0;
    const bool is_limited = limit != nullptr && limit->nano > 0;
    if (is_requested) requests[i] += *request;
    if (is_limited) limits[i] += *limit;
    amounts.has_any |= is_requested || is_limited;
    amounts.is_guaranteed &= is_limited;
  }
}

QosClass qos_class(const PodSpec& spec) {
  QosAmounts amounts;
  std::array<Quantity, 2> requests{};
  std::array<Quantity, 2> limits{};
  for (const Container& container : spec.containers) add_qos(container, amounts, requests, limits);
  for (const Container& container : spec.init_containers) add_qos(container, amounts, requests, limits);
  if (!amounts.has_any) return QosClass::kBestEffort;
  return amounts.is_guaranteed && requests == limits ? QosClass::kGuaranteed : QosClass::kBurstable;
}

bool keeps_names(const ResourceList& before, const ResourceList& after) {
  return std::all_of(before.begin(), before.end(),
                     [&](const auto& entry) { return find(after, entry.first) != nullptr; });
}

/// `list` without cpu and memory.
ResourceList fixed_amounts(ResourceList list) {
  std::erase_if(list, [](const auto& entry) { return entry.first == kCpu || entry.first == kMemory; });
  return list;
}

bool changes_only_cpu_and_memory(const Container& before, const Container& after) {
  return fixed_amounts(before.requests) == fixed_amounts(after.requests) &&
         fixed_amounts(before.limits) == fixed_amounts(after.limits);
}

void check_removals(std::string_view path, const Container& before, const Container& after,
                    std::vector<std::string>& problems) {
  if (!keeps_names(before.requests, after.requests))
    problems.push_back(fmt::format("{}.resources.requests: Forbidden: resource requests cannot be removed", path));
  if (!keeps_names(before.limits, after.limits))
    problems.push_back(fmt::format("{}.resources.limits: Forbidden: resource limits cannot be removed", path));
}

bool resize_container(std::vector<Container>& containers, const ContainerResize& change) {
  for (Container& container : containers) {
    if (container.name != change.container) continue;
    container.requests = change.requests;
    container.limits = change.limits;
    return true;
  }
  return false;
}

}  // namespace

PodSpec resized(const PodSpec& spec, std::span<const ContainerResize> changes, std::vector<std::string>& problems) {
  PodSpec result = spec;
  for (const ContainerResize& change : changes) {
    if (!resize_container(result.containers, change) && !resize_container(result.init_containers, change))
      problems.push_back(fmt::format("spec.containers: Not found: \"{}\"", change.container));
  }
  return result;
}

std::vector<std::string> resize_problems(const PodSpec& before, const PodSpec& after) {
  std::vector<std::string> problems;
  if (qos_class(before) != qos_class(after))
    problems.emplace_back("spec: Invalid value: Pod QOS Class may not change as a result of resizing");
  if (before.has_pod_level_resources) {
    problems.emplace_back(
        "Forbidden: resize of pods with pod-level resources is forbidden when "
        "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled");
    return problems;
  }
  for (std::size_t i = 0; i < before.init_containers.size(); ++i) {
    const Container& old = before.init_containers[i];
    const Container& changed = after.init_containers[i];
    if (!old.restart_always) {
      if (old != changed)
        problems.emplace_back("spec: Forbidden: resources for non-sidecar init containers are immutable");
      continue;
    }
    check_removals(fmt::format("spec.initContainers[{}]", i), old, changed, problems);
    if (!changes_only_cpu_and_memory(old, changed))
      problems.emplace_back("spec: Forbidden: only cpu and memory resources for sidecar containers are mutable");
  }
  for (std::size_t i = 0; i < before.containers.size(); ++i) {
    check_removals(fmt::format("spec.containers[{}]", i), before.containers[i], after.containers[i], problems);
    if (!changes_only_cpu_and_memory(before.containers[i], after.containers[i]))
      problems.emplace_back("spec: Forbidden: only cpu and memory resources are mutable");
  }
  return problems;
}

}  // namespace berth
