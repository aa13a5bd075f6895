// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launch numbers of the kernels, by compute capability (10 * major + minor). No launch site has a number. Each number
// names its origin: a device, a benchmark and a date, or "not measured".

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::cuda {

/// build_rows: a tile of rows x a tile of nodes per block, one node per thread.
struct BuildRowsTuning {
  static constexpr int kEvaluateThreads = 256;   ///< of the blocks that evaluate; others were not measured
  static constexpr int kEvaluateBlocksMin = 3;   ///< of them on a multiprocessor; others were not measured
  static constexpr std::uint32_t kRowsMax = 32;  ///< of a tile, which a block keeps in shared memory
  static constexpr int kRefreshThreads = 128;    ///< of the block that refreshes a row; not measured
  std::uint32_t threads_per_block;               ///< of the others
  std::uint32_t rows_per_tile;                   ///< that read a node's columns together
};

/// The team for commit_batch, one persistent kernel that visits the pods.
enum class CommitTeam : std::uint8_t { kBlock, kCluster, kGrid };

/// "block", "cluster" or "grid"; nothing for another text.
constexpr std::optional<CommitTeam> commit_team_of(std::string_view text) {
  if (text == "block") return CommitTeam::kBlock;
  if (text == "cluster") return CommitTeam::kCluster;
  if (text == "grid") return CommitTeam::kGrid;
  return std::nullopt;
}

struct CommitBatchTuning {
  /// The compiler keeps the kernels' registers so low that a block of so many threads fits (128 a thread).
  static constexpr int kThreadsMax = 512;
  std::uint32_t threads_per_block;
  std::uint32_t blocks_per_cluster;  ///< 1: no clusters
  std::int32_t cluster_cells_min;    ///< cells of the widest row from which a cluster is worth its dearer barriers
  std::int32_t cluster_rows_min;     ///< rows likewise
  std::int32_t grid_cells_min;       ///< cells from which the whole device is
};

/// commit_window: one block commits, and one per cell of each row selects the best nodes before it.
struct CommitWindowTuning {
  static constexpr int kThreads = 512;        ///< one a node that pods of the window were placed on
  static constexpr int kSelectThreads = 256;  ///< not measured
  /// Entries of a tournament that a selecting block keeps in shared memory.
  static constexpr std::int32_t capacity_of(std::int32_t tops_max) { return 8 * (tops_max + 1 + 64); }
};

/// commit_forks: one block per fork. Many forks run in parallel, so that each gets few threads.
struct CommitForksTuning {
  static constexpr int kThreads = 128;  ///< not measured
};

/// commit_run: one node per thread.
struct CommitRunTuning {
  static constexpr int kThreadsMax = 256;  ///< as CommitBatchTuning::kThreadsMax
  std::uint32_t threads_per_block;
};

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint32_t kBlockThreadsMax = 1024;
inline constexpr std::uint32_t kClusterBlocksMax = 8;  // what every device with clusters grants
inline constexpr int kSmMin = 80;                      // the oldest that cmake/cuda.cmake builds for

constexpr BuildRowsTuning build_rows_tuning(int sm) {
  if (sm >= 90) return {.threads_per_block = 256, .rows_per_tile = 16};  // not measured
  return {.threads_per_block = 256, .rows_per_tile = 16};                // not measured
}

constexpr CommitBatchTuning commit_batch_tuning(int sm) {
  if (sm >= 90)  // not measured
    return {.threads_per_block = 512,
            .blocks_per_cluster = 8,
            .cluster_cells_min = 2048,
            .cluster_rows_min = 1024,
            .grid_cells_min = 1 << 15};
  return {.threads_per_block = 512,  // not measured; sm_80 has no clusters
          .blocks_per_cluster = 1,
          .cluster_cells_min = INT32_MAX,
          .cluster_rows_min = INT32_MAX,
          .grid_cells_min = 1 << 13};
}

/// The team for a batch. @param widest_row_cells  of its rows: what a selection visits
constexpr CommitTeam commit_team(int sm, std::int32_t widest_row_cells, std::int32_t row_count) {
  const CommitBatchTuning tuning = commit_batch_tuning(sm);
  if (widest_row_cells >= tuning.grid_cells_min) return CommitTeam::kGrid;
  const bool cluster = widest_row_cells >= tuning.cluster_cells_min || row_count >= tuning.cluster_rows_min;
  return cluster ? CommitTeam::kCluster : CommitTeam::kBlock;
}

constexpr CommitRunTuning commit_run_tuning(int sm) {
  return {.threads_per_block = sm >= 90 ? 256u : 128u};  // not measured
}

constexpr bool is_block_size(std::uint32_t threads) {
  return threads > 0 && threads % kWarpThreads == 0 && threads <= kBlockThreadsMax;
}

constexpr bool is_tuning_sound(int sm) {
  const CommitBatchTuning commit = commit_batch_tuning(sm);
  return is_block_size(build_rows_tuning(sm).threads_per_block) && build_rows_tuning(sm).rows_per_tile > 0 &&
         build_rows_tuning(sm).rows_per_tile <= BuildRowsTuning::kRowsMax &&
         is_block_size(BuildRowsTuning::kEvaluateThreads) && is_block_size(BuildRowsTuning::kRefreshThreads) &&
         is_block_size(CommitForksTuning::kThreads) && is_block_size(CommitWindowTuning::kThreads) &&
         is_block_size(CommitWindowTuning::kSelectThreads) && is_block_size(commit.threads_per_block) &&
         commit.threads_per_block <= CommitBatchTuning::kThreadsMax && commit.blocks_per_cluster > 0 &&
         commit.blocks_per_cluster <= (sm >= 90 ? kClusterBlocksMax : 1) &&
         is_block_size(commit_run_tuning(sm).threads_per_block) &&
         commit_run_tuning(sm).threads_per_block <= CommitRunTuning::kThreadsMax;
}
static_assert(is_tuning_sound(kSmMin) && is_tuning_sound(90) && is_tuning_sound(100));

}  // namespace berth::cuda
