// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plugin DefaultPreemption, up to the choice of a node: docs/behaviour/scheduler-core.md 4.1 to 4.7. It evicts
// nobody. What it finds, and what limits it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/config/scheduler_config.h"
#include "host/objects/pod.h"
#include "host/preemption/candidate_cost.h"

namespace berth {

/// A node where the preemptor fits when its victims are gone.
struct PreemptionCandidate {
  NodeIndex node;
  std::vector<const Pod*> victims;  ///< at least one, most important first
  std::int32_t violations = 0;      ///< victims whose eviction violates a budget
};

/// Everything that preemption finds for a pod.
struct PreemptionResult {
  bool eligible = false;                        ///< the pod may preempt others now
  std::string message;                          ///< why it is not eligible, or why there is no candidate
  std::vector<PreemptionCandidate> candidates;  ///< in node order
  std::vector<std::size_t> best;  ///< positions in `candidates`: those that upstream's choice may take, one of them
                                  ///< unless a random order decides
  std::string error;              ///< non-empty: the cycle ends with this error
};

/// What preemption does for a pod.
struct PreemptionChoice {
  bool eligible = false;  ///< as above; a pod that is not keeps its nomination, another one loses it
  std::string message;    ///< as above
  std::optional<PreemptionCandidate> candidate;  ///< the first of the best in node order
  std::string error;                             ///< non-empty: the pod keeps its nomination
};

inline constexpr std::string_view kDefaultPreemptionName = "DefaultPreemption";
/// PostFilter runs DefaultPreemption.
bool preempts(const Profile& profile);

/// The message of a pod that may not preempt.
inline constexpr std::string_view kPolicyNeverText = "not eligible due to preemptionPolicy=Never.";
/// The message where no pod of the cluster has a lower priority.
/// @param resolvable_nodes  Diagnosis::resolvable_count
std::string no_victims_text(std::int64_t nodes, std::int64_t resolvable_nodes);

/// Positions of the candidates that win upstream's comparison (4.7).
std::vector<std::size_t> best_candidates(std::span<const PreemptionCandidate> candidates);

/// Why upstream takes another one; nullopt: the two are equally good.
/// @param best  one of best_candidates()
std::optional<CandidateLoss> why_not_chosen(const PreemptionCandidate& candidate, const PreemptionCandidate& best);

/// Which nodes are tried: docs/behaviour/scheduler-core.md 4.3 and 4.4.
enum class CandidateNodes : std::uint8_t {
  kAll,   ///< every node where eviction can help
  kKube,  ///< as kube-scheduler at parallelism 1: from a random one on, until there are enough candidates
};

/// What preemption does unlike kube-scheduler, or leaves to chance as it does.
struct PreemptionLimits {
  bool keeps_budgets = false;  ///< a candidate that violates a PodDisruptionBudget is none
  /// Of the kReplaceableTriesMax best candidates one whose victims fit elsewhere goes before the others.
  bool replaceable_first = false;
  CandidateNodes nodes = CandidateNodes::kAll;
  std::uint64_t seed = 0;  ///< of CandidateNodes::kKube; a pod draws the same node each time
};

/// PreemptionLimits::replaceable_first: looking for other nodes costs a fork and as many placements as there are
/// victims.
inline constexpr std::size_t kReplaceableTriesMax = 100;

/// What is asked of a candidate.
using CandidateTest = std::function<bool(const PreemptionCandidate&)>;

}  // namespace berth
