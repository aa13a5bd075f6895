// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "batching/numbered.h"
#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// Parameters that trade one cost for another and never change a result. Defaults were measured on an AMD EPYC with two
/// cores and AVX-512 (docs/benchmarks.md); tests set them low to reach every path on small clusters.
struct CpuTuning {
  /// Shortest run of equal pods that is planned at once; or a `run_nodes_divisor`-th of the nodes if that is more. For
  /// shorter runs the pass over the nodes costs more than it saves.
  std::int64_t min_run_pods = 64;
  std::int32_t run_nodes_divisor = 32;
  /// Classes per tile.
  int slots_max = kMaxSlots;
  /// Every placement refreshes its node in every live tile, while a new tile costs one pass over the nodes for up to
  /// slots_max pods: with more tiles than this share of the nodes, rebuilding is cheaper.
  std::int32_t nodes_per_tile = 200;
  std::size_t tiles_always = 4;
  /// Topology keys with more domains than this are grouped by count in a class's row, not by domain.
  std::int32_t coarse_domains_max = 64;
  /// How many upcoming pods are searched for the classes of a new tile.
  std::size_t lookahead_pods = 4096;

  /// How many changes the commit log keeps at least, however few slots there are.
  std::size_t log_entries_min = 4096;
  /// Additions after which what is not used any more is given up, at least.
  std::int32_t sweep_additions_min = kSweepMin;

  /// With so many pods left in a batch, or fewer, a pod whose class has no row is placed by one pass over the nodes.
  std::size_t lone_pods_max = 16;
  /// So is one whose row has missed more changes than this.
  std::uint64_t lone_changes_min = 32;

  /// The index by load is laid out again after so many changes, and after one for so many nodes.
  std::int64_t index_changes_min = 256;
  std::int64_t index_nodes_per_change = 4;
  /// With so many nodes a tree, those that change leave their leaves.
  std::int64_t index_moving_nodes_min = 1024;
  /// Its trees number at most one for so many nodes, or so many altogether.
  std::int32_t index_nodes_per_group = 64;
  std::int32_t index_groups_always = 16;
  /// The same of trees for keys with many domains.
  std::int32_t index_nodes_per_wide_group = 16;
  /// A pod for which more nodes must be evaluated one by one, or of which more refuse what their bound promised, takes
  /// rows.
  std::size_t index_listed_max = 8192;
  std::size_t index_refused_max = 1024;
  /// In batches of fewer classes pods take rows: those without topology terms, and those with.
  std::int32_t index_classes_min = 384;
  std::int32_t index_topology_classes_min = 64;

  /// Dry runs of preemption that a thread takes at once: a tenth of a millisecond.
  std::size_t dry_runs_per_task = 512;

  std::int64_t min_run_length(std::int32_t node_count) const {
    return std::max<std::int64_t>(min_run_pods, node_count / run_nodes_divisor);
  }
  std::int32_t index_groups_max(std::int32_t node_count) const {
    return std::max(index_groups_always, node_count / index_nodes_per_group);
  }
  std::int32_t index_wide_groups_max(std::int32_t node_count) const {
    return std::max(index_groups_always, node_count / index_nodes_per_wide_group);
  }
  std::size_t tiles_max(std::int32_t node_count) const {
    return std::max(tiles_always, static_cast<std::size_t>(node_count / nodes_per_tile));
  }
};

}  // namespace berth
