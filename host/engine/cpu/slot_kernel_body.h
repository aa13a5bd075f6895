// SPDX-License-Identifier: Apache-2.0
// No include guard: compiled once per instruction set, by the file that names BERTH_KERNELS. It must include nothing that
// defines inline functions of its own, or the linker might pick the copy with instructions that the processor lacks.

#include "host/engine/cpu/slot_kernel.h"
#include "host/framework/draw_bits.h"
#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/rule.h"

namespace berth {
namespace {

/// Lanes of one resource list while they are summed up.
struct Sums {
  alignas(64) double value[kMaxSlots];
  alignas(64) double weight[kMaxSlots];
};

template <class Strategy>
void add_parts(int lanes, const double* pod, double used, double allocatable, const double* weight, Sums& sums) {
  for (int s = 0; s < lanes; ++s) {
    const double part = Strategy::template part<double>(used + pod[s], allocatable);
    sums.value[s] += part * weight[s];
    sums.weight[s] += weight[s];
  }
}

void add_ratio_parts(int lanes, const double* pod, double used, double allocatable, const double* weight,
                     const double* score_of_utilization, Sums& sums) {
  for (int s = 0; s < lanes; ++s) {
    const double percent = RequestedToCapacityRatio::utilization<double>(used + pod[s], allocatable);
    const double part = score_of_utilization[static_cast<int>(percent)];
    const double counted = part > 0 ? weight[s] : 0.0;
    sums.value[s] += part * counted;
    sums.weight[s] += counted;
  }
}

/// NodeResourcesFit's score in lanes; pod amounts at pod + r * stride.
void fit_scores(const SlotParams& params, const NodeLanes& node, int lanes, const double* pod, const double* weight,
                int stride, double* scores) {
  Sums sums;
  for (int s = 0; s < lanes; ++s) sums.value[s] = sums.weight[s] = 0.0;
  for (int r = 0; r < params.fit_count; ++r) {
    const double allocatable = node.fit_allocatable[r];
    if (allocatable == 0) continue;
    const double used = node.fit_requested[r];
    const double* amounts = pod + r * stride;
    const double* weights = weight + r * stride;
    if (params.strategy == KernelStrategy::kLeastAllocated) {
      add_parts<LeastAllocated>(lanes, amounts, used, allocatable, weights, sums);
    } else if (params.strategy == KernelStrategy::kMostAllocated) {
      add_parts<MostAllocated>(lanes, amounts, used, allocatable, weights, sums);
    } else {
      add_ratio_parts(lanes, amounts, used, allocatable, weights, params.score_of_utilization, sums);
    }
  }
  for (int s = 0; s < lanes; ++s) {
    const double weights = sums.weight[s] > 0 ? sums.weight[s] : 1.0;
    scores[s] = params.strategy == KernelStrategy::kRatio
                    ? RequestedToCapacityRatio::rounded_mean(sums.value[s], weights)
                    : divide_truncated(sums.value[s], weights);
  }
}

/// cpu and memory, both counting in every lane: the case of nearly every cluster.
void balanced_of_two(const NodeLanes& node, int lanes, const double* first, const double* second, double* scores) {
  const double first_used = node.balanced_requested[0];
  const double second_used = node.balanced_requested[1];
  const double first_allocatable = node.balanced_allocatable[0];
  const double second_allocatable = node.balanced_allocatable[1];
  for (int s = 0; s < lanes; ++s) {
    const double a = NodeResourcesBalancedAllocation::fraction(first_used + first[s], first_allocatable);
    const double b = NodeResourcesBalancedAllocation::fraction(second_used + second[s], second_allocatable);
    scores[s] = NodeResourcesBalancedAllocation::score_of_deviation(
        NodeResourcesBalancedAllocation::deviation_of_two(a, b));
  }
}

/// Any list, any lane leaving any resource out: lane by lane.
void balanced_of_many(const SlotParams& params, const NodeLanes& node, int lanes, const double* pod,
                      const double* counts, int stride, int pod_factor, double* scores) {
  for (int s = 0; s < lanes; ++s) {
    double fractions[kMaxKernelResources];
    bool counted[kMaxKernelResources];
    for (int r = 0; r < params.balanced_count; ++r) {
      counted[r] = counts[r * stride + s] != 0 && node.balanced_allocatable[r] != 0;
      if (counted[r])
        fractions[r] = NodeResourcesBalancedAllocation::fraction(
            node.balanced_requested[r] + pod_factor * pod[r * stride + s], node.balanced_allocatable[r]);
    }
    scores[s] = NodeResourcesBalancedAllocation::score(fractions, counted, params.balanced_count);
  }
}

void balanced_scores(const SlotParams& params, const NodeLanes& node, int lanes, const double* pod,
                     const double* counts, int stride, const double* without_step, double* scores) {
  const bool of_two = params.balanced_count == 2 && params.balanced_counts_always && !params.balance_of_change &&
                      node.balanced_allocatable[0] != 0 && node.balanced_allocatable[1] != 0;
  if (of_two) {
    balanced_of_two(node, lanes, pod, pod + stride, scores);
    return;
  }
  balanced_of_many(params, node, lanes, pod, counts, stride, 1, scores);
  if (!params.balance_of_change) return;
  double without[kMaxSlots];
  balanced_of_many(params, node, lanes, without_step, counts, stride, 1, without);
  for (int s = 0; s < lanes; ++s)
    scores[s] = NodeResourcesBalancedAllocation::score_of_change(scores[s], without[s]);
}

/// Zeroes for "the node without the pod".
alignas(64) constexpr double kNothing[kMaxKernelResources * kMaxSlots] = {};

bool refresh(const SlotParams& params, const NodeLanes& node, const std::int32_t* base, NodeKey* keys,
             std::int64_t* feasible_count) {
  const int slots = params.slot_count;
  alignas(64) double refused[kMaxSlots];
  alignas(64) double fit[kMaxSlots];
  alignas(64) double balanced[kMaxSlots];
  for (int s = 0; s < slots; ++s) refused[s] = node.room ? 0.0 : 1.0;
  for (int r = 0; r < params.filter_count; ++r) {
    const double free = node.free[r];
    const double* request = params.request + r * slots;
    for (int s = 0; s < slots; ++s) refused[s] = request[s] > free ? 1.0 : refused[s];
  }
  fit_scores(params, node, slots, params.fit_request, params.fit_part_weight, slots, fit);
  balanced_scores(params, node, slots, params.balanced_request, params.balanced_counts, slots, kNothing, balanced);

  alignas(64) std::uint32_t draws[kMaxSlots];
  for (int s = 0; s < slots; ++s) draws[s] = params.draws ? tie_draw(params.draw_seed[s], node.draw_seed) : 1u;
  std::int64_t changed = 0;
  for (int s = 0; s < slots; ++s) {
    const double load = fit[s] * params.fit_weight + balanced[s] * params.balanced_weight[s];
    const std::int64_t total = base[s] + static_cast<std::int32_t>(load);
    const NodeKey key = base[s] >= 0 && refused[s] == 0.0 ? make_node_key(total, draws[s]) : 0;
    const std::int64_t change = (key > 0 ? 1 : 0) - (keys[s] > 0 ? 1 : 0);
    feasible_count[s] += change;
    changed |= change;
    keys[s] = key;
  }
  return changed != 0;
}

bool combine(const NodeKey* children, NodeKey* parent, int slots) {
  std::int64_t changed = 0;
  for (int s = 0; s < slots; ++s) {
    const NodeKey a = children[s] > children[slots + s] ? children[s] : children[slots + s];
    const NodeKey b = children[2 * slots + s] > children[3 * slots + s] ? children[2 * slots + s]
                                                                         : children[3 * slots + s];
    const NodeKey best = a > b ? a : b;
    changed |= best ^ parent[s];
    parent[s] = best;
  }
  return changed != 0;
}

void copies(const SlotParams& params, int slot, const NodeLanes& node, const CopySteps& steps, int first, int count,
            double* totals, std::uint8_t* fits) {
  alignas(64) double pod[kMaxKernelResources * kMaxSlots];
  alignas(64) double weight[kMaxKernelResources * kMaxSlots];
  alignas(64) double without[kMaxKernelResources * kMaxSlots];
  alignas(64) double fit[kMaxSlots];
  alignas(64) double balanced[kMaxSlots];
  const int slots = params.slot_count;
  for (int k = 0; k < count; ++k) fits[k] = 1;
  for (int r = 0; r < params.filter_count; ++r) {
    if (!(steps.request[r] > 0)) continue;
    for (int k = 0; k < count; ++k)
      fits[k] &= steps.request[r] + (first + k) * steps.filter_step[r] > node.free[r] ? 0 : 1;
  }
  for (int r = 0; r < params.fit_count; ++r)
    for (int k = 0; k < count; ++k) {
      pod[r * kMaxSlots + k] = steps.fit_request[r] + (first + k) * steps.fit_step[r];
      weight[r * kMaxSlots + k] = params.fit_part_weight[r * slots + slot];
    }
  fit_scores(params, node, count, pod, weight, kMaxSlots, fit);
  for (int r = 0; r < params.balanced_count; ++r)
    for (int k = 0; k < count; ++k) {
      without[r * kMaxSlots + k] = (first + k) * steps.balanced_step[r];
      pod[r * kMaxSlots + k] = without[r * kMaxSlots + k] + steps.balanced_request[r];
      weight[r * kMaxSlots + k] = params.balanced_counts[r * slots + slot];
    }
  balanced_scores(params, node, count, pod, weight, kMaxSlots, without, balanced);
  for (int k = 0; k < count; ++k)
    totals[k] = fit[k] * params.fit_weight + balanced[k] * params.balanced_weight[slot];
}

}  // namespace

}  // namespace berth
