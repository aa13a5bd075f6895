// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boxes around the loads of nodes, sixteen side by side: what the bounds of an index over nodes are computed from
// (host/engine/cpu/load_index.h). A box around one node is that node.

#include <cstdint>

#include "host/framework/draw_bits.h"

namespace berth {

struct ClassOnLoads;  // host/engine/cpu/slot_kernel.h

inline constexpr int kBoxLanes = 16;
inline constexpr double kShareMax = 2.0;  ///< shares in use above this count as this

/// [lane] each. A lane without nodes, or whose nodes have no room for one more pod, is empty: its draw is 0, and its
/// other values change nothing in a box around it. Bounds read floats, whose rounding is in the margin of bound.h, so
/// that the sixteen lanes fill one register of 512 bits; what fits is counted in doubles, which hold amounts exactly.
struct alignas(64) LoadBoxes {
  struct Resource {
    /// Share in use of what is offered, at most kShareMax: the smallest one, or the largest one for MostAllocated.
    float used[kBoxLanes];
    float inverse_min[kBoxLanes];  ///< of what is offered
    float room[kBoxLanes];         ///< Room::free_max, rounded
    float inverse_max[kBoxLanes];
  };
  /// Offered less requested.
  struct Room {
    double free_min[kBoxLanes];
    double free_max[kBoxLanes];
  };
  // What is read of nodes comes first.
  Resource cpu, memory;
  float tilt_min[kBoxLanes];  ///< requested share of cpu, at most 1, less that of memory
  Draw draw[kBoxLanes];       ///< the highest one
  float tilt_max[kBoxLanes];
  float mean_used[kBoxLanes];  ///< smallest mean of the shares in use, weighted as the profile scores them
  /// What NodeResourcesFit and NodeResourcesBalancedAllocation together take off the highest total, as shares of 100
  /// and without roundings: the smallest of what it were on each node if it had more of its cpu in use than of its
  /// memory; if less; and of the larger one, which it is.
  float loss_by_cpu[kBoxLanes];
  float loss_by_memory[kBoxLanes];
  float loss[kBoxLanes];
  Room cpu_room, memory_room;
  std::int32_t count[kBoxLanes];  ///< nodes
};

/// One lane of LoadBoxes.
struct LoadBox {
  struct Resource {
    float used, inverse_min, inverse_max, room;
    bool operator==(const Resource&) const = default;
  };
  struct Room {
    double free_min, free_max;
    bool operator==(const Room&) const = default;
  };
  Resource cpu, memory;
  float mean_used, loss_by_cpu, loss_by_memory, loss, tilt_min, tilt_max;
  Draw draw;
  Room cpu_room, memory_room;
  std::int32_t count;
  bool operator==(const LoadBox&) const = default;
};

/// A class as bounds read it: ClassOnLoads in the precision of the boxes, and what follows from it.
struct ClassOnBoxes {
  struct Resource {
    float request;  ///< of all_are_short() (plugins/node_resources_fit/bound.h)
    float fit_request;
    float fit_weight;
    float mean_request;  ///< fit_request by its part of the weights
    float balanced_request;
  };
  /// What the pod adds to a loss of LoadBoxes, per reciprocal of what a node offers.
  struct AddedLoss {
    float per_cpu, per_memory;
  };
  Resource cpu, memory;
  AddedLoss by_cpu, by_memory;
  float weights_inverse;  ///< reciprocal of the sum of the resources' weights
  float fit_weight;       ///< of the plugins
  float balanced_weight;
  bool packs;  ///< MostAllocated; else LeastAllocated
};
ClassOnBoxes on_boxes(const ClassOnLoads& of_class);

/// Changes nothing in a box around it. @param packs  whether LoadBox::Resource::used is the largest one
LoadBox empty_box(bool packs);
void write_box(LoadBoxes& boxes, std::int32_t lane, const LoadBox& box);
LoadBox read_box(const LoadBoxes& boxes, std::int32_t lane);
/// What SlotKernels::node_bounds() reads of a lane.
void copy_node(const LoadBoxes& from, std::int32_t from_lane, LoadBoxes& to, std::int32_t to_lane);

}  // namespace berth
