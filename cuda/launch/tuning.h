// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launch numbers of the kernels, by compute capability (10 * major + minor). No number stands at a launch. Each says
// where it is from: a device, a benchmark and a date, or "not measured".

#include <cstdint>

namespace berth::cuda {

/// build_rows: a tile of classes x a tile of nodes a block.
struct BuildRowsTuning {
  std::uint32_t threads_per_block;
  std::uint32_t nodes_per_thread;
};

/// commit_batch: one persistent group of blocks walks the pods.
struct CommitBatchTuning {
  std::uint32_t threads_per_block;
  std::uint32_t blocks_per_cluster;  ///< 1: no clusters
};

/// select_run: the best nodes for a run of equal pods.
struct SelectRunTuning {
  std::uint32_t threads_per_block;
  std::uint32_t nodes_per_thread;
};

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint32_t kBlockThreadsMax = 1024;
inline constexpr std::uint32_t kClusterBlocksMax = 8;  // what every device with clusters grants
inline constexpr int kSmMin = 80;                      // the oldest that cmake/cuda.cmake builds for

constexpr BuildRowsTuning build_rows_tuning(int sm) {
  if (sm >= 90) return {.threads_per_block = 256, .nodes_per_thread = 4};  // not measured
  return {.threads_per_block = 128, .nodes_per_thread = 4};                // not measured
}

constexpr CommitBatchTuning commit_batch_tuning(int sm) {
  if (sm >= 90) return {.threads_per_block = 512, .blocks_per_cluster = 8};  // not measured
  return {.threads_per_block = 512, .blocks_per_cluster = 1};                // not measured; sm_80 has no clusters
}

constexpr SelectRunTuning select_run_tuning(int sm) {
  if (sm >= 90) return {.threads_per_block = 256, .nodes_per_thread = 8};  // not measured
  return {.threads_per_block = 256, .nodes_per_thread = 4};                // not measured
}

constexpr bool is_block_size(std::uint32_t threads) {
  return threads > 0 && threads % kWarpThreads == 0 && threads <= kBlockThreadsMax;
}

constexpr bool is_tuning_sound(int sm) {
  const CommitBatchTuning commit = commit_batch_tuning(sm);
  return is_block_size(build_rows_tuning(sm).threads_per_block) && build_rows_tuning(sm).nodes_per_thread > 0 &&
         is_block_size(commit.threads_per_block) && commit.blocks_per_cluster > 0 &&
         commit.blocks_per_cluster <= (sm >= 90 ? kClusterBlocksMax : 1) &&
         is_block_size(select_run_tuning(sm).threads_per_block) && select_run_tuning(sm).nodes_per_thread > 0;
}
static_assert(is_tuning_sound(kSmMin) && is_tuning_sound(90) && is_tuning_sound(100));

}  // namespace berth::cuda
