// SPDX-License-Identifier: Apache-2.0
#pragma once

// What keeps a node from being drained: the rules of kubectl drain, cluster-autoscaler and karpenter, as read in
// kubectl's pkg/drain/filters.go, cluster-autoscaler's simulator/drainability/rules, karpenter's pkg/utils/pod and
// pkg/utils/pdb.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/capi/object_intake.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"
#include "host/preemption/victims.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// Which rules hold. A rule's bit is 1 << BERTH_RULE_*.
struct DrainPolicy {
  std::uint32_t preset = BERTH_DRAIN_KUBECTL;
  std::uint32_t rules = 0;
  std::int32_t min_replicas = 0;

  bool has(std::uint32_t rule) const { return (rules >> rule & 1) != 0; }
};

/// @param on, off  bits of rules, over those of the preset
/// @throws ApiError
DrainPolicy drain_policy(std::uint32_t preset, std::uint32_t on, std::uint32_t off, std::int32_t min_replicas);

/// The node as the preset leaves it while its pods go.
Node drained(const Node& node, const DrainPolicy& policy);

/// What becomes of a pod when its node is drained.
struct PodFate {
  std::uint8_t outcome = BERTH_POD_MOVES;  ///< BERTH_POD_MOVES, STAYS, ENDS or BLOCKS
  std::uint8_t rule = BERTH_RULE_NONE;     ///< that says so
};

/// The pods of a node in the order in which they are evicted: those of higher priority first, then by name.
void sort_for_eviction(std::span<PodPtr> pods);

/// What the rules say of each pod of a node. One thread at a time.
/// @param budgets  as they are before the first of the pods goes
std::vector<PodFate> fates_of(std::span<const PodPtr> pods, const DrainPolicy& policy, const SideObjects& side,
                              const DisruptionBudgets& budgets);

/// The annotation, of which cluster-autoscaler waits for the end of the pod.
inline constexpr std::string_view kOnCompletion = "on-completion";

}  // namespace berth::capi
