// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/engine/embed_table.h"
#include "bench/engine/loaded_engine.h"

namespace berth {

/// berth_snapshot_max_replicas(): counted, and by placing copies.
void measure_counting(Table& table, berth_cluster* cluster);
void measure_placed_copies(Table& table, berth_cluster* cluster);
/// Groups in one domain, and reservations. @param pods  one of each Deployment
void measure_groups(Table& table, berth_cluster* cluster, const std::vector<berth_pod*>& pods, int rounds);
void measure_scale_up(Table& table, LoadedEngine& workload, berth_cluster* cluster, int rounds);
/// A pod of one of the estimate's classes, a third of which has topology terms.
Pod pod_of_estimate(LoadedEngine& workload, int of_class);
void measure_drain(Table& table, berth_cluster* cluster, int rounds);

}  // namespace berth
