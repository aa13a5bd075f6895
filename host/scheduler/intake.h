// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// A pod that PreEnqueue keeps back, with what it says.
struct GatedPod {
  PodPtr pod;
  std::string message;
  std::size_t queued_before = 0;  ///< pods before it in the queue
};

/// The pods of a cluster, sorted by what becomes of them before any node is looked at.
struct Intake {
  std::vector<PodToPlace> queue;  ///< pending pods in the queue's order: priority, creation time, input order
  std::vector<std::size_t> nominated_positions;  ///< in the queue, ascending: pods whose status names a node
  std::vector<GatedPod> gated;                   ///< in the queue's order
  std::vector<Skipped> skipped;
  std::int32_t lowest_priority = std::numeric_limits<std::int32_t>::max();  ///< of the pods that run on nodes
};

/// Position in SchedulerConfig::profiles of the profile that the pod's spec.schedulerName names; -1: none has the name.
std::int32_t profile_index(const SchedulerConfig& config, const Pod& pod);

/// What the profile's SchedulingGates say of a pending pod that they keep out of the queue; empty: it is in the queue.
std::string why_gated(const Pod& pod, const Profile& profile);

/// Fills `cache` with the nodes and the pods that run on them, and sorts the rest. A pod on a node that is not in the
/// input is skipped with that reason, so that its requests are in no account.
/// @param left_out  a pod of `objects` to treat as absent; null: none
Intake partition_pods(const ClusterObjects& objects, const SchedulerConfig& config, ClusterCache& cache,
                      const Pod* left_out = nullptr);

}  // namespace berth
