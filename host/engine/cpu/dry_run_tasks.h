// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

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

/// Runs blocks of dry runs in parallel, with a look at the interruption of the thread that calls between blocks. @param
/// arena  must outlive the result
inline ForBlocks dry_runs_in_tasks(WorkArena& arena, std::size_t runs_per_task) {
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
