// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "batching/numbered.h"

namespace berth {

/// Parameters of a device backend that trade one cost for another and never change a result. Tests set them low to
/// reach every path on small clusters. Of these numbers only windows of 512 and of 1,024 pods were
/// compared on a device (bench/results/2026-11-26-h100.md).
struct DeviceTuning {
  /// Pods per launch. Deadlines are checked between launches.
  std::size_t launch_pods_max = 4096;
  /// Pods per launch where all rows fit a window (DeviceWindow), and how many of the best nodes of a cell it keeps.
  /// 0 pods: no windows. Of both, kWindowPodsMax at most.
  std::size_t window_pods_max = 512;
  std::size_t window_tops_max = 512;
  /// Rows per launch. Without a window each placement refreshes its node in all of them.
  std::size_t launch_rows_max = 4096;
  /// Rows that are kept for later batches, at most, besides those of the current one.
  std::size_t rows_kept_max = 8192;
  /// Shortest run of equal pods that is placed at once; or a `run_nodes_divisor`-th of the nodes if that is more.
  std::int64_t min_run_pods = 64;
  std::int32_t run_nodes_divisor = 32;
  /// Longest run of equal pods, which bounds the memory of its picks.
  std::int64_t run_pods_max = std::int64_t{1} << 22;
  /// Topology keys with more domains than this are read node by node in a class's row.
  std::int32_t coarse_domains_max = 256;
  /// A row with more cells than nodes / this has one cell per node instead.
  std::int32_t nodes_per_cell_min = 8;
  /// A row that missed more changes than this, or than nodes / 32, is rebuilt.
  std::int64_t refresh_entries_max = 2048;
  /// Additions after which what is not used any more is given up, at least.
  std::int32_t sweep_additions_min = kSweepMin;
  /// Free positions of a cell, for nodes that move there: an n-th of its nodes, and at least so many.
  std::int32_t spare_places_share = 8;
  std::int32_t spare_places_min = 4;
  /// Cells without a node in a layout of several cells, and their positions: an n-th of all nodes.
  std::int32_t spare_cells = 4;
  std::int32_t spare_cell_share = 64;
  /// With events of more nodes than an n-th of all, and at least so many, everything is uploaded again.
  std::int32_t changed_nodes_share = 8;
  std::int32_t changed_nodes_min = 16;
  /// Forks in parallel; each needs memory for its copy.
  std::size_t wave_forks_max = 4096;
  /// Dry runs, which the host answers, in a task: CpuTuning::dry_runs_per_task.
  std::size_t dry_runs_per_task = 512;

  std::int64_t min_run_length(std::int32_t node_count) const {
    return std::max<std::int64_t>(min_run_pods, node_count / run_nodes_divisor);
  }
  std::int64_t refresh_limit(std::int32_t node_count) const {
    return std::min<std::int64_t>(refresh_entries_max, node_count / 32 + 1);
  }
  std::int32_t spare_places(std::int32_t cell_nodes) const {
    return std::max(spare_places_min, cell_nodes / spare_places_share);
  }
  std::int32_t spare_cell_places(std::int32_t node_count) const {
    return std::max({1, spare_places_min, node_count / spare_cell_share});
  }
  std::size_t changed_nodes_max(std::int32_t node_count) const {
    return static_cast<std::size_t>(std::max(changed_nodes_min, node_count / changed_nodes_share));
  }
};

}  // namespace berth
