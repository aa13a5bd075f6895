// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which profiles score the load in the usual way: by cpu and memory.

#include <vector>

#include "batching/compiled_profile.h"
#include "host/cluster/resource_columns.h"

namespace berth {

inline bool are_cpu_and_memory(const std::vector<ScoredResource>& resources) {
  return resources.size() == 2 && resources[0].column == kCpuColumn && resources[1].column == kMemoryColumn;
}

/// Both plugins score, and these two resources alone, by a strategy without a shape.
inline bool scores_usual_load(const CompiledProfile& profile) {
  return profile.fit.type != ScoringStrategyType::kRequestedToCapacityRatio &&
         profile.weight<NodeResourcesFit>() != 0 && profile.weight<NodeResourcesBalancedAllocation>() != 0 &&
         are_cpu_and_memory(profile.fit.resources) && are_cpu_and_memory(profile.balanced_resources);
}

}  // namespace berth
