// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inner loops of the CPU backend: one node for many classes ("slots") in vector lanes. The rules are those of
// plugins/*/rule.h on doubles, which vectorise and are exact below 2^43. Compiled once per instruction set from
// slot_kernel_body.h; slot_kernels() chooses at run time.

#include <cstdint>

#include "batching/node_key.h"
#include "host/config/scoring_strategy.h"
#include "host/framework/draw_bits.h"
#include "plugins/rule.h"

namespace berth {

// host/engine/cpu/load_boxes.h
struct ClassOnBoxes;
struct LoadBox;
struct LoadBoxes;

inline constexpr int kSlotStep = 8;  ///< slot counts are multiples of a 512-bit register of keys
inline constexpr int kMaxSlots = 64;
inline constexpr std::uint32_t kAllGroups = (1u << (kMaxSlots / kSlotStep)) - 1;
inline constexpr int kMaxKernelResources = 8;  ///< per list; classes or profiles beyond are evaluated in integers

/// The classes of a tile, structure of arrays: list r of slot s is at [r * slot_count + s].
struct SlotParams {
  int slot_count;    ///< multiple of kSlotStep; unused slots never fit (their base is below 0)
  int filter_count;  ///< resources that some class of the tile requests
  int fit_count;
  int balanced_count;
  ScoringStrategyType strategy;
  bool balance_of_change;  ///< v1.36 formula of NodeResourcesBalancedAllocation
  bool fit_counts_always;  ///< every class counts every scored resource (cpu and memory do)
  bool balanced_counts_always;
  double fit_weight;
  const double* request;               ///< [filter_count] -infinity where the class has no request
  const double* fit_request;           ///< [fit_count]
  const double* fit_part_weight;       ///< [fit_count] weight of the resource, 0 where the class leaves it out
  const double* balanced_request;      ///< [balanced_count]
  const double* balanced_counts;       ///< [balanced_count] 1 or 0
  const double* balanced_weight;       ///< [1] plugin weight, 0 where the class skips it
  const std::uint32_t* draw_seed;      ///< [1] of the classes; read where draws are by class
  const double* score_of_utilization;  ///< [101] for kRequestedToCapacityRatio
  bool draws_by_class;                 ///< false: a node's draw is the same for every slot
};

/// The amounts of one node for the kernels.
struct NodeLanes {
  double free[kMaxKernelResources];                  ///< allocatable - requested, per filter resource
  LaneDivisor fit_allocatable[kMaxKernelResources];  ///< 0: left out
  double fit_requested[kMaxKernelResources];
  double balanced_allocatable[kMaxKernelResources];
  double balanced_requested[kMaxKernelResources];
  NodeDraw draw;
  bool room;  ///< one more pod is allowed
};

/// Copies of one class on one node; lane k has k copies already.
struct CopySteps {
  double request[kMaxKernelResources];      ///< of the class; -infinity where it has no request
  double filter_step[kMaxKernelResources];  ///< amount that a copy adds
  double fit_request[kMaxKernelResources];
  double fit_step[kMaxKernelResources];
  double balanced_request[kMaxKernelResources];
  double balanced_step[kMaxKernelResources];
};

/// The load of nodes side by side, [node] each: for one class on many nodes. cpu and memory only, which are what usual
/// profiles score; every node offers both.
struct NodeLoads {
  /// One of the two resources.
  struct Resource {
    const double* offered;
    const double* reciprocal;  ///< of `offered`
    const double* in_use;      ///< non-zero sums, for NodeResourcesFit's score
    const double* requested;   ///< for its filter and for NodeResourcesBalancedAllocation
  };
  Resource cpu, memory;
  const Draw* draw;
  /// [1] other than 0: refused whatever the class requests of the two resources
  const double* refused;
};

/// One class for NodeLoads.
struct ClassOnLoads {
  struct Resource {
    double request;      ///< -infinity where the class has no request
    double fit_request;  ///< what NodeResourcesFit scores
    double fit_weight;   ///< of the resource
    double balanced_request;
  };
  Resource cpu, memory;
  ScoringStrategyType strategy;  ///< not kRequestedToCapacityRatio
  double fit_weight;             ///< of the plugins
  double balanced_weight;
  std::int32_t base_shift;  ///< is added to the base
};

/// The keys of one class.
struct LoadKeys {
  std::int64_t feasible = 0;
  NodeKey best = 0;
};

struct SlotKernels {
  /// Evaluates every slot on one node. base[s] is the node-side total, below 0 where the node side refuses. Overwrites
  /// keys and adds the change to feasible_count[s]. @return true when some slot's feasibility changed
  bool (*refresh)(const SlotParams& params, const NodeLanes& node, const std::int32_t* base, NodeKey* keys,
                  std::int64_t* feasible_count);
  /// parent[s] = max of four children, child-major, for the groups of kSlotStep slots whose bit is set in `groups`.
  /// @return the groups in which some parent changed
  std::uint32_t (*combine)(const NodeKey* children, NodeKey* parent, int slot_count, std::uint32_t groups);
  /// Totals of the next `count` (at most kMaxSlots) copies of slot `slot` on one node, from copy `first` on, node side
  /// excluded; fits[k]: copy k still fits the resources that the filter checks. Writes whole registers:
  /// totals and fits need room for `count` rounded up to kSlotStep.
  void (*copies)(const SlotParams& params, int slot, const NodeLanes& node, const CopySteps& steps, int first,
                 int count, double* totals, std::uint8_t* fits);
  /// The keys of one class on `count` nodes, a multiple of kSlotStep. base[i] is the node-side total, below 0 where the
  /// node side refuses.
  LoadKeys (*nodes)(const ClassOnLoads& of_class, const NodeLoads& loads, const std::int32_t* base, int count,
                    NodeKey* keys);
  /// The boxes that may hold a node whose key for the class reaches `least`, bit by bit; without those that are empty,
  /// and nearly all whose nodes are too small.
  /// @param base  at least the rest of the nodes' totals, below 0: none counts
  /// @param least  above 0
  /// @param keys  [lane] of these boxes: at least the keys of their nodes
  std::uint32_t (*bounds)(const ClassOnBoxes& of_class, const LoadBoxes& boxes, std::int32_t base, NodeKey least,
                          NodeKey* keys);
  /// The same with base[lane].
  std::uint32_t (*bounds_by_lane)(const ClassOnBoxes& of_class, const LoadBoxes& boxes, const std::int32_t* base,
                                  NodeKey least, NodeKey* keys);
  /// As bounds(), where each box is around one node at most.
  std::uint32_t (*node_bounds)(const ClassOnBoxes& of_class, const LoadBoxes& boxes, std::int32_t base, NodeKey least,
                               NodeKey* keys);
  std::uint32_t (*node_bounds_by_lane)(const ClassOnBoxes& of_class, const LoadBoxes& boxes, const std::int32_t* base,
                                       NodeKey least, NodeKey* keys);
  /// The boxes with room for the class's cpu and memory and for one more pod on the emptiest of their nodes, bit by
  /// bit.
  std::uint32_t (*fitting)(const ClassOnLoads& of_class, const LoadBoxes& boxes);
  /// The box around all lanes. @param packs  whether `used` is the largest one
  LoadBox (*join)(const LoadBoxes& boxes, bool packs);
  const char* instruction_set;
};

/// The fastest kernels that this processor supports.
const SlotKernels& slot_kernels();

#if defined(__aarch64__)
extern const SlotKernels kSlotKernelsNeon;  // every 64-bit Arm processor has NEON
#else
extern const SlotKernels kSlotKernelsBaseline;
#endif
#if defined(__x86_64__)
extern const SlotKernels kSlotKernelsAvx2;
extern const SlotKernels kSlotKernelsAvx512;
#endif

}  // namespace berth
