// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>

#include "batching/dry_run.h"
#include "host/objects/interruption.h"

namespace berth {

/// Of calls that can be interrupted: less than a millisecond with 30 victims each.
inline constexpr std::size_t kRunsBetweenLooks = 64;

/// Runs blocks of dry runs in parallel, with a look at the interruption of the thread that calls between blocks. @param
/// arena  must outlive the result
inline ForBlocks dry_runs_in_tasks(tbb::task_arena& arena, std::size_t runs_per_task) {
  return [&arena, runs_per_task](std::size_t count, const auto& body) {
    using Range = tbb::blocked_range<std::size_t>;
    const Interruption* const interruption = current_interruption();
    arena.execute([&] {
      tbb::parallel_for(Range(0, count, runs_per_task), [&](const Range& range) {
        const std::size_t step = interruption == nullptr ? range.size() : kRunsBetweenLooks;
        for (std::size_t begin = range.begin(); begin < range.end(); begin += step) {
          check_interruption(interruption);
          body(begin, std::min(begin + step, range.end()));
        }
      });
    });
  };
}

}  // namespace berth
