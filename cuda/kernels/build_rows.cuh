// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/device/node_side_body.h"
#include "batching/device/views.h"
#include "cuda/launch/stream.h"
#include "cuda/launch/tuning.h"

namespace berth::cuda {

/// Evaluates the node side of a class on every node. @param d_summaries  [node_side_blocks()] one per block, to be
/// combined. Does not wait.
void evaluate_node_side(const DeviceNodeSide& side, DeviceSideSummary* d_summaries, StreamView stream);
std::uint32_t node_side_blocks(std::int32_t node_count);

/// Evaluates classes on every node and builds the tournaments over them. Each row is overwritten completely.
/// @param state  its DeviceRows hold the rows that `rows` names
/// Does not wait. Cost: about row_count * node_count * 20 bytes, and the columns once per tile of rows.
void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows, const BuildRowsTuning& tuning,
                StreamView stream);

/// Refreshes rows for changed nodes, one row per thread.
void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows, StreamView stream);

/// Writes nodes and counters that the host changed, one item per thread.
void apply_delta(const DeviceState& state, const DeviceDelta& delta, const BuildRowsTuning& tuning, StreamView stream);

}  // namespace berth::cuda
