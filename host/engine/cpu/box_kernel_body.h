// SPDX-License-Identifier: Apache-2.0
// No include guard: the end of slot_kernel_body.h, compiled with it once per instruction set.

#include <type_traits>

#include "host/engine/cpu/load_boxes.h"
#include "plugins/node_resources_balanced_allocation/bound.h"
#include "plugins/node_resources_fit/bound.h"

namespace berth {
namespace {

constexpr float kNoBound = 1e9F;    ///< above every total
constexpr double kNoRoom = 0x1p80;  ///< more than any node has or lacks

/// Of LeastAllocated, in each lane: the bound of NodeResourcesFit's score.
/// @param of_one  that of nodes with more than all of a resource in use
[[gnu::always_inline]] inline void least_bounds(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                                float* __restrict scores, float* __restrict of_one) {
  const ClassOnBoxes::Resource& cpu = of_class.cpu;
  const ClassOnBoxes::Resource& memory = of_class.memory;
  BERTH_LANES
  for (int s = 0; s < kBoxLanes; ++s) {
    const float cpu_inverse = boxes.cpu.inverse_min[s];
    const float memory_inverse = boxes.memory.inverse_min[s];
    const float first = LeastAllocatedBound::part(boxes.cpu.used[s], cpu_inverse, cpu.fit_request) * cpu.fit_weight;
    const float second =
        LeastAllocatedBound::part(boxes.memory.used[s], memory_inverse, memory.fit_request) * memory.fit_weight;
    const float share = boxes.mean_used[s] + cpu.mean_request * cpu_inverse + memory.mean_request * memory_inverse;
    const float corner = bound_of_mean(first + second, of_class.weights_inverse);
    of_one[s] = bound_of_mean(first > second ? first : second, of_class.weights_inverse);
    const float mean = LeastAllocatedMeanBound::mean(share, of_one[s]);
    scores[s] = mean < corner ? mean : corner;
  }
}

[[gnu::always_inline]] inline void most_bounds(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                               float* __restrict scores) {
  const ClassOnBoxes::Resource& cpu = of_class.cpu;
  const ClassOnBoxes::Resource& memory = of_class.memory;
  BERTH_LANES
  for (int s = 0; s < kBoxLanes; ++s) {
    const float first = MostAllocatedBound::part(boxes.cpu.used[s], boxes.cpu.inverse_max[s], cpu.fit_request);
    const float second =
        MostAllocatedBound::part(boxes.memory.used[s], boxes.memory.inverse_max[s], memory.fit_request);
    scores[s] = bound_of_mean(first * cpu.fit_weight + second * memory.fit_weight, of_class.weights_inverse);
  }
}

/// The least that the pod adds to a loss on a box.
[[gnu::always_inline]] inline float added_loss(ClassOnBoxes::AddedLoss added, const LoadBoxes& boxes, int lane) {
  const float cpu = added.per_cpu >= 0.0F ? boxes.cpu.inverse_min[lane] : boxes.cpu.inverse_max[lane];
  const float memory = added.per_memory >= 0.0F ? boxes.memory.inverse_min[lane] : boxes.memory.inverse_max[lane];
  return added.per_cpu * cpu + added.per_memory * memory;
}

/// At least both scores together, weighted, where LeastAllocated counts and no share is above 1.
[[gnu::always_inline]] inline float bound_both(const ClassOnBoxes& of_class, const LoadBoxes& boxes, int lane) {
  const float first = added_loss(of_class.by_cpu, boxes, lane);
  const float second = added_loss(of_class.by_memory, boxes, lane);
  const float a = boxes.loss_by_cpu[lane] + first;
  const float b = boxes.loss_by_memory[lane] + second;
  const float c = boxes.loss[lane] + (first < second ? first : second);
  const float ab = a > b ? a : b;
  return bound_of_loss(ab > c ? ab : c, of_class.fit_weight + of_class.balanced_weight);
}

/// The same base for each lane.
struct OneBase {
  std::int32_t base;
  [[gnu::always_inline]] std::int32_t operator[](int) const { return base; }
};

/// The lanes whose keys reach `least`, bit by bit, and all keys. @param total  [lane] bounds of the scores of load
template <class Bases>
[[gnu::always_inline]] inline std::uint32_t lanes_from(NodeKey least, const ClassOnBoxes& of_class,
                                                       const LoadBoxes& boxes, Bases base,
                                                       const float* __restrict total, NodeKey* __restrict keys) {
  std::int32_t totals[kBoxLanes];
  BERTH_LANES
  for (int s = 0; s < kBoxLanes; ++s) {
    const std::int32_t sum = base[s] >= 0 ? static_cast<std::int32_t>(total[s]) + base[s] : -1;
    const std::int32_t if_cpu = all_are_short(of_class.cpu.request, boxes.cpu.room[s]) ? -1 : sum;
    totals[s] = all_are_short(of_class.memory.request, boxes.memory.room[s]) ? -1 : if_cpu;
  }
  std::uint32_t lanes = 0;
  for (int g = 0; g < kBoxLanes; g += kGroup) {
    std::uint32_t of_group = 0;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const Draw draw = boxes.draw[g + s];
      const NodeKey key = make_node_key(totals[g + s], draw);
      const NodeKey known = draw != 0 ? key : 0;
      keys[g + s] = known;
      of_group |= known >= least ? 1u << s : 0u;
    }
    lanes |= of_group << g;
  }
  return lanes;
}

template <bool kPacks, class Bases>
[[gnu::always_inline]] inline std::uint32_t bound_boxes(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                                        Bases base, NodeKey least, NodeKey* __restrict keys) {
  const ClassOnBoxes::Resource& cpu = of_class.cpu;
  const ClassOnBoxes::Resource& memory = of_class.memory;
  float fit[kBoxLanes];
  float of_one[kBoxLanes] = {};
  float total[kBoxLanes];
  // The losses of boxes have both scores.
  const float unless_both = of_class.balanced_weight != 0.0F ? 0.0F : kNoBound;
  if constexpr (kPacks) {
    most_bounds(of_class, boxes, fit);
  } else {
    least_bounds(of_class, boxes, fit, of_one);
  }
  BERTH_LANES
  for (int s = 0; s < kBoxLanes; ++s) {
    const float low = boxes.tilt_min[s] + cpu.balanced_request * boxes.cpu.inverse_min[s] -
                      memory.balanced_request * boxes.memory.inverse_max[s];
    const float high = boxes.tilt_max[s] + cpu.balanced_request * boxes.cpu.inverse_max[s] -
                       memory.balanced_request * boxes.memory.inverse_min[s];
    const float balanced = BalancedAllocationBound::score(low, high) * of_class.balanced_weight;
    const float apart = fit[s] * of_class.fit_weight + balanced;
    if constexpr (kPacks) {
      total[s] = apart;
    } else {
      const float one = of_one[s] * of_class.fit_weight + balanced;
      const float both = bound_both(of_class, boxes, s) + unless_both;
      const float together = both > one ? both : one;
      total[s] = together < apart ? together : apart;
    }
  }
  return lanes_from(least, of_class, boxes, base, total, keys);
}

/// The same of boxes around one node, where both ends of each range are equal.
template <bool kPacks, class Bases>
[[gnu::always_inline]] inline std::uint32_t bound_nodes(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                                        Bases base, NodeKey least, NodeKey* __restrict keys) {
  using Part = std::conditional_t<kPacks, MostAllocatedBound, LeastAllocatedBound>;
  const ClassOnBoxes::Resource& cpu = of_class.cpu;
  const ClassOnBoxes::Resource& memory = of_class.memory;
  float total[kBoxLanes];
  BERTH_LANES
  for (int s = 0; s < kBoxLanes; ++s) {
    const float cpu_inverse = boxes.cpu.inverse_min[s];
    const float memory_inverse = boxes.memory.inverse_min[s];
    const float fit =
        bound_of_mean(Part::part(boxes.cpu.used[s], cpu_inverse, cpu.fit_request) * cpu.fit_weight +
                          Part::part(boxes.memory.used[s], memory_inverse, memory.fit_request) * memory.fit_weight,
                      of_class.weights_inverse);
    const float tilt =
        boxes.tilt_min[s] + cpu.balanced_request * cpu_inverse - memory.balanced_request * memory_inverse;
    total[s] = fit * of_class.fit_weight + BalancedAllocationBound::score(tilt, tilt) * of_class.balanced_weight;
  }
  return lanes_from(least, of_class, boxes, base, total, keys);
}

template <class Bases>
[[gnu::always_inline]] inline std::uint32_t bound_boxes_of(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                                           Bases base, NodeKey least, NodeKey* keys) {
  return of_class.packs ? bound_boxes<true>(of_class, boxes, base, least, keys)
                        : bound_boxes<false>(of_class, boxes, base, least, keys);
}

std::uint32_t bounds(const ClassOnBoxes& of_class, const LoadBoxes& boxes, std::int32_t base, NodeKey least,
                     NodeKey* keys) {
  return bound_boxes_of(of_class, boxes, OneBase{base}, least, keys);
}

std::uint32_t bounds_by_lane(const ClassOnBoxes& of_class, const LoadBoxes& boxes, const std::int32_t* base,
                             NodeKey least, NodeKey* keys) {
  return bound_boxes_of(of_class, boxes, base, least, keys);
}

template <class Bases>
[[gnu::always_inline]] inline std::uint32_t bound_nodes_of(const ClassOnBoxes& of_class, const LoadBoxes& boxes,
                                                           Bases base, NodeKey least, NodeKey* keys) {
  return of_class.packs ? bound_nodes<true>(of_class, boxes, base, least, keys)
                        : bound_nodes<false>(of_class, boxes, base, least, keys);
}

std::uint32_t node_bounds(const ClassOnBoxes& of_class, const LoadBoxes& boxes, std::int32_t base, NodeKey least,
                          NodeKey* keys) {
  return bound_nodes_of(of_class, boxes, OneBase{base}, least, keys);
}

std::uint32_t node_bounds_by_lane(const ClassOnBoxes& of_class, const LoadBoxes& boxes, const std::int32_t* base,
                                  NodeKey least, NodeKey* keys) {
  return bound_nodes_of(of_class, boxes, base, least, keys);
}

std::uint32_t fitting(const ClassOnLoads& of_class, const LoadBoxes& boxes) {
  // A request that is not above 0 is never short.
  const double cpu = of_class.cpu.request > 0 ? of_class.cpu.request : -kNoRoom;
  const double memory = of_class.memory.request > 0 ? of_class.memory.request : -kNoRoom;
  std::uint32_t lanes = 0;
  for (int g = 0; g < kBoxLanes; g += kGroup) {
    std::uint32_t of_group = 0;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const bool holds = boxes.cpu_room.free_max[g + s] >= cpu && boxes.memory_room.free_max[g + s] >= memory;
      of_group |= holds && boxes.draw[g + s] != 0 ? 1u << s : 0u;
    }
    lanes |= of_group << g;
  }
  return lanes;
}

struct Smaller {
  template <class Number>
  BERTH_HD static Number of(Number a, Number b) {
    return a < b ? a : b;
  }
};
struct Larger {
  template <class Number>
  BERTH_HD static Number of(Number a, Number b) {
    return a > b ? a : b;
  }
};
struct Sum {
  template <class Number>
  BERTH_HD static Number of(Number a, Number b) {
    return a + b;
  }
};

/// All lanes in one value.
template <class Choice, class Number>
[[gnu::always_inline]] inline Number fold(const Number* __restrict lanes) {
  constexpr int kHalf = kBoxLanes / 2;
  Number folded[kHalf];
  BERTH_LANES
  for (int s = 0; s < kHalf; ++s) folded[s] = Choice::of(lanes[s], lanes[kHalf + s]);
  for (int half = kHalf / 2; half > 0; half /= 2)
    for (int s = 0; s < half; ++s) folded[s] = Choice::of(folded[s], folded[s + half]);
  return folded[0];
}

[[gnu::always_inline]] inline LoadBox::Resource join_resource(const LoadBoxes::Resource& boxes, bool packs) {
  return {packs ? fold<Larger>(boxes.used) : fold<Smaller>(boxes.used), fold<Smaller>(boxes.inverse_min),
          fold<Larger>(boxes.inverse_max), fold<Larger>(boxes.room)};
}

[[gnu::always_inline]] inline LoadBox::Room join_room(const LoadBoxes::Room& boxes) {
  return {fold<Smaller>(boxes.free_min), fold<Larger>(boxes.free_max)};
}

LoadBox join(const LoadBoxes& boxes, bool packs) {
  return {join_resource(boxes.cpu, packs),  join_resource(boxes.memory, packs),  fold<Smaller>(boxes.mean_used),
          fold<Smaller>(boxes.loss_by_cpu), fold<Smaller>(boxes.loss_by_memory), fold<Smaller>(boxes.loss),
          fold<Smaller>(boxes.tilt_min),    fold<Larger>(boxes.tilt_max),        fold<Larger>(boxes.draw),
          join_room(boxes.cpu_room),        join_room(boxes.memory_room),        fold<Sum>(boxes.count)};
}

}  // namespace
}  // namespace berth
