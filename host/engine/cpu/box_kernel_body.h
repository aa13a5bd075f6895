// SPDX-License-Identifier: Apache-2.0
// No include guard: the end of slot_kernel_body.h, compiled with it once per instruction set.

#include <type_traits>

#include "host/engine/cpu/load_boxes.h"
#include "plugins/node_resources_balanced_allocation/bound.h"
#include "plugins/node_resources_fit/bound.h"

namespace berth {
namespace {

constexpr double kNoBound = 1e9;

/// The bound of NodeResourcesFit's score in each lane. @param of_one  that of nodes with more than all of a resource in
/// use
[[gnu::always_inline]] inline void least_bounds(const ClassOnLoads& of_class, const LoadBoxes& boxes, int group,
                                                double* __restrict scores, double* __restrict of_one) {
  const ClassOnLoads::Resource& cpu = of_class.cpu;
  const ClassOnLoads::Resource& memory = of_class.memory;
  const LaneDivisor weights(cpu.fit_weight + memory.fit_weight);
  const double cpu_request = cpu.fit_request * (cpu.fit_weight * weights.reciprocal);
  const double memory_request = memory.fit_request * (memory.fit_weight * weights.reciprocal);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double cpu_inverse = boxes.cpu.inverse_min[group + s];
    const double memory_inverse = boxes.memory.inverse_min[group + s];
    const double first =
        LeastAllocatedBound::part(boxes.cpu.used[group + s], cpu_inverse, cpu.fit_request) * cpu.fit_weight;
    const double second =
        LeastAllocatedBound::part(boxes.memory.used[group + s], memory_inverse, memory.fit_request) * memory.fit_weight;
    const double share = boxes.mean_used[group + s] + cpu_request * cpu_inverse + memory_request * memory_inverse;
    const double corner = divide_truncated(first + second, weights);
    of_one[s] = divide_truncated(first > second ? first : second, weights);
    const double mean = LeastAllocatedMeanBound::mean(share, of_one[s]);
    scores[s] = mean < corner ? mean : corner;
  }
}

[[gnu::always_inline]] inline void most_bounds(const ClassOnLoads& of_class, const LoadBoxes& boxes, int group,
                                               double* __restrict scores) {
  const ClassOnLoads::Resource& cpu = of_class.cpu;
  const ClassOnLoads::Resource& memory = of_class.memory;
  const LaneDivisor weights(cpu.fit_weight + memory.fit_weight);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double first =
        MostAllocatedBound::part(boxes.cpu.used[group + s], boxes.cpu.inverse_max[group + s], cpu.fit_request);
    const double second =
        MostAllocatedBound::part(boxes.memory.used[group + s], boxes.memory.inverse_max[group + s], memory.fit_request);
    scores[s] = divide_truncated(first * cpu.fit_weight + second * memory.fit_weight, weights);
  }
}

/// What the pod adds to LoadBoxes::loss_by_cpu, or to loss_by_memory, per reciprocal of what a node offers.
struct AddedLoss {
  double per_cpu;
  double per_memory;
  /// The least on a box.
  [[gnu::always_inline]] double on(const LoadBoxes& boxes, int lane) const {
    const double cpu = per_cpu >= 0.0 ? boxes.cpu.inverse_min[lane] : boxes.cpu.inverse_max[lane];
    const double memory = per_memory >= 0.0 ? boxes.memory.inverse_min[lane] : boxes.memory.inverse_max[lane];
    return per_cpu * cpu + per_memory * memory;
  }
};

/// At least both scores together, weighted, where LeastAllocated counts and no share is above 1.
[[gnu::always_inline]] inline void bound_both(const ClassOnLoads& of_class, const LoadBoxes& boxes, int group,
                                              double* __restrict totals) {
  const double weights = of_class.cpu.fit_weight + of_class.memory.fit_weight;
  const double fit_cpu = of_class.fit_weight * of_class.cpu.fit_weight / weights * of_class.cpu.fit_request;
  const double fit_memory = of_class.fit_weight * of_class.memory.fit_weight / weights * of_class.memory.fit_request;
  const double tilt_cpu = of_class.balanced_weight * of_class.cpu.balanced_request / 2.0;
  const double tilt_memory = of_class.balanced_weight * of_class.memory.balanced_request / 2.0;
  const AddedLoss by_cpu{fit_cpu + tilt_cpu, fit_memory - tilt_memory};
  const AddedLoss by_memory{fit_cpu - tilt_cpu, fit_memory + tilt_memory};
  const double most = of_class.fit_weight + of_class.balanced_weight;
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double first = by_cpu.on(boxes, group + s);
    const double second = by_memory.on(boxes, group + s);
    const double a = boxes.loss_by_cpu[group + s] + first;
    const double b = boxes.loss_by_memory[group + s] + second;
    const double c = boxes.loss[group + s] + (first < second ? first : second);
    const double ab = a > b ? a : b;
    totals[s] = bound_of_loss(ab > c ? ab : c, most);
  }
}

/// Bits of the lanes whose keys reach `least`.
[[gnu::always_inline]] inline std::uint32_t lanes_from(NodeKey least, const NodeKey* __restrict keys) {
  std::uint32_t lanes = 0;
  for (int g = 0; g < kBoxLanes; g += kGroup) {
    std::uint32_t of_group = 0;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) of_group |= keys[g + s] >= least ? 1u << s : 0u;
    lanes |= of_group << g;
  }
  return lanes;
}

/// Bounds of boxes, from bounds of their scores.
[[gnu::always_inline]] inline void store_bounds(const ClassOnLoads& of_class, const LoadBoxes& boxes, int group,
                                                const std::int32_t* __restrict base, const double* __restrict total,
                                                NodeKey* __restrict keys) {
  double refused[kGroup];
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double no_cpu =
        NodeResourcesFit::is_short(of_class.cpu.request, boxes.cpu.free_max[group + s], 0.0) ? 1.0 : 0.0;
    refused[s] =
        NodeResourcesFit::is_short(of_class.memory.request, boxes.memory.free_max[group + s], 0.0) ? 1.0 : no_cpu;
  }
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const NodeKey key = make_node_key(static_cast<std::int32_t>(total[s]) + base[group + s], boxes.draw[group + s]);
    const NodeKey known = boxes.draw[group + s] != 0 ? key : 0;
    keys[group + s] = base[group + s] >= 0 && refused[s] == 0.0 ? known : 0;
  }
}

template <bool kPacks>
std::uint32_t bound_boxes(const ClassOnLoads& of_class, const LoadBoxes& boxes, const std::int32_t* __restrict base,
                          NodeKey least, NodeKey* __restrict keys) {
  const ClassOnLoads::Resource& cpu = of_class.cpu;
  const ClassOnLoads::Resource& memory = of_class.memory;
  for (int g = 0; g < kBoxLanes; g += kGroup) {
    double fit[kGroup];
    double of_one[kGroup] = {};
    double both[kGroup];  // above every total: no bound
    for (double& total_of_both : both) total_of_both = kNoBound;
    double total[kGroup];
    if constexpr (kPacks) {
      most_bounds(of_class, boxes, g, fit);
    } else {
      least_bounds(of_class, boxes, g, fit, of_one);
      if (of_class.balanced_weight != 0) bound_both(of_class, boxes, g, both);
    }
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double low = boxes.tilt_min[g + s] + cpu.balanced_request * boxes.cpu.inverse_min[g + s] -
                         memory.balanced_request * boxes.memory.inverse_max[g + s];
      const double high = boxes.tilt_max[g + s] + cpu.balanced_request * boxes.cpu.inverse_max[g + s] -
                          memory.balanced_request * boxes.memory.inverse_min[g + s];
      const double balanced = BalancedAllocationBound::score(low, high) * of_class.balanced_weight;
      const double apart = fit[s] * of_class.fit_weight + balanced;
      const double one = of_one[s] * of_class.fit_weight + balanced;
      const double together = both[s] > one ? both[s] : one;
      total[s] = together < apart ? together : apart;
    }
    store_bounds(of_class, boxes, g, base, total, keys);
  }
  return lanes_from(least, keys);
}

/// The same of boxes around one node, where both ends of each range are equal.
template <bool kPacks>
std::uint32_t bound_nodes(const ClassOnLoads& of_class, const LoadBoxes& boxes, const std::int32_t* __restrict base,
                          NodeKey least, NodeKey* __restrict keys) {
  using Part = std::conditional_t<kPacks, MostAllocatedBound, LeastAllocatedBound>;
  const ClassOnLoads::Resource& cpu = of_class.cpu;
  const ClassOnLoads::Resource& memory = of_class.memory;
  const LaneDivisor weights(cpu.fit_weight + memory.fit_weight);
  for (int g = 0; g < kBoxLanes; g += kGroup) {
    double total[kGroup];
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double cpu_inverse = boxes.cpu.inverse_min[g + s];
      const double memory_inverse = boxes.memory.inverse_min[g + s];
      const double fit = divide_truncated(
          Part::part(boxes.cpu.used[g + s], cpu_inverse, cpu.fit_request) * cpu.fit_weight +
              Part::part(boxes.memory.used[g + s], memory_inverse, memory.fit_request) * memory.fit_weight,
          weights);
      const double tilt =
          boxes.tilt_min[g + s] + cpu.balanced_request * cpu_inverse - memory.balanced_request * memory_inverse;
      total[s] = fit * of_class.fit_weight + BalancedAllocationBound::score(tilt, tilt) * of_class.balanced_weight;
    }
    store_bounds(of_class, boxes, g, base, total, keys);
  }
  return lanes_from(least, keys);
}

std::uint32_t bounds(const ClassOnLoads& of_class, const LoadBoxes& boxes, const std::int32_t* base, NodeKey least,
                     NodeKey* keys) {
  return of_class.strategy == ScoringStrategyType::kMostAllocated
             ? bound_boxes<true>(of_class, boxes, base, least, keys)
             : bound_boxes<false>(of_class, boxes, base, least, keys);
}

std::uint32_t node_bounds(const ClassOnLoads& of_class, const LoadBoxes& boxes, const std::int32_t* base, NodeKey least,
                          NodeKey* keys) {
  return of_class.strategy == ScoringStrategyType::kMostAllocated
             ? bound_nodes<true>(of_class, boxes, base, least, keys)
             : bound_nodes<false>(of_class, boxes, base, least, keys);
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
  Number folded[kGroup];
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) folded[s] = Choice::of(lanes[s], lanes[kGroup + s]);
  for (int half = kGroup / 2; half > 0; half /= 2)
    for (int s = 0; s < half; ++s) folded[s] = Choice::of(folded[s], folded[s + half]);
  return folded[0];
}

[[gnu::always_inline]] inline LoadBox::Resource join_resource(const LoadBoxes::Resource& boxes, bool packs) {
  return {packs ? fold<Larger>(boxes.used) : fold<Smaller>(boxes.used), fold<Smaller>(boxes.inverse_min),
          fold<Larger>(boxes.inverse_max), fold<Smaller>(boxes.free_min), fold<Larger>(boxes.free_max)};
}

LoadBox join(const LoadBoxes& boxes, bool packs) {
  return {join_resource(boxes.cpu, packs),  join_resource(boxes.memory, packs),  fold<Smaller>(boxes.mean_used),
          fold<Smaller>(boxes.loss_by_cpu), fold<Smaller>(boxes.loss_by_memory), fold<Smaller>(boxes.loss),
          fold<Smaller>(boxes.tilt_min),    fold<Larger>(boxes.tilt_max),        fold<Sum>(boxes.count),
          fold<Larger>(boxes.draw)};
}

}  // namespace
}  // namespace berth
