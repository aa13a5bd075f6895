// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pods that the controllers of a cluster would make and that the input does not hold (docs/objects.md).

#include <cstdint>
#include <string>
#include <vector>

#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod_names.h"

namespace berth {

/// Pods that one load may make: a mistyped number of replicas has to end as an error, not as a full memory.
inline constexpr std::int64_t kExpandedPodsMax = 1'000'000;
/// Of these, pods of DaemonSets: each has a spec of its own, which names its node.
inline constexpr std::int64_t kExpandedDaemonPodsMax = 250'000;
/// Estimated bytes that made pods and their claims take in a run: long names, many labels, claims and volumes of a
/// template count once for each pod.
inline constexpr std::int64_t kExpandedBytesMax = std::int64_t{1000} << 20;

struct ExpansionLimits {
  std::int64_t pods_max = kExpandedPodsMax;
  std::int64_t daemon_pods_max = kExpandedDaemonPodsMax;
  std::int64_t bytes_max = kExpandedBytesMax;
};

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
