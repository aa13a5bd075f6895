// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace berth {

/// Numbers that trade one cost of a device backend for another and never change a result; tests set them low to reach
/// every path on small clusters. None was measured on a device yet: docs/benchmarks.md derives them.
struct DeviceTuning {
  /// Pods a launch: a deadline is looked at between launches.
  std::size_t launch_pods_max = 4096;
  /// Rows a launch: each placement refreshes its node in all of them.
  std::size_t launch_rows_max = 4096;
  /// Equal pods are placed at once from this many on, or from a `run_nodes_divisor`-th of the nodes if that is more.
  std::int64_t min_run_pods = 64;
  std::int32_t run_nodes_divisor = 32;
  /// Equal pods a run at most: what its picks take is bounded by it.
  std::int64_t run_pods_max = std::int64_t{1} << 22;
  /// Topology keys with more domains than this are read node by node in a class's row.
  std::int32_t coarse_domains_max = 256;
  /// A row of more cells than nodes / this is laid out node by node.
  std::int32_t nodes_per_cell_min = 8;
  /// A row that missed more changes than this, or than nodes / 32, is built anew.
  std::int64_t refresh_entries_max = 2048;
  /// Forks side by side; their copies need memory each.
  std::size_t wave_forks_max = 4096;

  std::int64_t min_run_length(std::int32_t node_count) const {
    return std::max<std::int64_t>(min_run_pods, node_count / run_nodes_divisor);
  }
  std::int64_t refresh_limit(std::int32_t node_count) const {
    return std::min<std::int64_t>(refresh_entries_max, node_count / 32 + 1);
  }
};

}  // namespace berth
