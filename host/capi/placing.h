// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "host/capi/questions.h"
#include "host/capi/result.h"
#include "host/capi/stop_watch.h"
#include "host/capi/what_if.h"

namespace berth::capi {

struct ScheduleOptions {
  std::uint32_t flags = 0;
  std::uint32_t choice = BERTH_CHOICE_SCORE;
  std::uint32_t start = 0;
  const NodeNumbers* nodes = nullptr;  ///< null: all
  std::span<const std::uint32_t> order;
};

/// berth_fork_schedule()
Answer schedule(WhatIf& fork, std::span<const PodHandlePtr> pods, const ScheduleOptions& options,
                const StopWatch& watch);

/// @throws ApiError naming a pod that stands on a node of the fork, or one that is among the pods twice
void refuse_standing(Fork& fork, std::span<const PodHandlePtr> pods);
void refuse_twice(std::span<const PodHandlePtr> pods);
/// refuse_standing(), unless the flags have BERTH_AS_MOVED. Where the fork has to open an engine, that happens here.
/// @return false: the watch's token ended that
bool begin_placing(WhatIf& fork, std::span<const PodHandlePtr> pods, std::uint32_t flags, const StopWatch& watch);

}  // namespace berth::capi
