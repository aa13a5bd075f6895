// SPDX-License-Identifier: Apache-2.0
#include <cub/block/block_reduce.cuh>

#include "batching/device/delta_body.h"
#include "batching/device/row_tournament.h"
#include "cuda/kernels/build_rows.cuh"
#include "cuda/kernels/teams.cuh"
#include "cuda/launch/launch.cuh"

namespace berth::cuda {
namespace {

__device__ const DeviceRow& row_at(const DeviceState& state, const DeviceRowsToBuild& rows, std::int64_t index) {
  return state.rows.rows[rows.rows[index]];
}

/// One node per thread, one summary per block.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    evaluate_node_side_kernel(DeviceNodeSide side, DeviceSideSummary* summaries) {
  using Combine = cub::BlockReduce<DeviceSideSummary, kThreads>;
  __shared__ typename Combine::TempStorage scratch;
  const auto node = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  const DeviceSideSummary here = node < side.node_count ? berth::evaluate_node_side(side, node) : DeviceSideSummary{};
  const DeviceSideSummary all = Combine(scratch).Reduce(here, CombineSummaries());
  if (threadIdx.x == 0) summaries[blockIdx.x] = all;
}

/// One block per row.
__global__ void clear_live_kernel(DeviceState state, DeviceRowsToBuild rows) {
  const RowView row(state, row_at(state, rows, blockIdx.x));
  if (row.layout.by_node) return;
  for (std::int32_t cell = static_cast<std::int32_t>(threadIdx.x); cell < row.layout.cell_count;
       cell += static_cast<std::int32_t>(blockDim.x))
    row.live[cell] = 0;
}

/// What a block reads of the rows that ask for nothing but cpu and memory, once for all its nodes.
struct RowOfTile {
  bool is_usual;
  DrawOrder order;
  std::uint32_t draw_seed;
  const std::int32_t* base;  ///< DeviceLayout::base
  NodeKey* keys;
  UsualLoad load;
};

__device__ void read_row(const DeviceState& state, const DeviceRow& row, std::int32_t profile, RowOfTile& read) {
  const DeviceLayout& layout = state.rows.layouts[row.layout];
  const DeviceClass& pod_class = state.classes.classes[row.pod_class];
  read.is_usual =
      layout.in_order && !row.leaves_out && pod_class.profile == profile && asks_usual_only(state.classes, pod_class);
  if (!read.is_usual) return;
  read.order = state.classes.profiles[profile].draw.order;
  read.draw_seed = pod_class.draw_seed;
  read.base = layout.base;
  read.keys = row.keys;
  read.load = pod_class.usual;
}

/// A row of any kind on one node, for a whole block; apart, since it needs more registers.
/// @param usual  the node by the draw rule of `profile`
__device__ __noinline__ void evaluate_any_row(const DeviceState& state, const DeviceRow& device_row, std::int32_t node,
                                              std::int32_t profile, UsualNode usual, std::int64_t nodes_of_blocks) {
  const RowView row(state, device_row);
  const std::int32_t cell = node < state.columns.node_count ? row.cell_of(node) : -1;
  NodeKey key = 0;
  if (cell >= 0) {
    const DeviceNode read{state.columns, node};
    key = state.classes.classes[device_row.pod_class].profile == profile ? key_of_node(state, device_row, read, usual)
                                                                         : key_of_node(state, device_row, read);
    row.keys[row.position_of(node)] = key;
  }
  if (row.layout.node_at != nullptr)
    for (std::int64_t position = node; position < row.layout.level_offset[1]; position += nodes_of_blocks)
      clear_if_free(row, static_cast<std::int32_t>(position));
  if (row.layout.in_order) {  // the same for the whole block
    const int feasible = __syncthreads_count(key > 0 ? 1 : 0);
    if (threadIdx.x == 0 && feasible > 0) atomicAdd(row.live, feasible);
  } else if (!row.layout.by_node && key > 0) {
    atomicAdd(row.live + cell, 1);
  }
}

/// Tile of rows x tile of nodes: a thread has one node and visits the rows of the tile, so that it reads the node once.
/// @param node_blocks    blocks side by side over the nodes
/// @param rows_per_tile  at most BuildRowsTuning::kRowsMax
template <int kThreads>
__global__ void __launch_bounds__(kThreads, BuildRowsTuning::kEvaluateBlocksMin)
    evaluate_rows_kernel(const __grid_constant__ DeviceState state, DeviceRowsToBuild rows, std::uint32_t node_blocks,
                         std::int32_t rows_per_tile) {
  // Raw, because nothing in shared memory may have a constructor.
  alignas(RowOfTile) __shared__ unsigned char bytes[BuildRowsTuning::kRowsMax * sizeof(RowOfTile)];
  auto* const tile = reinterpret_cast<RowOfTile*>(bytes);
  __shared__ std::int32_t feasible[BuildRowsTuning::kRowsMax];
  const auto node = static_cast<std::int32_t>(blockIdx.x % node_blocks * kThreads + threadIdx.x);
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.x / node_blocks) * rows_per_tile;
  const std::int32_t count = min(rows_per_tile, rows.row_count - first);
  const std::int32_t profile = state.classes.classes[row_at(state, rows, first).pod_class].profile;
  for (std::int32_t r = static_cast<std::int32_t>(threadIdx.x); r < count; r += kThreads) {
    read_row(state, row_at(state, rows, first + r), profile, tile[r]);
    feasible[r] = 0;
  }
  UsualNode usual;
  const bool is_node = node < state.columns.node_count;
  if (is_node) usual = usual_node({state.columns, node}, state.classes.profiles[profile].draw);
  __syncthreads();
  const std::int32_t* base_read = nullptr;  // the layout that `base` was read of
  std::int32_t base = -1;
  for (std::int32_t r = 0; r < count; ++r) {
    const RowOfTile& row = tile[r];
    if (!row.is_usual) {
      evaluate_any_row(state, row_at(state, rows, first + r), node, profile, usual,
                       static_cast<std::int64_t>(node_blocks) * kThreads);
      continue;
    }
    NodeKey key = 0;
    if (is_node) {
      if (base_read != row.base) {
        base_read = row.base;
        base = row.base[node];
      }
      key = usual.applies ? evaluate_usual_node(row.load, row.order, row.draw_seed, base, usual)
                          : evaluate_any_node(state, state.classes.classes[row_at(state, rows, first + r).pod_class],
                                              base, {state.columns, node});
      row.keys[node] = key;
    }
    const unsigned accepting = __ballot_sync(kWholeWarp, key > 0);
    if (threadIdx.x % kWarpSize == 0 && accepting != 0) atomicAdd(feasible + r, __popc(accepting));
  }
  __syncthreads();
  for (std::int32_t r = static_cast<std::int32_t>(threadIdx.x); r < count; r += kThreads)
    if (feasible[r] > 0) atomicAdd(row_at(state, rows, first + r).live, feasible[r]);
}

/// One level of every row's tournament, from the level below. @param entry_blocks  blocks a row
__global__ void build_level_kernel(DeviceState state, DeviceRowsToBuild rows, std::int32_t level,
                                   std::uint32_t entry_blocks) {
  const RowView row(state, row_at(state, rows, blockIdx.x / entry_blocks));
  if (level >= row.layout.level_count) return;
  const std::int64_t entries = row.layout.level_offset[level + 1] - row.layout.level_offset[level];
  for (std::int64_t e = blockIdx.x % entry_blocks * blockDim.x + threadIdx.x; e < entries;
       e += entry_blocks * blockDim.x)
    build_entry(row, level, static_cast<std::int32_t>(e));
}

/// One block per row.
__global__ void __launch_bounds__(BuildRowsTuning::kRefreshThreads)
    refresh_rows_kernel(const __grid_constant__ DeviceState state, DeviceRowsToRefresh rows) {
  __shared__ BlockSlots slots;
  const std::int32_t first = rows.first_node[blockIdx.x];
  refresh_nodes(BlockTeam(slots), state, state.rows.rows[rows.rows[blockIdx.x]], rows.nodes + first,
                rows.end_node[blockIdx.x] - first);
}

__global__ void apply_delta_kernel(DeviceState state, DeviceDelta delta) {
  const auto item = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (item < delta_items(delta)) apply_delta_item(state, delta, item);
}

/// The maximum number of levels of a layout with this many nodes.
std::int32_t levels_of(std::int32_t node_count) {
  std::int32_t levels = 1;
  for (std::int64_t entries = node_count; entries > 1; entries = (entries + kDeviceArity - 1) / kDeviceArity) ++levels;
  return levels;
}

}  // namespace

std::uint32_t node_side_blocks(std::int32_t node_count) {
  return blocks_for(static_cast<std::uint64_t>(node_count), BuildRowsTuning::kEvaluateThreads);
}

void evaluate_node_side(const DeviceNodeSide& side, DeviceSideSummary* d_summaries, StreamView stream) {
  constexpr int kThreads = BuildRowsTuning::kEvaluateThreads;
  launch("evaluate_node_side", evaluate_node_side_kernel<kThreads>, {node_side_blocks(side.node_count), kThreads},
         stream, side, d_summaries);
}

void build_rows(const DeviceState& state, const DeviceRowsToBuild& rows, const BuildRowsTuning& tuning,
                StreamView stream) {
  constexpr int kThreads = BuildRowsTuning::kEvaluateThreads;
  const auto row_count = static_cast<std::uint32_t>(rows.row_count);
  const std::uint32_t node_blocks = blocks_for(static_cast<std::uint64_t>(state.columns.node_count), kThreads);
  const std::uint32_t tiles = blocks_for(row_count, tuning.rows_per_tile);
  launch("clear_live", clear_live_kernel, {row_count, tuning.threads_per_block}, stream, state, rows);
  launch("evaluate_rows", evaluate_rows_kernel<kThreads>, {node_blocks * tiles, kThreads}, stream, state, rows,
         node_blocks, static_cast<std::int32_t>(tuning.rows_per_tile));
  std::uint64_t entries = static_cast<std::uint64_t>(state.columns.node_count);
  for (std::int32_t level = 1; level < levels_of(state.columns.node_count); ++level) {
    entries = (entries + kDeviceArity - 1) / kDeviceArity;
    const std::uint32_t entry_blocks = blocks_for(entries, tuning.threads_per_block);
    launch("build_level", build_level_kernel, {row_count * entry_blocks, tuning.threads_per_block}, stream, state, rows,
           level, entry_blocks);
  }
}

void refresh_rows(const DeviceState& state, const DeviceRowsToRefresh& rows, StreamView stream) {
  launch("refresh_rows", refresh_rows_kernel,
         {static_cast<std::uint32_t>(rows.row_count), BuildRowsTuning::kRefreshThreads}, stream, state, rows);
}

void apply_delta(const DeviceState& state, const DeviceDelta& delta, const BuildRowsTuning& tuning, StreamView stream) {
  const std::uint32_t blocks = blocks_for(static_cast<std::uint64_t>(delta_items(delta)), tuning.threads_per_block);
  launch("apply_delta", apply_delta_kernel, {blocks, tuning.threads_per_block}, stream, state, delta);
}

}  // namespace berth::cuda
