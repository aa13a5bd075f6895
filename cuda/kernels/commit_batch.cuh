// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/device/device_facts.h"
#include "batching/device/views.h"
#include "cuda/launch/stream.h"
#include "cuda/launch/tuning.h"

namespace berth::cuda {

/// Commits a whole batch: one persistent kernel, run by `team`.
/// @param partials  [2 * blocks of a grid] for CommitTeam::kGrid: grid_partials_bytes()
/// Does not wait.
void commit_batch(const DeviceState& state, const DeviceBatch& batch, CommitTeam team, const DeviceFacts& facts,
                  void* partials, StreamView stream);

/// One pod of the class of the first row on every node: Accelerator::evaluate_pod(). Run by the whole device.
/// @param partials  grid_partials_bytes()
/// Does not wait. Cost: one pass over the columns and the row.
void evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes, const DeviceFacts& facts, void* partials,
                  StreamView stream);

/// Bytes of device memory that a grid's reductions need.
std::uint64_t grid_partials_bytes(const DeviceFacts& facts);

/// Independent states in parallel, one block each.
void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count, StreamView stream);

}  // namespace berth::cuda
