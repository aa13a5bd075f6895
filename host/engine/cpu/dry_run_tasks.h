// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <cstddef>

#include "batching/dry_run.h"
#include "host/objects/interruption.h"

namespace berth {

/// Runs blocks of dry runs in parallel, with a look at the interruption of the thread that calls between blocks. @param
/// arena  must outlive the result
inline ForBlocks dry_runs_in_tasks(tbb::task_arena& arena, std::size_t runs_per_task) {
  return [&arena, runs_per_task](std::size_t count, const auto& body) {
    using Range = tbb::blocked_range<std::size_t>;
    const Interruption* const interruption = current_interruption();
    arena.execute([&] {
      tbb::parallel_for(Range(0, count, runs_per_task), [&](const Range& range) {
        look_between_dry_runs(range.begin(), range.end(), interruption, body);
      });
    });
  };
}

}  // namespace berth
