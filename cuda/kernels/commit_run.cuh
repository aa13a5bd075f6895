// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/device/accelerator.h"
#include "cuda/launch/stream.h"
#include "cuda/launch/tuning.h"
#include "cuda/memory/pool.h"

namespace berth::cuda {

/// Places up to `pod_count` equal pods and adds them to the columns: Accelerator::commit_run(). The threshold is the
/// key of the pod_count-th best first copy; copies at or above it are counted, written contiguously and sorted. Waits.
/// @throws DeviceOutOfMemory  without placing anything
DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count,
                     const CommitRunTuning& tuning, StreamView stream, Pool& pool);

}  // namespace berth::cuda
