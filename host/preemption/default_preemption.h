// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plugin DefaultPreemption, up to the choice of a node: docs/behaviour/scheduler-core.md 4.1 to 4.7. It evicts
// nobody.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/victims.h"

namespace berth {

/// A node where the preemptor fits when its victims are gone.
struct PreemptionCandidate {
  NodeIndex node;
  std::vector<const Pod*> victims;  ///< at least one, most important first
  std::int32_t violations = 0;      ///< victims whose eviction violates a budget
};

struct PreemptionResult {
  bool eligible = false;                        ///< the pod may preempt others now
  std::string message;                          ///< why it is not eligible
  std::vector<PreemptionCandidate> candidates;  ///< in node order
  std::vector<std::size_t> best;  ///< positions in `candidates`: those that upstream's choice may take, one of them
                                  ///< unless a random order decides
  std::string error;              ///< non-empty: the cycle ends with this error
};

/// Positions of the candidates that win upstream's comparison (4.7).
std::vector<std::size_t> best_candidates(std::span<const PreemptionCandidate> candidates);

/// What preemptors would evict from the cluster as an engine has it.
class DefaultPreemption {
 public:
  /// @param backend  outlives this; forks of it are opened, and nothing in it changes
  /// @param cache  the same cluster as that of the engine; outlives this
  DefaultPreemption(Backend& backend, const ClusterCache& cache, std::span<const PodDisruptionBudget> budgets)
      : backend_(backend), cache_(cache), budgets_(budgets) {}

  /// Looks at every node for each of the pods, each alone, as if the others did not preempt.
  /// @param pods  prepared, and without a node that accepts them
  /// @throws std::logic_error naming a pod that is not prepared
  std::vector<PreemptionResult> evaluate(std::span<const PodToPlace> pods);

 private:
  Backend& backend_;
  const ClusterCache& cache_;
  DisruptionBudgets budgets_;
};

}  // namespace berth
