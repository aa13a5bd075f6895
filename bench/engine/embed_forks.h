// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "bench/engine/embed_table.h"
#include "bench/engine/loaded_engine.h"

namespace berth {

/// The forks of bench_engine through berth.h, and on the engine below it, by turns: evict two pods, place ten pods of
/// ten classes. @param pods  one of each Deployment
void measure_fork_line(Table& table, LoadedEngine& workload, const berth_snapshot* snapshot,
                       const std::vector<berth_pod*>& pods, int rounds);

}  // namespace berth
