// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "batching/device/commit_body.h"
#include "batching/device/evaluation_body.h"
#include "cuda/kernels/commit_batch.cuh"
#include "cuda/kernels/teams.cuh"
#include "cuda/launch/launch.cuh"

namespace berth::cuda {
namespace {

__global__ void __launch_bounds__(CommitBatchTuning::kThreadsMax)
    commit_batch_block_kernel(const __grid_constant__ DeviceState state, const __grid_constant__ DeviceBatch batch) {
  __shared__ BlockSlots slots;
  berth::commit_batch(BlockTeam(slots), state, batch);
}

__global__ void __launch_bounds__(CommitBatchTuning::kThreadsMax)
    commit_batch_cluster_kernel(const __grid_constant__ DeviceState state, const __grid_constant__ DeviceBatch batch) {
#if BERTH_HAS_CLUSTERS
  __shared__ BlockSlots slots;
  __shared__ ReduceSlot of_block;
  berth::commit_batch(ClusterTeam(slots, of_block), state, batch);
#else
  static_cast<void>(state), static_cast<void>(batch);
  __trap();  // CommitTeam::kCluster is not chosen for a device without clusters
#endif
}

__global__ void __launch_bounds__(CommitBatchTuning::kThreadsMax)
    commit_batch_grid_kernel(const __grid_constant__ DeviceState state, const __grid_constant__ DeviceBatch batch,
                             ReduceSlot* partials) {
  __shared__ BlockSlots slots;
  berth::commit_batch(GridTeam(slots, partials), state, batch);
}

__global__ void __launch_bounds__(CommitBatchTuning::kThreadsMax)
    evaluate_pod_kernel(const __grid_constant__ DeviceState state, DeviceNodeScores* nodes, ReduceSlot* partials) {
  __shared__ BlockSlots slots;
  berth::evaluate_pod(GridTeam(slots, partials), state, nodes);
}

__global__ void __launch_bounds__(CommitForksTuning::kThreads)
    commit_forks_kernel(const DeviceState* states, const DeviceBatch* batches) {
  __shared__ BlockSlots slots;
  // In shared memory, where all threads read it; raw, because nothing there may have a constructor.
  alignas(DeviceState) __shared__ unsigned char bytes[sizeof(DeviceState)];
  const auto* from = reinterpret_cast<const unsigned char*>(states + blockIdx.x);
  for (unsigned i = threadIdx.x; i < sizeof(DeviceState); i += blockDim.x) bytes[i] = from[i];
  __syncthreads();
  berth::commit_batch(BlockTeam(slots), *reinterpret_cast<const DeviceState*>(bytes), batches[blockIdx.x]);
}

std::uint32_t grid_blocks(const DeviceFacts& facts) {
  const std::uint32_t threads = commit_batch_tuning(facts.sm).threads_per_block;
  return resident_blocks_max("commit_batch", commit_batch_grid_kernel, threads, 0, facts.multiprocessor_count);
}

}  // namespace

void commit_batch(const DeviceState& state, const DeviceBatch& batch, CommitTeam team, const DeviceFacts& facts,
                  void* partials, StreamView stream) {
  const CommitBatchTuning tuning = commit_batch_tuning(facts.sm);
  switch (team) {
    case CommitTeam::kBlock:
      return launch("commit_batch", commit_batch_block_kernel, {1, tuning.threads_per_block}, stream, state, batch);
    case CommitTeam::kCluster:
      return launch_cluster("commit_batch", commit_batch_cluster_kernel,
                            {tuning.blocks_per_cluster, tuning.threads_per_block}, tuning.blocks_per_cluster, stream,
                            state, batch);
    case CommitTeam::kGrid:
      return launch_cooperative("commit_batch", commit_batch_grid_kernel,
                                {grid_blocks(facts), tuning.threads_per_block}, stream, state, batch,
                                static_cast<ReduceSlot*>(partials));
  }
}

std::uint64_t grid_partials_bytes(const DeviceFacts& facts) {
  return std::uint64_t{2} * grid_blocks(facts) * sizeof(ReduceSlot);
}

void evaluate_pod(const DeviceState& state, DeviceNodeScores* nodes, const DeviceFacts& facts, void* partials,
                  StreamView stream) {
  const std::uint32_t threads = commit_batch_tuning(facts.sm).threads_per_block;
  // `partials` have room for the blocks of commit_batch.
  const std::uint32_t blocks =
      std::min(grid_blocks(facts),
               resident_blocks_max("evaluate_pod", evaluate_pod_kernel, threads, 0, facts.multiprocessor_count));
  launch_cooperative("evaluate_pod", evaluate_pod_kernel, {blocks, threads}, stream, state, nodes,
                     static_cast<ReduceSlot*>(partials));
}

void commit_forks(const DeviceState* states, const DeviceBatch* batches, std::int32_t fork_count, StreamView stream) {
  launch("commit_forks", commit_forks_kernel, {static_cast<std::uint32_t>(fork_count), CommitForksTuning::kThreads},
         stream, states, batches);
}

}  // namespace berth::cuda
