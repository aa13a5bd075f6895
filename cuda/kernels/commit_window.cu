// SPDX-License-Identifier: Apache-2.0
#include <cub/block/block_merge_sort.cuh>

#include "batching/device/window_body.h"
#include "cuda/kernels/commit_window.cuh"
#include "cuda/kernels/teams.cuh"
#include "cuda/launch/launch.cuh"

namespace berth::cuda {
namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

/// Shared memory of a block that selects: entries of one level of a cell's tournament, by key.
struct Candidates {
  NodeKey* keys;        ///< [capacity]
  std::int32_t* index;  ///< [capacity] of the entry in the level
};

/// What the threads of a selecting block agree on.
struct SelectShared {
  std::uint32_t counts[kDigits];
  std::uint32_t wanted;  ///< the rank that is searched among the keys with the digits found so far; 1: the highest
  std::uint64_t digits;
  std::int32_t kept;
};

/// The key with `rank` - 1 keys above it, all threads of a block together; 0 when there are fewer than `rank` keys. By
/// digits, the highest first. Keys are not negative.
__device__ NodeKey key_of_rank(const NodeKey* keys, std::int32_t count, std::uint32_t rank, SelectShared& shared) {
  if (count < static_cast<std::int32_t>(rank)) return 0;
  if (threadIdx.x == 0) shared.wanted = rank, shared.digits = 0;
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += static_cast<int>(blockDim.x)) shared.counts[d] = 0;
    __syncthreads();
    const std::uint64_t found = shared.digits;
    for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < count;
         i += static_cast<std::int32_t>(blockDim.x)) {
      const auto key = static_cast<std::uint64_t>(keys[i]);
      if (shift + kDigitBits == 64 || key >> (shift + kDigitBits) == found)
        atomicAdd(shared.counts + (key >> shift & (kDigits - 1)), 1u);
    }
    __syncthreads();
    if (threadIdx.x < kWarpSize) {  // each lane has 8 digits, the first lane the highest ones
      constexpr int kDigitsOfLane = kDigits / kWarpSize;
      const int highest = kDigits - 1 - static_cast<int>(threadIdx.x) * kDigitsOfLane;
      std::uint32_t here = 0;
      for (int d = 0; d < kDigitsOfLane; ++d) here += shared.counts[highest - d];
      std::uint32_t up_to = here;
      for (int offset = 1; offset < kWarpSize; offset *= 2) {
        const std::uint32_t other = __shfl_up_sync(kWholeWarp, up_to, static_cast<unsigned>(offset));
        if (static_cast<int>(threadIdx.x) >= offset) up_to += other;
      }
      std::uint32_t above = up_to - here;
      const std::uint32_t wanted = shared.wanted;
      __syncwarp();
      if (above < wanted && wanted <= up_to) {
        int digit = highest;
        while (above + shared.counts[digit] < wanted) above += shared.counts[digit--];
        shared.wanted = wanted - above;
        shared.digits = found << kDigitBits | static_cast<std::uint64_t>(digit);
      }
    }
    __syncthreads();
  }
  return static_cast<NodeKey>(shared.digits);
}

/// Keeps the candidates whose keys are at least `lowest`, in any order. @return their number
__device__ std::int32_t keep_from(const Candidates& candidates, std::int32_t count, NodeKey lowest,
                                  SelectShared& shared) {
  if (threadIdx.x == 0) shared.kept = 0;
  __syncthreads();
  for (std::int32_t first = 0; first < count; first += static_cast<std::int32_t>(blockDim.x)) {
    const std::int32_t i = first + static_cast<std::int32_t>(threadIdx.x);
    const NodeKey key = i < count ? candidates.keys[i] : 0;
    const std::int32_t index = i < count ? candidates.index[i] : 0;
    __syncthreads();  // all have read before one writes; what is kept moves to the front
    if (i < count && key >= lowest) {
      const std::int32_t at = atomicAdd(&shared.kept, 1);
      candidates.keys[at] = key;
      candidates.index[at] = index;
    }
  }
  __syncthreads();
  return shared.kept;
}

/// Each candidate becomes its children: those of the last ones first, so that none is overwritten before it was read. A
/// child that the level does not have gets key 0. @param count  of the entries of `level`, which is above 0
__device__ void expand(const RowView& row, std::int32_t level, std::int32_t cell, const Candidates& candidates,
                       std::int32_t count) {
  const auto threads = static_cast<std::int32_t>(blockDim.x);
  const std::int32_t begin = row.begin(level - 1, cell);
  const std::int32_t children = row.begin(level - 1, cell + 1) - begin;
  const NodeKey* keys = row.keys + row.layout.level_offset[level - 1] + begin;
  for (std::int32_t first = (count - 1) / threads * threads; first >= 0; first -= threads) {
    const std::int32_t i = first + static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t parent = i < count ? candidates.index[i] : 0;
    __syncthreads();
    for (std::int32_t c = 0; i < count && c < kDeviceArity; ++c) {
      const std::int32_t child = parent * kDeviceArity + c;
      candidates.index[i * kDeviceArity + c] = child;
      candidates.keys[i * kDeviceArity + c] = child < children ? keys[child] : 0;
    }
    __syncthreads();
  }
}

struct BetterTop {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  __device__ bool operator()(const DeviceTop& a, const DeviceTop& b) const {
    if (a.key != b.key || a.key == 0) return a.key > b.key;
    return rank[a.node] < rank[b.node];
  }
};

constexpr int kTopsOfThread = kWindowPodsMax / CommitWindowTuning::kSelectThreads;
static_assert(kTopsOfThread * CommitWindowTuning::kSelectThreads == kWindowPodsMax);
using SortTops = cub::BlockMergeSort<DeviceTop, CommitWindowTuning::kSelectThreads, kTopsOfThread>;

/// One block per cell of each row. From a level of the cell's tournament that fits shared memory down to the nodes: an
/// entry is needed where its key is at least that of rank tops_max + 1, because the nodes of that rank and of higher
/// ones lie below such entries.
__global__ void __launch_bounds__(CommitWindowTuning::kSelectThreads)
    select_tops_kernel(const __grid_constant__ DeviceState state, const __grid_constant__ DeviceWindow window,
                       std::int32_t capacity) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ SelectShared shared;
  __shared__ typename SortTops::TempStorage sort_memory;
  const auto row_index = static_cast<std::int32_t>(blockIdx.x) / window.cells_max;
  const std::int32_t cell = static_cast<std::int32_t>(blockIdx.x) % window.cells_max;
  const RowView row(state, state.rows.rows[row_index]);
  if (cell >= row.layout.cell_count) return;
  const Candidates candidates{
      reinterpret_cast<NodeKey*>(memory),
      reinterpret_cast<std::int32_t*>(memory + static_cast<std::size_t>(capacity) * sizeof(NodeKey))};
  const auto rank = static_cast<std::uint32_t>(window.tops_max) + 1;
  const auto size_of = [&](std::int32_t level) { return row.begin(level, cell + 1) - row.begin(level, cell); };
  std::int32_t level = 0;
  while (size_of(level) > capacity) ++level;
  std::int32_t count = size_of(level);
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < count; i += static_cast<std::int32_t>(blockDim.x)) {
    candidates.keys[i] = row.keys[row.layout.level_offset[level] + row.begin(level, cell) + i];
    candidates.index[i] = i;
  }
  __syncthreads();
  NodeKey cutoff = key_of_rank(candidates.keys, count, rank, shared);
  for (; level > 0 && count > 0; --level) {
    count = keep_from(candidates, count, cutoff > 1 ? cutoff : 1, shared);
    if (count * kDeviceArity > capacity) {  // so many equal keys that they do not fit: nothing is listed
      count = 0;
      break;
    }
    expand(row, level, cell, candidates, count);
    count *= kDeviceArity;
    cutoff = key_of_rank(candidates.keys, count, rank, shared);
  }
  const bool is_listed = level == 0;
  count = is_listed ? keep_from(candidates, count, cutoff + 1, shared) : 0;
  const std::int64_t list = window.list_of(row_index, cell);
  DeviceTop sorted[kTopsOfThread];
  const std::int32_t first = static_cast<std::int32_t>(threadIdx.x) * kTopsOfThread;
  for (std::int32_t i = 0; i < kTopsOfThread && first + i < count; ++i)
    sorted[i] = {candidates.keys[first + i], row.node_at(row.begin(0, cell) + candidates.index[first + i])};
  SortTops(sort_memory).Sort(sorted, BetterTop{state.columns.rank}, count, DeviceTop{});
  for (std::int32_t i = 0; i < kTopsOfThread && first + i < count; ++i)
    window.tops[list * window.tops_max + first + i] = sorted[i];
  if (threadIdx.x == 0) window.lists[list] = {count, is_listed ? cutoff : row.top(cell).key};
}

/// Names the shared memory anew at each use, so that the compiler knows the address space of each.
struct SharedWindowMemory {
  __device__ WindowMemory& operator()() const {
    extern __shared__ __align__(16) unsigned char memory[];
    return *reinterpret_cast<WindowMemory*>(memory);
  }
};

__global__ void __launch_bounds__(CommitWindowTuning::kThreads, 1)
    commit_window_kernel(const __grid_constant__ DeviceState state, const __grid_constant__ DeviceBatch batch,
                         const __grid_constant__ DeviceWindow window) {
  __shared__ BlockSlots slots;
  berth::commit_window(BlockTeam(slots), state, batch, window, SharedWindowMemory());
}

}  // namespace

void select_tops(const DeviceState& state, std::int32_t row_count, const DeviceWindow& window, StreamView stream) {
  // The children of the entries that are kept, of which there are tops_max + 1 where no keys are equal, and some more.
  const std::int32_t capacity = CommitWindowTuning::capacity_of(window.tops_max);
  const std::size_t bytes = static_cast<std::size_t>(capacity) * (sizeof(NodeKey) + sizeof(std::int32_t));
  const std::uint32_t blocks = static_cast<std::uint32_t>(row_count) * static_cast<std::uint32_t>(window.cells_max);
  launch("select_tops", select_tops_kernel, {blocks, CommitWindowTuning::kSelectThreads, bytes}, stream, state, window,
         capacity);
}

void commit_window(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window, StreamView stream) {
  launch("commit_window", commit_window_kernel, {1, CommitWindowTuning::kThreads, sizeof(WindowMemory)}, stream, state,
         batch, window);
}

}  // namespace berth::cuda
