// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host/cluster/cache.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// Fills the figures of a result that say how full the cluster was and is: per resource, and per node.
/// @param evicted_pods_are_gone  otherwise they are only named
/// @param result  placements, evictions and node_names are there; resources and node_use_percent_* are written
void fill_usage(const ClusterCache& cache, bool evicted_pods_are_gone, ScheduleResult& result);

/// Peak resident memory of the process in bytes; 0 where the system does not tell.
std::uint64_t peak_rss_bytes();

/// What a load's objects take, shared parts once, by an estimate that counts allocations as malloc rounds them.
std::uint64_t model_bytes(const ClusterObjects& objects);

}  // namespace berth
