// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/preemption/default_preemption.h"

namespace berth {

inline constexpr const char* kPreemptionNodesChoices = "all|kube";
inline constexpr std::int32_t kEvictionsPerMinuteMax = 1'000'000;

/// What the command line says of preemption, beyond kube-scheduler. Absent: not given.
struct PreemptionLimitOptions {
  bool keeps_budgets = false;
  bool replaceable_first = false;
  std::optional<std::string> nodes;                      ///< all, kube
  std::optional<std::int32_t> evictions_per_minute_max;  ///< 0: no limit

  /// @param seed  of the run
  PreemptionLimits limits(std::uint64_t seed) const {
    PreemptionLimits limits;
    limits.keeps_budgets = keeps_budgets;
    limits.replaceable_first = replaceable_first;
    if (nodes == "kube") limits.nodes = CandidateNodes::kKube;
    limits.seed = seed;
    return limits;
  }
};

}  // namespace berth
