// SPDX-License-Identifier: Apache-2.0
// No include guard: compiled once per instruction set, by the file that names BERTH_KERNELS. It must include nothing that
// defines inline functions of its own, or the linker might pick the copy with instructions that the processor lacks.

#include "host/engine/cpu/slot_kernel.h"
#include "host/framework/draw_bits.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Everything works on one register's worth of lanes at a time: loops of constant length, which the compiler turns into
/// straight vector code and keeps in registers from the filter to the key.
constexpr int kGroup = kSlotStep;

// Left alone, the compilers unroll loops of eight before they look for vectors in them.
#if defined(__clang__)
#define BERTH_LANES _Pragma("clang loop vectorize(enable) unroll(disable)")
#else
#define BERTH_LANES _Pragma("GCC unroll 1")
#endif

/// Pod amounts of the lanes, one list a resource.
struct LaneAmounts {
  const double* first;  ///< of resource 0, at the group's first lane
  int stride;           ///< from one resource to the next
  const double* of(int resource) const { return first + resource * stride; }
};

template <class Strategy>
[[gnu::always_inline]] inline void add_parts(const double* __restrict pod, double used, double allocatable,
                                             const double* __restrict weight, double* __restrict sum) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) sum[s] += Strategy::template part<double>(used + pod[s], allocatable) * weight[s];
}

[[gnu::always_inline]] inline void add_ratio_parts(const double* __restrict pod, double used, double allocatable,
                                                   const double* __restrict weight,
                                                   const double* __restrict score_of_utilization,
                                                   double* __restrict sum, double* __restrict weights) {
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double percent = RequestedToCapacityRatio::utilization<double>(used + pod[s], allocatable);
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
    if (node.fit_allocatable[r] == 0) continue;
    add_parts<Strategy>(pod.of(r), node.fit_requested[r], node.fit_allocatable[r], weight.of(r), sum);
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) weights[s] += weight.of(r)[s];
  }
  if (params.fit_counts_always) {
    const double same = weights[0] > 0 ? weights[0] : 1.0;
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
    if (node.fit_allocatable[r] == 0) continue;
    add_ratio_parts(pod.of(r), node.fit_requested[r], node.fit_allocatable[r], weight.of(r),
                    params.score_of_utilization, sum, weights);
  }
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s)
    scores[s] = RequestedToCapacityRatio::rounded_mean(sum[s], weights[s] > 0 ? weights[s] : 1.0);
}

[[gnu::always_inline]] inline void fit_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                              LaneAmounts weight, double* __restrict scores) {
  if (params.strategy == KernelStrategy::kLeastAllocated) {
    mean_scores<LeastAllocated>(params, node, pod, weight, scores);
  } else if (params.strategy == KernelStrategy::kMostAllocated) {
    mean_scores<MostAllocated>(params, node, pod, weight, scores);
  } else {
    ratio_scores(params, node, pod, weight, scores);
  }
}

/// cpu and memory, both counting in every lane: the case of nearly every cluster.
[[gnu::always_inline]] inline void balanced_of_two(const NodeLanes& node, LaneAmounts pod, double* __restrict scores) {
  const double* __restrict first = pod.of(0);
  const double* __restrict second = pod.of(1);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s) {
    const double a = NodeResourcesBalancedAllocation::fraction(node.balanced_requested[0] + first[s],
                                                               node.balanced_allocatable[0]);
    const double b = NodeResourcesBalancedAllocation::fraction(node.balanced_requested[1] + second[s],
                                                               node.balanced_allocatable[1]);
    scores[s] = NodeResourcesBalancedAllocation::score_of_deviation(
        NodeResourcesBalancedAllocation::deviation_of_two(a, b));
  }
}

/// Any list, any lane leaving any resource out: lane by lane.
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

/// @param without  what the node holds of this class before the pod: for the v1.36 formula
[[gnu::always_inline]] inline void balanced_scores(const SlotParams& params, const NodeLanes& node, LaneAmounts pod,
                                                   LaneAmounts counts, LaneAmounts without,
                                                   double* __restrict scores) {
  const bool of_two = params.balanced_count == 2 && params.balanced_counts_always && !params.balance_of_change &&
                      node.balanced_allocatable[0] != 0 && node.balanced_allocatable[1] != 0;
  if (of_two) return balanced_of_two(node, pod, scores);
  balanced_of_many(params, node, pod, counts, scores);
  if (!params.balance_of_change) return;
  double before[kGroup];
  balanced_of_many(params, node, without, counts, before);
  BERTH_LANES
  for (int s = 0; s < kGroup; ++s)
    scores[s] = NodeResourcesBalancedAllocation::score_of_change(scores[s], before[s]);
}

constexpr double kNothing[kGroup] = {};

bool refresh(const SlotParams& params, const NodeLanes& node, const std::int32_t* __restrict base,
             NodeKey* __restrict keys, std::int64_t* __restrict feasible_count) {
  const int slots = params.slot_count;
  std::int64_t changed = 0;
  for (int g = 0; g < slots; g += kGroup) {
    double refused[kGroup];
    double fit[kGroup];
    double balanced[kGroup];
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) refused[s] = node.room ? 0.0 : 1.0;
    for (int r = 0; r < params.filter_count; ++r) {
      const double* __restrict request = params.request + r * slots + g;
      BERTH_LANES
      for (int s = 0; s < kGroup; ++s) refused[s] = request[s] > node.free[r] ? 1.0 : refused[s];
    }
    fit_scores(params, node, {params.fit_request + g, slots}, {params.fit_part_weight + g, slots}, fit);
    balanced_scores(params, node, {params.balanced_request + g, slots}, {params.balanced_counts + g, slots},
                    {kNothing, 0}, balanced);

    std::uint32_t draws[kGroup];
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s)
      draws[s] = params.draws ? tie_draw(params.draw_seed[g + s], node.draw_seed) : 1u;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const double load = fit[s] * params.fit_weight + balanced[s] * params.balanced_weight[g + s];
      const std::int64_t total = base[g + s] + static_cast<std::int32_t>(load);
      const NodeKey key = base[g + s] >= 0 && refused[s] == 0.0 ? make_node_key(total, draws[s]) : 0;
      const std::int64_t change = (key > 0 ? 1 : 0) - (keys[g + s] > 0 ? 1 : 0);
      feasible_count[g + s] += change;
      changed |= change;
      keys[g + s] = key;
    }
  }
  return changed != 0;
}

bool combine(const NodeKey* __restrict children, NodeKey* __restrict parent, int slots) {
  NodeKey changed = 0;
  for (int g = 0; g < slots; g += kGroup) {
    const NodeKey* __restrict first = children + g;
    BERTH_LANES
    for (int s = 0; s < kGroup; ++s) {
      const NodeKey a = first[s] > first[slots + s] ? first[s] : first[slots + s];
      const NodeKey b = first[2 * slots + s] > first[3 * slots + s] ? first[2 * slots + s] : first[3 * slots + s];
      const NodeKey best = a > b ? a : b;
      changed |= best ^ parent[g + s];
      parent[g + s] = best;
    }
  }
  return changed != 0;
}

/// Amounts of copies first, first + 1, ... for one group: pod + copies already added.
void fill_steps(const double* pod, const double* step, int count, int first, double* with, double* before) {
  for (int r = 0; r < count; ++r)
    BERTH_LANES
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
  for (int r = 0; r < params.fit_count; ++r)
    BERTH_LANES
    for (int k = 0; k < kGroup; ++k) fit_weight[r * kGroup + k] = params.fit_part_weight[r * slots + slot];
  for (int r = 0; r < params.balanced_count; ++r)
    BERTH_LANES
    for (int k = 0; k < kGroup; ++k) counts[r * kGroup + k] = params.balanced_counts[r * slots + slot];

  for (int g = 0; g < count; g += kGroup) {
    double fit[kGroup];
    double balanced[kGroup];
    double refused[kGroup] = {};
    for (int r = 0; r < params.filter_count; ++r)
      BERTH_LANES
      for (int k = 0; k < kGroup; ++k)
        refused[k] = steps.request[r] + (first + g + k) * steps.filter_step[r] > node.free[r] ? 1.0 : refused[k];
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

}  // namespace

}  // namespace berth
