// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "batching/dry_run.h"
#include "host/config/engine_config.h"
#include "host/objects/interruption.h"
#include "host/objects/work_arena.h"

namespace berth {

/// In which a backend with this configuration works.
inline std::shared_ptr<WorkArena> arena_of(const EngineConfig& engine) {
  return engine.arena != nullptr ? engine.arena : std::make_shared<WorkArena>(engine.threads);
}

/// Of calls that can be interrupted: less than a millisecond with 30 victims each.
inline constexpr std::size_t kRunsBetweenLooks = 64;

/// Runs blocks of dry runs in parallel, with a look at the interruption of the thread that calls between blocks. @param
/// arena  must outlive the result
inline ForBlocks dry_runs_in_tasks(WorkArena& arena, std::size_t runs_per_task) {
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
