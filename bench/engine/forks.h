// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/engine/limit_table.h"
#include "bench/engine/loaded_engine.h"

namespace berth {

/// What forks cost: opening one, its memory, and how many a second evict two pods, add a node and place ten pods of ten
/// classes, four of which have topology terms of their own. Nothing where the table wants no rows of forks.
void measure_forks(LoadedEngine& workload, LimitTable& table);

}  // namespace berth
