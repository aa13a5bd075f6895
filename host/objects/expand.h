// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that the controllers of a cluster would make and that the input does not hold (docs/objects.md).

#include <string>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/expansion_budget.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod_names.h"

namespace berth {

/// Appends the missing pods of `workloads` to objects.pods and all workloads, with a ReplicaSet for each Deployment
/// that has none, to objects.workloads. Reads objects.nodes and objects.pods; order of the input gives the order of the
/// pods.
///
/// @param names    of objects.pods; made pods get names that are not among them
/// @param sources  names of the sources, for problems (SourcePlace)
/// @return problems: workloads that would go over `limits`; they make no pod.
std::vector<InputProblem> expand_workloads(std::vector<DecodedWorkload>&& workloads,
                                           const std::vector<std::string>& sources, const ExpansionLimits& limits,
                                           ObjectPools& pools, PodNames& names, ClusterObjects& objects);

}  // namespace berth
