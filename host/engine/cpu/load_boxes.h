// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boxes around the loads of nodes, sixteen side by side: what the bounds of an index over nodes are computed from
// (host/engine/cpu/load_index.h). A box around one node is that node.

#include "host/framework/draw_bits.h"

namespace berth {

inline constexpr int kBoxLanes = 16;

/// [lane] each. A lane without nodes, or whose nodes have no room for one more pod, is empty: its draw is 0, and its
/// other values change nothing in a box around it.
struct alignas(64) LoadBoxes {
  struct Resource {
    /// Share in use of what is offered, at most 2: the smallest one, or the largest one for MostAllocated.
    double used[kBoxLanes];
    double inverse_min[kBoxLanes];  ///< of what is offered
    double inverse_max[kBoxLanes];
    double free_min[kBoxLanes];  ///< offered less requested
    double free_max[kBoxLanes];
  };
  Resource cpu, memory;
  double mean_used[kBoxLanes];  ///< smallest mean of the shares in use, weighted as the profile scores them
  /// What NodeResourcesFit and NodeResourcesBalancedAllocation together take off the highest total, as shares of 100
  /// and without roundings: the smallest of what it were on each node if it had more of its cpu in use than of its
  /// memory; if less; and of the larger one, which it is.
  double loss_by_cpu[kBoxLanes];
  double loss_by_memory[kBoxLanes];
  double loss[kBoxLanes];
  double tilt_min[kBoxLanes];  ///< requested share of cpu, at most 1, less that of memory
  double tilt_max[kBoxLanes];
  double count[kBoxLanes];  ///< nodes
  Draw draw[kBoxLanes];     ///< the highest one
};

/// One lane of LoadBoxes.
struct LoadBox {
  struct Resource {
    double used, inverse_min, inverse_max, free_min, free_max;
    bool operator==(const Resource&) const = default;
  };
  Resource cpu, memory;
  double mean_used, loss_by_cpu, loss_by_memory, loss, tilt_min, tilt_max, count;
  Draw draw;
  bool operator==(const LoadBox&) const = default;
};

}  // namespace berth
