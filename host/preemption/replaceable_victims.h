// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/backend.h"
#include "host/config/scheduler_config.h"
#include "host/preemption/default_preemption.h"

namespace berth {

/// Tells candidates whose victims fit on other nodes from those whose victims would stay pending
/// (PreemptionLimits::replaceable_first). Kube-scheduler does not ask.
class ReplaceableVictims {
 public:
  /// @param backend, config  outlive this
  ReplaceableVictims(Backend& backend, const SchedulerConfig& config) : backend_(backend), config_(config) {}

  /// Whether each victim finds a node once all are gone and the preemptor stands on its node, placed one after another,
  /// most important first, by the rules of its profile. False for victims of other schedulers. Tried in a fork, which
  /// is dropped; prepares the victims for that time.
  /// @param preemptor  prepared
  bool fit_elsewhere(const PodToPlace& preemptor, const PreemptionCandidate& candidate);
  std::uint64_t fork_count() const { return fork_count_; }  ///< opened so far

 private:
  Backend& backend_;
  const SchedulerConfig& config_;
  std::uint64_t fork_count_ = 0;
};

}  // namespace berth
