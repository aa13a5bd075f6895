// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a run of `berth schedule` says besides its placements, whoever made them.

#include <string>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/objects/cluster_objects.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// The message of a pod that was placed and then evicted.
std::string preempted_text(const Eviction& eviction, const Backend& backend);

/// Fills node names, violated budgets, notes, figures and the use of nodes.
/// @param loaded  the cluster before the run
/// @param result  placements, unplaced pods, evictions, stats.pods and the seconds are there
void fill_summary(const ClusterObjects& objects, const ScheduleOptions& options, const ClusterCache& loaded,
                  const Backend& backend, ScheduleResult& result);

}  // namespace berth
