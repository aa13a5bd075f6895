// SPDX-License-Identifier: Apache-2.0
// No include guard: compiled once per instruction set, by slot_kernel_baseline.cpp and its siblings. Do not include
// headers with inline functions here: the linker might keep the copy with instructions that the processor lacks.

#include "host/engine/cpu/slot_kernel.h"
#include "host/framework/draw_bits.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Lanes of one register: loops of constant length, which the compiler turns into vector code and keeps in registers
/// from the filter to the key.
constexpr int kGroup = kSlotStep;

// Without this, the compilers unroll loops of eight before they vectorise them.
#if defined(__clang__)
#define BERTH_LANES _Pragma("clang loop vectorize(enable) unroll(disable)")
#else
#define BERTH_LANES _Pragma("GCC unroll 1")
#endif

/// Pod amounts of the lanes, one list per resource.
struct LaneAmounts {
  const double* first;  ///< of resource 0, at the group's first lane
  int stride;           ///< from one resource to the next
  const double* of(int resource) const { return first + resource * stride; }
};

template <class Strategy>
[[gnu::always_inline]] inline void add_parts(const double* __restrict pod, double used, LaneDivisor allocatable,
                                             const double* __restrict weight, double* __restrict sum) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) sum[s] += Strategy::part(used + pod[s], allocatable) * weight[s];
}

[[gnu::always_inline]] inline void add_ratio_parts(const double* __restrict pod, double used, LaneDivisor allocatable,
                                                   const double* __restrict weight,
                                                   const double* __restrict score_of_utilization,
                                                   double* __restrict sum, double* __restrict weights) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double percent = RequestedToCapacityRatio::utilization(used + pod[s], allocatable);
    const double part = score_of_utilization[static_cast<int>(percent)];
    const double counted = part > 0 ? weight[s] : 0.0;
    sum[s] += part * counted;
    weights[s] += counted;
  }
}

/// LeastAllocated and MostAllocated: the weighted mean, truncated.
template <class Strategy>
[[gnu::always_inline]] inline void mean_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                               LaneAmounts weight, double* __restrict scores) {
  double sum[kGroup] = {};
  double weights[kGroup] = {};
  for (int r = 0; r < params.fit_count; ++r) {
    if (node.fit_allocatable[r].value == 0) continue;
    add_parts<Strategy>(pod.of(r), node.fit_requested[r], node.fit_allocatable[r], weight.of(r), sum);
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) weights[s] += weight.of(r)[s];
  }
  if (params.fit_counts_always) {
    const LaneDivisor same(weights[0] > 0 ? weights[0] : 1.0);
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) scores[s] = divide_truncated(sum[s], same);
  } else {
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) scores[s] = divide_truncated(sum[s], weights[s] > 0 ? weights[s] : 1.0);
  }
}

[[gnu::always_inline]] inline void ratio_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                                LaneAmounts weight, double* __restrict scores) {
  double sum[kGroup] = {};
  double weights[kGroup] = {};
  for (int r = 0; r < params.fit_count; ++r) {
    if (node.fit_allocatable[r].value == 0) continue;
    add_ratio_parts(pod.of(r), node.fit_requested[r], node.fit_allocatable[r], weight.of(r),
                    params.score_of_utilization, sum, weights);
  }
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s)
    scores[s] = RequestedToCapacityRatio::rounded_mean(sum[s], weights[s] > 0 ? weights[s] : 1.0);
}

[[gnu::always_inline]] inline void fit_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                              LaneAmounts weight, double* __restrict scores) {
  if (params.strategy == ScoringStrategyType::kLeastAllocated) {
    mean_scores<LeastAllocated>(params, node, pod, weight, scores);
  } else if (params.strategy == ScoringStrategyType::kMostAllocated) {
    mean_scores<MostAllocated>(params, node, pod, weight, scores);
  } else {
    ratio_scores(params, node, pod, weight, scores);
  }
}

/// cpu and memory, both counted in every lane: the usual case.
[[gnu::always_inline]] inline void balanced_of_two(const NodeLanes& node, LaneAmounts pod, double* __restrict scores) {
  const double* __restrict first = pod.of(0);
  const double* __restrict second = pod.of(1);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double a =
        NodeResourcesBalancedAllocation::fraction(node.balanced_requested[0] + first[s], node.balanced_allocatable[0]);
    const double b =
        NodeResourcesBalancedAllocation::fraction(node.balanced_requested[1] + second[s], node.balanced_allocatable[1]);
    scores[s] =
        NodeResourcesBalancedAllocation::score_of_deviation(NodeResourcesBalancedAllocation::deviation_of_two(a, b));
  }
}

/// Any list, and lanes that leave out resources: lane by lane.
void balanced_of_many(const SlotParams& params, const NodeLanes& node, LaneAmounts pod, LaneAmounts counts,
                      double* scores) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    double fractions[kMaxKernelResources];
    bool counted[kMaxKernelResources];
    for (int r = 0; r < params.balanced_count; ++r) {
      counted[r] = counts.of(r)[s] != 0 && node.balanced_allocatable[r] != 0;
      if (counted[r])
        fractions[r] = NodeResourcesBalancedAllocation::fraction(node.balanced_requested[r] + pod.of(r)[s],
                                                                 node.balanced_allocatable[r]);
    }
    scores[s] = NodeResourcesBalancedAllocation::score(fractions, counted, params.balanced_count);
  }
}

/// @param without  amounts of the copies added before the pod, for the v1.36 formula
[[gnu::always_inline]] inline void balanced_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                                   LaneAmounts counts, LaneAmounts without, double* __restrict scores) {
  const bool of_two = params.balanced_count == 2 && params.balanced_counts_always && !params.balance_of_change &&
                      node.balanced_allocatable[0] != 0 && node.balanced_allocatable[1] != 0;
  if (of_two) return balanced_of_two(node, pod, scores);
  balanced_of_many(params, node, pod, counts, scores);
  if (!params.balance_of_change) return;
  double before[kGroup];
  balanced_of_many(params, node, without, counts, before);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) scores[s] = NodeResourcesBalancedAllocation::score_of_change(scores[s], before[s]);
}

constexpr double kNothing[kGroup] = {};

[[gnu::always_inline]] inline void fill_draws(const SlotParams& params, const NodeLanes& node, int group,
                                              Draw* __restrict draws) {
  const std::uint32_t* __restrict seeds = params.draw_seed + group;
  if (params.draws_by_class) {
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) draws[s] = draw_by_class(node.draw, seeds[s]);
  } else {
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) draws[s] = node.draw.bits;
  }
}

/// From scores to keys, and the change of each slot's count of feasible nodes. @return bits that are set when some
/// changed
[[gnu::always_inline]] inline std::int64_t store_keys(int group, const std::int32_t* __restrict base,
                                                      const double* __restrict load, const double* __restrict refused,
                                                      const Draw* __restrict draws, NodeKey* __restrict keys,
                                                      std::int64_t* __restrict feasible_count) {
  NodeKey fresh[kGroup];
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double node_side = base[group + s];
    const NodeKey key = make_node_key(static_cast<std::int32_t>(node_side + load[s]), draws[s]);
    fresh[s] = node_side >= 0 && refused[s] == 0.0 ? key : 0;
  }
  std::int64_t changed = 0;
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const std::int64_t now = fresh[s] > 0 ? std::int64_t{1} : std::int64_t{0};
    const std::int64_t before = keys[group + s] > 0 ? std::int64_t{1} : std::int64_t{0};
    feasible_count[group + s] += now - before;
    changed |= now - before;
    keys[group + s] = fresh[s];
  }
  return changed;
}

[[gnu::always_inline]] inline void fill_refused(const SlotParams& params, const NodeLanes& node, int group,
                                                double* __restrict refused) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) refused[s] = node.room ? 0.0 : 1.0;
  for (int r = 0; r < params.filter_count; ++r) {
    const double* __restrict request = params.request + r * params.slot_count + group;
    const double free = node.free[r];
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) refused[s] = NodeResourcesFit::is_short(request[s], free, 0.0) ? 1.0 : refused[s];
  }
}

/// cpu and memory scored by both plugins, in every lane, on a node that has both: what nearly every refresh is. The
/// same rule texts as in the general case; what is equal for all lanes is read once.
template <class Strategy>
bool refresh_usual(const SlotParams& params, const NodeLanes& node, const std::int32_t* __restrict base,
                   NodeKey* __restrict keys, std::int64_t* __restrict feasible_count) {
  const int slots = params.slot_count;
  const LaneDivisor cpu = node.fit_allocatable[0];
  const LaneDivisor memory = node.fit_allocatable[1];
  const double cpu_used = node.fit_requested[0];
  const double memory_used = node.fit_requested[1];
  const double cpu_weight = params.fit_part_weight[0];
  const double memory_weight = params.fit_part_weight[slots];
  const LaneDivisor weights(cpu_weight + memory_weight);
  const double fit_weight = params.fit_weight;
  std::int64_t changed = 0;
  for (int g = 0; g < slots; g += kGroup) {
    double refused[kGroup];
    double balanced[kGroup];
    double load[kGroup];
    Draw draws[kGroup];
    fill_refused(params, node, g, refused);
    balanced_of_two(node, {params.balanced_request + g, slots}, balanced);
    fill_draws(params, node, g, draws);
    const double* __restrict cpu_asked = params.fit_request + g;
    const double* __restrict memory_asked = params.fit_request + slots + g;
    const double* __restrict balanced_weight = params.balanced_weight + g;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double sum = Strategy::part(cpu_used + cpu_asked[s], cpu) * cpu_weight +
                         Strategy::part(memory_used + memory_asked[s], memory) * memory_weight;
      load[s] = divide_truncated(sum, weights) * fit_weight + balanced[s] * balanced_weight[s];
    }
    changed |= store_keys(g, base, load, refused, draws, keys, feasible_count);
  }
  return changed != 0;
}

bool refresh_general(const SlotParams& params, const NodeLanes& node, const std::int32_t* base, NodeKey* keys,
                     std::int64_t* feasible_count) {
  const int slots = params.slot_count;
  std::int64_t changed = 0;
  for (int g = 0; g < slots; g += kGroup) {
    double refused[kGroup];
    double fit[kGroup];
    double balanced[kGroup];
    Draw draws[kGroup];
    fill_refused(params, node, g, refused);
    fit_scores(params, node, {params.fit_request + g, slots}, {params.fit_part_weight + g, slots}, fit);
    balanced_scores(params, node, {params.balanced_request + g, slots}, {params.balanced_counts + g, slots},
                    {kNothing, 0}, balanced);
    fill_draws(params, node, g, draws);
    for (int s = 0; s < kGroup; ++s) fit[s] = fit[s] * params.fit_weight + balanced[s] * params.balanced_weight[g + s];
    changed |= store_keys(g, base, fit, refused, draws, keys, feasible_count);
  }
  return changed != 0;
}

bool refresh(const SlotParams& params, const NodeLanes& node, const std::int32_t* base, NodeKey* keys,
             std::int64_t* feasible_count) {
  const bool both_offered = node.fit_allocatable[0].value != 0 && node.fit_allocatable[1].value != 0 &&
                            node.balanced_allocatable[0] != 0 && node.balanced_allocatable[1] != 0;
  const bool usual = params.fit_count == 2 && params.balanced_count == 2 && params.fit_counts_always &&
                     params.balanced_counts_always && !params.balance_of_change && both_offered;
  if (usual && params.strategy == ScoringStrategyType::kLeastAllocated)
    return refresh_usual<LeastAllocated>(params, node, base, keys, feasible_count);
  if (usual && params.strategy == ScoringStrategyType::kMostAllocated)
    return refresh_usual<MostAllocated>(params, node, base, keys, feasible_count);
  return refresh_general(params, node, base, keys, feasible_count);
}

std::uint32_t combine(const NodeKey* __restrict children, NodeKey* __restrict parent, int slots, std::uint32_t groups) {
  std::uint32_t moved = 0;
  for (int g = 0; g < slots; g += kGroup) {
    const std::uint32_t bit = 1u << (g / kGroup);
    if ((groups & bit) == 0) continue;
    const NodeKey* __restrict first = children + g;
    NodeKey changed = 0;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const NodeKey a = first[s] > first[slots + s] ? first[s] : first[slots + s];
      const NodeKey b = first[2 * slots + s] > first[3 * slots + s] ? first[2 * slots + s] : first[3 * slots + s];
      const NodeKey best = a > b ? a : b;
      changed |= best ^ parent[g + s];
      parent[g + s] = best;
    }
    moved |= changed != 0 ? bit : 0u;
  }
  return moved;
}

/// Amounts of copies first, first + 1, ... for one group: pod + copies already added.
void fill_steps(const double* pod, const double* step, int count, int first, double* with, double* before) {
  for (int r = 0; r < count; ++r) BERTH_LANES
  for (int k = 0; k < kGroup; ++k) {
    before[r * kGroup + k] = (first + k) * step[r];
    with[r * kGroup + k] = before[r * kGroup + k] + pod[r];
  }
}

void copies(const SlotParams& params, int slot, const NodeLanes& node, const CopySteps& steps, int first, int count,
            double* totals, std::uint8_t* fits) {
  double with[kMaxKernelResources * kGroup];
  double before[kMaxKernelResources * kGroup];
  double fit_weight[kMaxKernelResources * kGroup];
  double counts[kMaxKernelResources * kGroup];
  const int slots = params.slot_count;
  for (int r = 0; r < params.fit_count; ++r) BERTH_LANES
  for (int k = 0; k < kGroup; ++k) fit_weight[r * kGroup + k] = params.fit_part_weight[r * slots + slot];
  for (int r = 0; r < params.balanced_count; ++r) BERTH_LANES
  for (int k = 0; k < kGroup; ++k) counts[r * kGroup + k] = params.balanced_counts[r * slots + slot];

  for (int g = 0; g < count; g += kGroup) {
    double fit[kGroup];
    double balanced[kGroup];
    double refused[kGroup] = {};
    for (int r = 0; r < params.filter_count; ++r) BERTH_LANES
    for (int k = 0; k < kGroup; ++k)
      refused[k] = NodeResourcesFit::is_short(steps.request[r], node.free[r], (first + g + k) * steps.filter_step[r])
                       ? 1.0
                       : refused[k];
    fill_steps(steps.fit_request, steps.fit_step, params.fit_count, first + g, with, before);
    fit_scores(params, node, {with, kGroup}, {fit_weight, kGroup}, fit);
    fill_steps(steps.balanced_request, steps.balanced_step, params.balanced_count, first + g, with, before);
    balanced_scores(params, node, {with, kGroup}, {counts, kGroup}, {before, kGroup}, balanced);
    BERTH_LANES
    for (int k = 0; k < kGroup; ++k) {
      totals[g + k] = fit[k] * params.fit_weight + balanced[k] * params.balanced_weight[slot];
      fits[g + k] = refused[k] == 0.0 ? 1 : 0;
    }
  }
}

/// BERTH_LANES of one resource: NodeResourcesFit's part of the score, weighted.
template <class Strategy>
[[gnu::always_inline]] inline void add_parts_on_nodes(const ClassOnLoads::Resource& of_class,
                                                      const NodeLoads::Resource& loads, int group,
                                                      double* __restrict sum) {
  const double* __restrict offered = loads.offered + group;
  const double* __restrict reciprocal = loads.reciprocal + group;
  const double* __restrict in_use = loads.in_use + group;
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    LaneDivisor divisor;
    divisor.value = offered[s];
    divisor.reciprocal = reciprocal[s];
    sum[s] += Strategy::part(in_use[s] + of_class.fit_request, divisor) * of_class.fit_weight;
  }
}

[[gnu::always_inline]] inline void refuse_short(const ClassOnLoads::Resource& of_class,
                                                const NodeLoads::Resource& loads, int group,
                                                double* __restrict refused) {
  const double* __restrict offered = loads.offered + group;
  const double* __restrict requested = loads.requested + group;
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s)
    refused[s] = NodeResourcesFit::is_short(of_class.request, offered[s], requested[s]) ? 1.0 : refused[s];
}

template <class Strategy>
LoadKeys keys_on_nodes(const ClassOnLoads& of_class, const NodeLoads& loads, const std::int32_t* __restrict base,
                       int count, NodeKey* __restrict keys) {
  const LaneDivisor weights(of_class.cpu.fit_weight + of_class.memory.fit_weight);
  std::int64_t feasible[kGroup] = {};
  NodeKey best[kGroup] = {};
  for (int g = 0; g < count; g += kGroup) {
    double refused[kGroup];
    double sum[kGroup] = {};
    const double* __restrict before = loads.refused + g;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) refused[s] = before[s];
    refuse_short(of_class.cpu, loads.cpu, g, refused);
    refuse_short(of_class.memory, loads.memory, g, refused);
    add_parts_on_nodes<Strategy>(of_class.cpu, loads.cpu, g, sum);
    add_parts_on_nodes<Strategy>(of_class.memory, loads.memory, g, sum);
    const double* __restrict cpu_offered = loads.cpu.offered + g;
    const double* __restrict cpu_requested = loads.cpu.requested + g;
    const double* __restrict memory_offered = loads.memory.offered + g;
    const double* __restrict memory_requested = loads.memory.requested + g;
    const Draw* __restrict draws = loads.draw + g;
    double load[kGroup];
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double a =
          NodeResourcesBalancedAllocation::fraction(cpu_requested[s] + of_class.cpu.balanced_request, cpu_offered[s]);
      const double b = NodeResourcesBalancedAllocation::fraction(memory_requested[s] + of_class.memory.balanced_request,
                                                                 memory_offered[s]);
      const double balanced =
          NodeResourcesBalancedAllocation::score_of_deviation(NodeResourcesBalancedAllocation::deviation_of_two(a, b));
      load[s] = divide_truncated(sum[s], weights) * of_class.fit_weight + balanced * of_class.balanced_weight;
    }
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double node_side = base[g + s];
      const NodeKey key = make_node_key(static_cast<std::int32_t>(node_side + load[s]) + of_class.base_shift, draws[s]);
      const NodeKey fresh = node_side >= 0 && refused[s] == 0.0 ? key : 0;
      keys[g + s] = fresh;
      feasible[s] += fresh > 0 ? std::int64_t{1} : std::int64_t{0};
      best[s] = fresh > best[s] ? fresh : best[s];
    }
  }
  LoadKeys all;
  for (int s = 0; s < kGroup; ++s) {
    all.feasible += feasible[s];
    all.best = best[s] > all.best ? best[s] : all.best;
  }
  return all;
}

LoadKeys nodes(const ClassOnLoads& of_class, const NodeLoads& loads, const std::int32_t* base, int count,
               NodeKey* keys) {
  return of_class.strategy == ScoringStrategyType::kMostAllocated
             ? keys_on_nodes<MostAllocated>(of_class, loads, base, count, keys)
             : keys_on_nodes<LeastAllocated>(of_class, loads, base, count, keys);
}

}  // namespace

}  // namespace berth

#include "host/engine/cpu/box_kernel_body.h"  // needs what is above
