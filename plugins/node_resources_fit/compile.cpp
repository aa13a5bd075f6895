// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_resources_fit/compile.h"

#include <algorithm>

#include "plugins/utilization_shape.h"

namespace berth {
namespace {

/// Only extended resources can be ignored: by name, or by the part before the slash.
bool is_ignored(const std::string& name, const NodeResourcesFitArgs& args) {
  if (!is_extended_resource(name)) return false;
  const auto has = [](const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  return has(args.ignored_resources, name) ||
         has(args.ignored_resource_groups, std::string_view(name).substr(0, name.find('/')));
}

bool is_native(const std::string& name) { return name == kCpu || name == kMemory || name == kEphemeralStorage; }

}  // namespace

std::vector<ScoredResource> compile_scored_resources(const std::vector<ResourceWeight>& resources, Snapshot& snapshot,
                                                     const ClusterCache& cache) {
  std::vector<ScoredResource> compiled;
  compiled.reserve(resources.size());
  for (const ResourceWeight& resource : resources)
    compiled.push_back({resource.name, snapshot.ensure_resource(resource.name, cache), resource.weight});
  return compiled;
}

FitStrategy compile_fit_strategy(const NodeResourcesFitArgs& args, Snapshot& snapshot, const ClusterCache& cache) {
  FitStrategy strategy;
  strategy.type = args.strategy;
  strategy.resources = compile_scored_resources(args.resources, snapshot, cache);
  if (!args.shape.empty())
    for (std::int32_t percent = 0; percent <= 100; ++percent)
      strategy.score_of_utilization[static_cast<std::size_t>(percent)] =
          static_cast<std::int32_t>(shape_score(args.shape, percent));
  return strategy;
}

std::vector<RequestedResource> compile_requested(const ResourceAmounts& filter_request,
                                                 const NodeResourcesFitArgs& args, Snapshot& snapshot,
                                                 const ClusterCache& cache) {
  std::vector<RequestedResource> requested;
  const auto add = [&](std::string_view name, std::int32_t column, std::int64_t amount) {
    if (amount > 0) requested.push_back({std::string(name), column, amount});
  };
  add(kCpu, kCpuColumn, filter_request.milli_cpu);
  add(kMemory, kMemoryColumn, filter_request.memory_bytes);
  add(kEphemeralStorage, kEphemeralStorageColumn, filter_request.ephemeral_storage_bytes);
  for (const auto& [name, amount] : filter_request.scalars)
    if (amount > 0 && !is_ignored(name, args)) add(name, snapshot.ensure_resource(name, cache), amount);
  return requested;
}

std::vector<ScoredRequest> compile_scored_requests(const ResourceAmounts& request,
                                                   const std::vector<ScoredResource>& resources) {
  std::vector<ScoredRequest> compiled;
  for (const ScoredResource& resource : resources) {
    const std::int64_t amount = request.amount(resource.name);
    const bool unasked_scalar = !is_native(resource.name) && amount == 0;
    compiled.push_back({amount, !unasked_scalar});
  }
  return compiled;
}

}  // namespace berth
