// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/cluster/snapshot.h"
#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {

/// One resource that a class asks for, in the order in which reasons are given: cpu, memory, ephemeral-storage, then by
/// name. Only what the filter checks: amounts above 0 that no argument ignores.
struct RequestedResource {
  std::string name;
  std::int32_t column = kNoColumn;
  std::int64_t amount = 0;
};

/// A resource that a profile scores.
struct ScoredResource {
  std::string name;
  std::int32_t column = kNoColumn;
  std::int64_t weight = 1;
};

/// The scoring strategy of one profile.
struct FitStrategy {
  ScoringStrategyType type = ScoringStrategyType::kLeastAllocated;
  std::vector<ScoredResource> resources;
  std::array<std::int32_t, 101> score_of_utilization{};  ///< RequestedToCapacityRatio: percent -> 0..100
};

/// What a class brings to one scored resource.
struct ScoredRequest {
  std::int64_t amount = 0;
  bool counts = false;  ///< false: the resource is left out for this class (a scalar that it does not ask for)
};

FitStrategy compile_fit_strategy(const NodeResourcesFitArgs& args, Snapshot& snapshot, const ClusterCache& cache);
std::vector<ScoredResource> compile_scored_resources(const std::vector<ResourceWeight>& resources, Snapshot& snapshot,
                                                     const ClusterCache& cache);

std::vector<RequestedResource> compile_requested(const ResourceAmounts& filter_request,
                                                 const NodeResourcesFitArgs& args, Snapshot& snapshot,
                                                 const ClusterCache& cache);
/// docs/behaviour/plugins-node.md 10.2 (NodeResourcesFit with its score request, NodeResourcesBalancedAllocation with
/// its own).
std::vector<ScoredRequest> compile_scored_requests(const ResourceAmounts& request,
                                                   const std::vector<ScoredResource>& resources);

}  // namespace berth
