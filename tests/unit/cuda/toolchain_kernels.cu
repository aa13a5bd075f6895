// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

#include <cub/block/block_reduce.cuh>

#include "cuda/launch/launch.cuh"
#include "tests/unit/cuda/toolchain_kernels.h"

namespace berth::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void sum_kernel(std::span<const std::int64_t> values, std::int64_t* sum) {
  using BlockReduce = cub::BlockReduce<std::int64_t, kThreads>;
  __shared__ typename BlockReduce::TempStorage storage;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t block_sum = BlockReduce(storage).Sum(i < values.size() ? values[i] : 0);
  // Two's complement: adding unsigned is adding signed.
  if (threadIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(block_sum));
}

__global__ void cluster_kernel(std::int32_t* sums) {
#if __CUDA_ARCH__ >= 900
  __shared__ std::int32_t rank;
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) rank = static_cast<std::int32_t>(blockIdx.x);
  cluster.sync();
  if (threadIdx.x == 0) {
    std::int32_t sum = 0;
    for (unsigned block = 0; block < cluster.num_blocks(); ++block) sum += *cluster.map_shared_rank(&rank, block);
    sums[blockIdx.x] = sum;
  }
  cluster.sync();  // shared memory must live until the others have read it
#else
  sums[blockIdx.x] = -1;
#endif
}

__global__ void grid_kernel(std::int32_t* count, std::int32_t* seen) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) seen[blockIdx.x] = *count;
}

__global__ void multiply_add_kernel(double a, double b, double c, double* result) { *result = a * b + c; }

__global__ void astray_kernel(std::int32_t* nowhere) { *nowhere = 1; }

}  // namespace

void sum_by_blocks(std::span<const std::int64_t> d_values, std::int64_t* d_sum, StreamView stream) {
  launch("sum_kernel", sum_kernel, {.blocks = blocks_for(d_values.size(), kThreads), .threads = kThreads}, stream,
         d_values, d_sum);
}

void sum_cluster_ranks(std::span<std::int32_t> d_sums, std::uint32_t cluster_blocks, StreamView stream) {
  launch_cluster("cluster_kernel", cluster_kernel,
                 {.blocks = static_cast<std::uint32_t>(d_sums.size()), .threads = kThreads}, cluster_blocks, stream,
                 d_sums.data());
}

void count_across_grid(std::int32_t* d_count, std::span<std::int32_t> d_seen, StreamView stream) {
  launch_cooperative("grid_kernel", grid_kernel,
                     {.blocks = static_cast<std::uint32_t>(d_seen.size()), .threads = kThreads}, stream, d_count,
                     d_seen.data());
}

void multiply_add(double a, double b, double c, double* d_result, StreamView stream) {
  launch("multiply_add_kernel", multiply_add_kernel, {.blocks = 1, .threads = 1}, stream, a, b, c, d_result);
}

void write_astray(StreamView stream) {
  // A low address other than null, so that the compiler cannot detect it.
  launch("astray_kernel", astray_kernel, {.blocks = 1, .threads = 1}, stream, reinterpret_cast<std::int32_t*>(64));
}

}  // namespace berth::cuda
