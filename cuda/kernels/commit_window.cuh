// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batching/device/device_facts.h"
#include "batching/device/views.h"
#include "cuda/launch/stream.h"
#include "cuda/launch/tuning.h"

namespace berth::cuda {

/// Writes the lists of the best nodes of every row of the batch: one block per cell. Cost: one pass over a level of the
/// row's tournament that has some thousand entries, and over the entries below its best ones.
/// Does not wait.
void select_tops(const DeviceState& state, std::int32_t row_count, const DeviceWindow& window, StreamView stream);

/// Commits the batch as a window: one block. Does not wait.
void commit_window(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window, StreamView stream);

}  // namespace berth::cuda
