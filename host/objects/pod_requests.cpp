// SPDX-License-Identifier: Apache-2.0
#include "host/objects/pod_requests.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace berth {
namespace {

/// Merges `other` into `list`: combine(own, theirs) where both have the name. Both are sorted.
template <class Combine>
void merge(ResourceList& list, const ResourceList& other, Combine combine) {
  for (const auto& [name, quantity] : other) {
    const auto at = std::lower_bound(list.begin(), list.end(), name,
                                     [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
    if (at != list.end() && at->first == name) {
      at->second = combine(at->second, quantity);
    } else {
      list.emplace(at, name, quantity);
    }
  }
}

void add(ResourceList& list, const ResourceList& other) {
  merge(list, other, [](Quantity a, const Quantity& b) { return a += b; });
}

void raise_to(ResourceList& list, const ResourceList& other) {
  merge(list, other, [](const Quantity& a, const Quantity& b) { return std::max(a, b); });
}

void add_if_absent(ResourceList& list, const ResourceList& other) {
  merge(list, other, [](const Quantity& a, const Quantity&) { return a; });
}

void replace(ResourceList& list, const ResourceList& other) {
  merge(list, other, [](const Quantity&, const Quantity& b) { return b; });
}

/// Steps 3 to 5 of docs/behaviour/plugins-node.md 1.3; own(container) gives what one container counts for.
template <class Own>
ResourceList containers_total(const PodSpec& spec, Own own) {
  ResourceList total;
  for (const Container& container : spec.containers) add(total, own(container));
  ResourceList running;  // sidecars started so far
  ResourceList peak;
  for (const Container& container : spec.init_containers) {
    if (container.restart_always) {
      const ResourceList& requests = own(container);
      add(running, requests);
      add(total, requests);
      raise_to(peak, running);
    } else {
      ResourceList phase = running;
      add(phase, own(container));
      raise_to(peak, phase);
    }
  }
  raise_to(total, peak);
  return total;
}

const ContainerStatusResources* status_of(const Pod& pod, const Container& container) {
  for (const ContainerStatusResources& status : pod.rare().status_resources) {
    if (status.container_name == container.name) return &status;
  }
  return nullptr;
}

/// One figure a container counts for in one pod aggregate of the v1.36 rule: what was asked, allocated, or in force.
enum class Source { kSpec, kInForce, kAllocated };

ResourceList figures_of(const Pod& pod, const Container& container, Source source) {
  if (source == Source::kSpec) return container.requests;
  const ContainerStatusResources* status = status_of(pod, container);
  if (status != nullptr && source == Source::kInForce && !status->requests.empty()) return status->requests;
  if (status != nullptr && !status->allocated.empty()) return status->allocated;
  return pod.rare().resize_infeasible ? ResourceList() : container.requests;
}

/// Per name the largest of what was asked, granted and in force; what was asked does not count once it cannot be had.
ResourceList largest_figures(const Pod& pod, const Container& container, bool is_init) {
  const bool may_have_status = !is_init || container.restart_always;
  const ContainerStatusResources* status = may_have_status ? status_of(pod, container) : nullptr;
  if (status == nullptr || !status->has_resources) return container.requests;
  ResourceList largest = pod.rare().resize_infeasible ? ResourceList() : container.requests;
  raise_to(largest, status->requests);
  raise_to(largest, status->allocated);
  return largest;
}

bool is_init_container(const PodSpec& spec, const Container& container) {
  const std::span<const Container> inits(spec.init_containers);
  return !inits.empty() && &container >= inits.data() && &container < inits.data() + inits.size();
}

ResourceList containers_total_by_aggregate(const Pod& pod, const ResourceList& defaults) {
  const auto aggregate = [&](Source source) {
    return containers_total(*pod.spec, [&](const Container& container) {
      ResourceList requests = figures_of(pod, container, source);
      add_if_absent(requests, defaults);
      return requests;
    });
  };
  ResourceList total = aggregate(Source::kInForce);
  raise_to(total, aggregate(Source::kAllocated));
  if (!pod.rare().resize_infeasible) raise_to(total, aggregate(Source::kSpec));
  return total;
}

ResourceList supported_pod_level(const ResourceList& amounts) {
  ResourceList supported;
  for (const auto& entry : amounts) {
    if (is_pod_level_resource(entry.first)) supported.push_back(entry);
  }
  return supported;
}

bool has_status(const Pod& pod, const RequestOptions& options) {
  return options.status_resources && has_status_resources(pod);
}

/// Names and exact amounts; a name is present when any contributing list has it.
ResourceList request_list(const Pod& pod, const RequestOptions& options, const ResourceList& defaults) {
  const PodSpec& spec = *pod.spec;
  const bool use_status = has_status(pod, options);
  ResourceList total;
  if (use_status && options.status_resources_by_aggregate) {
    total = containers_total_by_aggregate(pod, defaults);
  } else {
    total = containers_total(spec, [&](const Container& container) {
      ResourceList requests =
          use_status ? largest_figures(pod, container, is_init_container(spec, container)) : container.requests;
      add_if_absent(requests, defaults);
      return requests;
    });
  }
  if (options.pod_level) replace(total, supported_pod_level(spec.pod_level_requests));
  add(total, spec.overhead);
  return total;
}

const ResourceList& non_zero_defaults() {
  static const ResourceList kDefaults = {
      {std::string(kCpu), Quantity{__int128{kDefaultMilliCpuRequest} * kNanoPerMilli}},
      {std::string(kMemory), Quantity{__int128{kDefaultMemoryRequestBytes} * kNanoPerUnit}}};
  return kDefaults;
}

/// The common pod: one container and nothing else, so its requests are the total.
bool is_simple(const PodSpec& spec) {
  return spec.containers.size() == 1 && spec.init_containers.empty() && spec.overhead.empty() &&
         spec.pod_level_requests.empty();
}

}  // namespace

ResourceList container_requests_total(const PodSpec& spec) {
  return containers_total(spec, [](const Container& container) -> const ResourceList& { return container.requests; });
}

ResourceList container_limits_total(const PodSpec& spec) {
  return containers_total(spec, [](const Container& container) -> const ResourceList& { return container.limits; });
}

bool is_pod_level_resource(std::string_view name) {
  return name == kCpu || name == kMemory || name.starts_with("hugepages-");
}

ResourceAmounts pod_requests(const Pod& pod, const RequestOptions& options) {
  if (!has_status(pod, options) && is_simple(*pod.spec)) {
    const ResourceList& requests = pod.spec->containers[0].requests;
    ResourceAmounts amounts = to_amounts(requests);
    if (options.non_zero_defaults && find(requests, kCpu) == nullptr) amounts.milli_cpu = kDefaultMilliCpuRequest;
    if (options.non_zero_defaults && find(requests, kMemory) == nullptr)
      amounts.memory_bytes = kDefaultMemoryRequestBytes;
    return amounts;
  }
  return to_amounts(request_list(pod, options, options.non_zero_defaults ? non_zero_defaults() : ResourceList()));
}

ResourceList exact_pod_requests(const Pod& pod, const RequestOptions& options) {
  return request_list(pod, options, {});
}

ResourceList exact_pod_limits(const PodSpec& spec) {
  ResourceList total = container_limits_total(spec);
  replace(total, supported_pod_level(spec.pod_level_limits));
  for (auto& [name, amount] : total) {
    const Quantity* const overhead = find(spec.overhead, name);
    if (overhead != nullptr && amount.nano != 0) amount += *overhead;
  }
  return total;
}

bool has_status_resources(const Pod& pod) {
  return !pod.rare().status_resources.empty() || pod.rare().resize_infeasible;
}

ResourceAmounts filter_requests(const Pod& pod) { return pod_requests(pod, {}); }

ResourceAmounts balanced_requests(const Pod& pod) { return pod_requests(pod, {.status_resources = true}); }

ResourceAmounts score_requests(const Pod& pod) {
  return pod_requests(pod, {.non_zero_defaults = true, .pod_level = false});
}

ResourceAmounts requested_on_node(const Pod& pod) { return pod_requests(pod, {.status_resources = true}); }

ResourceAmounts non_zero_requested_on_node(const Pod& pod) {
  return non_zero_requested_on_node(pod, {.non_zero_defaults = true, .status_resources = true});
}

ResourceAmounts non_zero_requested_on_node(const Pod& pod, const RequestOptions& options) {
  if (supported_pod_level(pod.spec->pod_level_requests).empty()) return pod_requests(pod, options);
  // A pod-level amount counts for the whole pod, so defaults fill only what its plain total does not name.
  const ResourceList plain = request_list(pod, options, {});
  ResourceList defaults;
  for (const auto& entry : non_zero_defaults()) {
    if (find(plain, entry.first) == nullptr) defaults.push_back(entry);
  }
  return to_amounts(request_list(pod, options, defaults));
}

}  // namespace berth
