// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <utility>

#include "batching/device/run_body.h"
#include "cuda/kernels/commit_run.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/memory/device_buffer.h"
#include "cuda/memory/pinned_buffer.h"

namespace berth::cuda {
namespace {

constexpr MemoryUse kUse{"a run of equal pods", "device.runPodsMax"};

/// The data of the kernels of a run.
struct RunInput {
  DeviceState state;
  DeviceRow row;
  NodeKey threshold = 1;
  std::int32_t copies_max = 0;
};

__device__ std::int32_t thread_index() { return static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void __launch_bounds__(CommitRunTuning::kThreadsMax)
    begin_run_kernel(DeviceState state, DeviceRow row, RunStart* start) {
  *start = begin_run(state, row);
}

/// @param counts  [node_count] copies that fit on the nodes, in node order
__global__ void __launch_bounds__(CommitRunTuning::kThreadsMax)
    count_copies_kernel(RunInput run, std::int64_t* counts) {
  const std::int32_t at = thread_index();
  if (at >= run.state.columns.node_count) return;
  counts[at] = walk_copies(run.state, run.row, run.state.columns.in_order[at], run.threshold, run.copies_max,
                           [](std::int32_t, const DevicePick&) {});
}

/// @param first  [node_count] index of the first copy on the nodes, in node order
__global__ void __launch_bounds__(CommitRunTuning::kThreadsMax)
    write_copies_kernel(RunInput run, const std::int64_t* first, DevicePick* picks, NodeKey* levels,
                        std::uint32_t* order) {
  const std::int32_t at = thread_index();
  if (at >= run.state.columns.node_count) return;
  const std::int64_t begin = first[at];
  const std::int32_t node = run.state.columns.in_order[at];
  walk_copies(run.state, run.row, node, run.threshold, run.copies_max, [&](std::int32_t copy, const DevicePick& pick) {
    picks[begin + copy] = pick;
    levels[begin + copy] = pick.level;
    order[begin + copy] = static_cast<std::uint32_t>(begin + copy);
  });
}

/// Takes the best picks in order, and counts how many each node got.
__global__ void __launch_bounds__(CommitRunTuning::kThreadsMax)
    take_picks_kernel(const DevicePick* picks, const std::uint32_t* order, std::int64_t count, DevicePick* taken,
                      std::int32_t* taken_of_node) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const DevicePick pick = picks[order[i]];
  taken[i] = pick;
  atomicAdd(taken_of_node + pick.node, 1);
}

__global__ void __launch_bounds__(CommitRunTuning::kThreadsMax)
    place_copies_kernel(DeviceState state, DeviceRow row, const std::int32_t* taken_of_node) {
  const std::int32_t node = thread_index();
  if (node >= state.columns.node_count || taken_of_node[node] == 0) return;
  // The hardware adds unsigned numbers; with wrapping the sum is the same.
  place_copies(state, state.classes.classes[row.pod_class], node, taken_of_node[node],
               [](std::int64_t* counter, std::int64_t amount) {
                 atomicAdd(reinterpret_cast<unsigned long long*>(counter), static_cast<unsigned long long>(amount));
               });
}

/// Calls a CUB algorithm twice: for the size of its scratch, and for the work.
template <class Algorithm>
void with_scratch(const char* doing, StreamView stream, Pool& pool, Algorithm algorithm) {
  std::size_t bytes = 0;
  check(algorithm(nullptr, bytes), doing);
  DeviceBuffer<std::uint8_t> scratch(std::max<std::size_t>(bytes, 1), stream, pool, kUse);
  check(algorithm(scratch.data(), bytes), doing);
}

template <class T>
T read_one(const T* d_value, StreamView stream) {
  T value{};
  download(std::span<const T>(d_value, 1), std::span<T>(&value, 1), stream);
  stream.synchronize();
  return value;
}

/// The copies of a run whose levels reach a threshold, in node order and then of copies.
struct Copies {
  std::int64_t count = 0;
  DeviceBuffer<DevicePick> picks;
  DeviceBuffer<NodeKey> levels;
  DeviceBuffer<std::uint32_t> order;  ///< 0, 1, 2, ...
};

Copies collect_copies(const RunInput& run, const CommitRunTuning& tuning, StreamView stream, Pool& pool) {
  const auto nodes = static_cast<std::size_t>(run.state.columns.node_count);
  const Shape over_nodes{blocks_for(nodes, tuning.threads_per_block), tuning.threads_per_block};
  DeviceBuffer<std::int64_t> counts(nodes, stream, pool, kUse);
  DeviceBuffer<std::int64_t> first(nodes, stream, pool, kUse);
  launch("count_copies", count_copies_kernel, over_nodes, stream, run, counts.data());
  with_scratch("sum of copies", stream, pool, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, counts.data(), first.data(), run.state.columns.node_count,
                                         stream.raw());
  });
  const std::int64_t found =
      read_one(first.data() + (nodes - 1), stream) + read_one(counts.data() + (nodes - 1), stream);
  const auto size = static_cast<std::size_t>(found);
  Copies copies{found, DeviceBuffer<DevicePick>(size, stream, pool, kUse),
                DeviceBuffer<NodeKey>(size, stream, pool, kUse), DeviceBuffer<std::uint32_t>(size, stream, pool, kUse)};
  launch("write_copies", write_copies_kernel, over_nodes, stream, run, first.data(), copies.picks.data(),
         copies.levels.data(), copies.order.data());
  return copies;
}

/// The `rank`-th highest of the keys. @param rank  1 is the highest
NodeKey key_of_rank(const NodeKey* d_keys, std::int64_t count, std::int64_t rank, StreamView stream, Pool& pool) {
  DeviceBuffer<NodeKey> sorted(static_cast<std::size_t>(count), stream, pool, kUse);
  with_scratch("sort of keys", stream, pool, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(scratch, bytes, d_keys, sorted.data(), count, 0, 64, stream.raw());
  });
  return read_one(sorted.data() + (rank - 1), stream);
}

/// A level below which no copy is among the best `pod_count`; 1 where all that fit are needed.
NodeKey threshold_of(RunInput run, std::int64_t pod_count, std::int64_t feasible_count, const CommitRunTuning& tuning,
                     StreamView stream, Pool& pool) {
  const std::int64_t copies_each = copies_that_bound(pod_count, feasible_count);
  if (copies_each == 1)  // the first copies' levels are the keys of the row
    return key_of_rank(run.row.keys, run.state.columns.node_count, pod_count, stream, pool);
  run.copies_max = static_cast<std::int32_t>(copies_each);
  const Copies copies = collect_copies(run, tuning, stream, pool);
  return copies.count < pod_count ? 1 : key_of_rank(copies.levels.data(), copies.count, pod_count, stream, pool);
}

}  // namespace

DeviceRun commit_run(const DeviceState& state, const DeviceRow& row, std::int64_t pod_count,
                     const CommitRunTuning& tuning, StreamView stream, Pool& pool) {
  const std::int32_t node_count = state.columns.node_count;
  const auto nodes = static_cast<std::size_t>(node_count);
  const Shape over_nodes{blocks_for(nodes, tuning.threads_per_block), tuning.threads_per_block};
  DeviceBuffer<RunStart> start(1, stream, pool, kUse);
  launch("begin_run", begin_run_kernel, {1, 1}, stream, state, row, start.data());
  const RunStart begun = read_one(start.data(), stream);
  DeviceRun result{begun.feasible_count, begun.normalized_total, {}};
  if (begun.feasible_count == 0) return result;

  RunInput run{state, row, 1, static_cast<std::int32_t>(pod_count)};
  run.threshold = threshold_of(run, pod_count, begun.feasible_count, tuning, stream, pool);
  Copies found = collect_copies(run, tuning, stream, pool);
  const auto size = static_cast<std::size_t>(found.count);
  DeviceBuffer<NodeKey> sorted_levels(size, stream, pool, kUse);
  DeviceBuffer<std::uint32_t> sorted_order(size, stream, pool, kUse);
  // Stable: at equal levels the first node in node order, then the earlier copy, in the order of writing.
  with_scratch("sort of copies", stream, pool, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(scratch, bytes, found.levels.data(), sorted_levels.data(),
                                                     found.order.data(), sorted_order.data(), found.count, 0, 64,
                                                     stream.raw());
  });

  const std::int64_t taken_count = std::min(found.count, pod_count);
  DeviceBuffer<DevicePick> taken(static_cast<std::size_t>(taken_count), stream, pool, kUse);
  DeviceBuffer<std::int32_t> taken_of_node(nodes, stream, pool, kUse);
  check(cudaMemsetAsync(taken_of_node.data(), 0, taken_of_node.size_bytes(), stream.raw()), "clearing of counts");
  launch("take_picks", take_picks_kernel,
         {blocks_for(static_cast<std::uint64_t>(taken_count), tuning.threads_per_block), tuning.threads_per_block},
         stream, found.picks.data(), sorted_order.data(), taken_count, taken.data(), taken_of_node.data());
  launch("place_copies", place_copies_kernel, over_nodes, stream, state, row, taken_of_node.data());
  result.picks.resize(static_cast<std::size_t>(taken_count));
  download(taken.span(), std::span<DevicePick>(result.picks), stream);
  stream.synchronize();
  return result;
}

}  // namespace berth::cuda
