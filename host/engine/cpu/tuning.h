// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "host/engine/cpu/slot_kernel.h"

namespace berth {

/// Numbers that trade one cost for another and never change a result. Defaults were measured on an AMD EPYC with two
/// cores and AVX-512 (docs/benchmarks.md); tests set them low to reach every path on small clusters.
struct CpuTuning {
  /// A run of equal pods is planned at once from this length on, or from a `run_nodes_divisor`-th of the nodes if that
  /// is more: below, the pass over the nodes costs more than it saves.
  std::int64_t min_run_pods = 64;
  std::int32_t run_nodes_divisor = 32;
  /// Classes a tile.
  int slots_max = kMaxSlots;
  /// A placement refreshes its node in every live tile sooner or later, while a new tile costs one pass over the nodes
  /// for up to slots_max pods: with more tiles than this share of the nodes, building anew is the cheaper way.
  std::int32_t nodes_per_tile = 200;
  std::size_t tiles_always = 4;
  /// Topology keys with more domains than this are grouped by count in a class's row, not by domain.
  std::int32_t coarse_domains_max = 64;
  /// Pods looked ahead for the classes of a new tile.
  std::size_t lookahead_pods = 4096;

  std::int64_t min_run_length(std::int32_t node_count) const {
    return std::max<std::int64_t>(min_run_pods, node_count / run_nodes_divisor);
  }
  std::size_t tiles_max(std::int32_t node_count) const {
    return std::max(tiles_always, static_cast<std::size_t>(node_count / nodes_per_tile));
  }
};

}  // namespace berth
