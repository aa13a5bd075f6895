// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plugin DefaultPreemption in an engine, which keeps what it finds out for the next pods.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/candidate_rows.h"
#include "host/preemption/preemption_result.h"
#include "host/preemption/victim_lists.h"
#include "host/preemption/victims.h"

namespace berth {

/// What preemptors would evict from the cluster as an engine has it.
class DefaultPreemption {
 public:
  /// @param backend  outlives this
  /// @param cache  the same cluster as that of the engine; outlives this, and may change between calls
  DefaultPreemption(const Backend& backend, const ClusterCache& cache, std::span<const PodDisruptionBudget> budgets,
                    const PreemptionLimits& limits = {});
  DefaultPreemption(const DefaultPreemption&) = delete;
  DefaultPreemption& operator=(const DefaultPreemption&) = delete;

  /// Looks at every node for each of the pods, each alone, as if the others did not preempt.
  /// @param pods  prepared, and without a node that accepts them
  /// @throws std::logic_error naming a pod that is not prepared
  std::vector<PreemptionResult> evaluate(std::span<const PodToPlace> pods);
  /// The same for one pod, without what is not chosen. @param profile  of the pod
  /// @param is_preferred  candidates for which it is true go before the others; empty: all are alike. It may prepare
  /// pods and open forks
  PreemptionChoice choose(const PodToPlace& pod, const Profile& profile, const CandidateTest& is_preferred = {});
  /// A pod is evicted: with PreemptionLimits::keeps_budgets its budgets allow one eviction less from now on.
  void note_eviction(const Pod& pod);

 private:
  PreemptionChoice choose_of_all(const PodToPlace& pod, const Profile& profile, const CandidateTest& is_preferred);
  PreemptionChoice choose_of_some(const PodToPlace& pod, const DefaultPreemptionArgs& args,
                                  const CandidateTest& is_preferred);
  std::string leave_out_before(const PodToPlace& pod, CandidateRow& row);
  std::string leave_out(const PodToPlace& pod, std::span<const std::uint32_t> positions, CandidateRow& row);
  void bound_unknown(const PodToPlace& pod, const Profile& profile, CandidateRow& row);
  void try_nodes(const PodToPlace& pod, std::span<const std::uint32_t> positions, CandidateRow& row);
  std::optional<std::size_t> best_candidate(const PodToPlace& pod, CandidateRow& row);
  std::optional<PreemptionCandidate> preferred_candidate(const PodToPlace& pod, CandidateRow& row,
                                                         const CandidateTest& is_preferred);
  PreemptionCandidate candidate_at(const PodToPlace& pod, std::size_t position);

  const Backend& backend_;
  DisruptionBudgets budgets_;
  PreemptionLimits limits_;
  VictimLists lists_;
  CandidateRows rows_;
};

}  // namespace berth
