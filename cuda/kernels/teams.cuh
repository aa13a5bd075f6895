// SPDX-License-Identifier: Apache-2.0
#pragma once

// Teams of batching/device/team.h on a device. They reduce integers only, so that the order does not matter.

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <cub/util_ptx.cuh>
#include <cub/util_type.cuh>

#include "batching/device/team.h"

namespace berth::cuda {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kWholeWarp = 0xffffffffu;
/// Storage for one value that a team reduces.
inline constexpr std::size_t kReduceSlotBytes = 64;

struct alignas(16) ReduceSlot {
  unsigned char bytes[kReduceSlotBytes];

  template <class T>
  __device__ T& as() {
    static_assert(sizeof(T) <= kReduceSlotBytes && alignof(T) <= 16);
    return *reinterpret_cast<T*>(bytes);
  }
};

/// Values that the warps of a block exchange.
struct BlockSlots {
  ReduceSlot of_warp[kWarpSize];
};

/// Updates that several threads make at once, in device memory.
struct AtomicUpdates {
  __device__ std::int32_t exchange(std::int32_t* address, std::int32_t value) const {
    return atomicExch(address, value);
  }
  __device__ std::int64_t exchange(std::int64_t* address, std::int64_t value) const {
    return static_cast<std::int64_t>(
        atomicExch(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
  }
  __device__ std::int32_t add(std::int32_t* address, std::int32_t amount) const { return atomicAdd(address, amount); }
  __device__ std::int64_t add(std::int64_t* address, std::int64_t amount) const {
    return static_cast<std::int64_t>(
        atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(amount)));
  }
};

/// One warp; every warp of a block computes the same.
struct WarpTeam : AtomicUpdates {
  __device__ int index() const { return static_cast<int>(threadIdx.x) % kWarpSize; }
  __device__ int size() const { return kWarpSize; }
  __device__ void barrier() const { __syncwarp(); }
  template <class T, class Op>
  __device__ T reduce(const T& value, Op op) const {
    return reduce_first(value, kWarpSize, op);
  }
  template <class T, class Op>
  __device__ T reduce_first(const T& value, int count, Op op) const {
    __syncwarp();  // a shuffle alone does not order what the threads wrote
    T all = value;
    int width = kWarpSize;
    while (width / 2 >= count && width > 1) width /= 2;
    for (int offset = width / 2; offset > 0; offset /= 2) {
      const T other = cub::ShuffleDown<kWarpSize>(all, offset, kWarpSize - 1, kWholeWarp);
      if (index() + offset < count) all = op(all, other);
    }
    return cub::ShuffleIndex<kWarpSize>(all, 0, kWholeWarp);
  }
  template <class T, class Op>
  __device__ T reduce_groups(const T& value, int size, Op op) const {
    __syncwarp();
    T all = value;
    for (int offset = size / 2; offset > 0; offset /= 2)
      all = op(all, cub::ShuffleIndex<kWarpSize>(all, index() ^ offset, kWholeWarp));
    return all;
  }
  /// For values with a `key` (0 and more) of which the highest decides, and a `live_change` that is added up. Two
  /// instructions find the highest key; op is needed only where keys are equal.
  template <class T, class Op>
  __device__ void gather(T* values, int count, Op op) const {
    for (int i = 0; i < count; ++i) values[i] = reduce_keyed(values[i], op);
  }
  __device__ void prefetch(const void* address) const { asm volatile("prefetch.global.L1 [%0];" ::"l"(address)); }
  __device__ std::uint32_t ballot(bool condition) const { return __ballot_sync(kWholeWarp, condition); }
  __device__ void mark(std::int32_t* address, std::int32_t value) const {
    *static_cast<volatile std::int32_t*>(address) = value;
  }
  __device__ bool is_marked(const std::int32_t* address, std::int32_t value) const {
    return *static_cast<const volatile std::int32_t*>(address) == value;
  }
  __device__ WarpTeam solo() const { return {}; }

 private:
  template <class T, class Op>
  __device__ T reduce_keyed(const T& value, Op op) const {
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value.key) >> 32);
    const std::uint32_t highest = __reduce_max_sync(kWholeWarp, high);
    const std::uint32_t low = high == highest ? static_cast<std::uint32_t>(value.key) : 0;
    const std::uint32_t highest_low = __reduce_max_sync(kWholeWarp, low);
    const unsigned winners = __ballot_sync(kWholeWarp, high == highest && low == highest_low && value.key > 0);
    if (__popc(winners) > 1) return reduce(value, op);
    const int change = __reduce_add_sync(kWholeWarp, value.live_change);
    const int winner = winners == 0 ? 0 : __ffs(static_cast<int>(winners)) - 1;
    T best = cub::ShuffleIndex<kWarpSize>(value, winner, kWholeWarp);
    best.live_change = change;
    return best;
  }
};

/// The common part of larger teams: their warps.
struct TeamOfWarps : AtomicUpdates {
  __device__ void mark(std::int32_t* address, std::int32_t value) const { solo().mark(address, value); }
  __device__ bool is_marked(const std::int32_t* address, std::int32_t value) const {
    return solo().is_marked(address, value);
  }
  __device__ WarpTeam solo() const { return {}; }
};

/// A block. `slots` are in its shared memory.
class BlockTeam : public TeamOfWarps {
 public:
  __device__ explicit BlockTeam(BlockSlots& slots) : slots_(&slots) {}
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  __device__ int solo_index() const { return static_cast<int>(threadIdx.x) / kWarpSize; }
  __device__ int solo_count() const { return static_cast<int>(blockDim.x) / kWarpSize; }
  __device__ void barrier() const { __syncthreads(); }
  template <class T, class Op>
  __device__ T reduce_first(const T& value, int, Op op) const {
    return reduce(value, op);
  }
  template <class T, class Op>
  __device__ T reduce(const T& value, Op op) const {
    const WarpTeam warp;
    const T of_warp = warp.reduce(value, op);
    if (warp.index() == 0) slots_->of_warp[threadIdx.x / kWarpSize].template as<T>() = of_warp;
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / kWarpSize;
    const T mine = slots_->of_warp[warp.index() < warps ? warp.index() : 0].template as<T>();
    const T all = warp.reduce_first(mine, warps, op);
    __syncthreads();
    return all;
  }

 private:
  BlockSlots* slots_;
};

/// Whether the code is compiled for a device with clusters of blocks; the host's pass compiles what devices have.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define BERTH_HAS_CLUSTERS 1
#else
#define BERTH_HAS_CLUSTERS 0
#endif

#if BERTH_HAS_CLUSTERS
/// The blocks of a cluster, which reduce through one another's shared memory. `of_block` is in shared memory too.
class ClusterTeam : public TeamOfWarps {
 public:
  __device__ ClusterTeam(BlockSlots& slots, ReduceSlot& of_block) : block_(slots), of_block_(&of_block) {}
  __device__ int index() const { return static_cast<int>(cooperative_groups::this_cluster().thread_rank()); }
  __device__ int size() const { return static_cast<int>(cooperative_groups::this_cluster().num_threads()); }
  /// Warps that follow each other lie in different blocks, so that a few of them have more of the device for
  /// themselves.
  __device__ int solo_index() const {
    const auto cluster = cooperative_groups::this_cluster();
    return static_cast<int>(threadIdx.x / kWarpSize * cluster.num_blocks() + cluster.block_rank());
  }
  __device__ int solo_count() const { return size() / kWarpSize; }
  __device__ void barrier() const { cooperative_groups::this_cluster().sync(); }
  template <class T, class Op>
  __device__ T reduce_first(const T& value, int, Op op) const {
    return reduce(value, op);
  }
  template <class T, class Op>
  __device__ T reduce(const T& value, Op op) const {
    const auto cluster = cooperative_groups::this_cluster();
    const T here = block_.reduce(value, op);
    if (threadIdx.x == 0) of_block_->template as<T>() = here;
    cluster.sync();
    T all = cluster.map_shared_rank(of_block_, 0)->template as<T>();
    for (unsigned b = 1; b < cluster.num_blocks(); ++b)
      all = op(all, cluster.map_shared_rank(of_block_, b)->template as<T>());
    cluster.sync();  // no block overwrites what another still reads
    return all;
  }

 private:
  BlockTeam block_;
  ReduceSlot* of_block_;
};
#endif

/// All blocks of a cooperative grid, which reduce through device memory.
class GridTeam : public TeamOfWarps {
 public:
  /// @param of_blocks  [2 * gridDim.x] two halves in turn, so that one wait per reduction is enough
  __device__ GridTeam(BlockSlots& slots, ReduceSlot* of_blocks) : block_(slots), of_blocks_(of_blocks) {}
  __device__ int index() const { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
  __device__ int size() const { return static_cast<int>(gridDim.x * blockDim.x); }
  __device__ void barrier() const { cooperative_groups::this_grid().sync(); }
  template <class T, class Op>
  __device__ T reduce_first(const T& value, int, Op op) const {
    return reduce(value, op);
  }
  template <class T, class Op>
  __device__ T reduce(const T& value, Op op) const {
    const T here = block_.reduce(value, op);
    ReduceSlot* half = of_blocks_ + half_ * gridDim.x;
    half_ = 1 - half_;
    if (threadIdx.x == 0) half[blockIdx.x].template as<T>() = here;
    cooperative_groups::this_grid().sync();
    const WarpTeam warp;
    const auto blocks = static_cast<int>(gridDim.x);
    T all = half[warp.index() < blocks ? warp.index() : 0].template as<T>();
    for (int b = warp.index() + kWarpSize; b < blocks; b += kWarpSize) all = op(all, half[b].template as<T>());
    return warp.reduce_first(all, blocks < kWarpSize ? blocks : kWarpSize, op);
  }

 private:
  BlockTeam block_;
  ReduceSlot* of_blocks_;
  mutable unsigned half_ = 0;
};

}  // namespace berth::cuda
