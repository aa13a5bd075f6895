// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plugin DefaultPreemption in a fork: it keeps nothing between calls.

#include <span>
#include <vector>

#include "batching/backend.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/preemption_result.h"

namespace berth {

/// Looks at every node of the fork for the pod. @param pod  prepared, and without a node that accepts it
/// @param kept  to keep the victims that the result names
/// @throws std::logic_error naming the pod when it is not prepared
PreemptionResult candidates_in_fork(const PodToPlace& pod, Fork& fork, std::span<const PodDisruptionBudget> budgets,
                                    std::vector<PodPtr>& kept);

}  // namespace berth
