// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "host/objects/pod.h"

namespace berth {

/// What of a victim decides between candidates.
struct VictimRank {
  std::int64_t negated_start_us = 0;  ///< a victim without a start time counts as started now: as the latest
  std::int32_t priority = 0;
};
inline VictimRank rank_of(const Pod& victim) {
  return {-(victim.start_time_us == 0 ? std::numeric_limits<std::int64_t>::max() : victim.start_time_us),
          victim.priority};
}

/// What upstream compares between two candidates, in this order: docs/behaviour/scheduler-core.md 4.7. The least one is
/// chosen, and equal ones are equally good.
class CandidateCost {
 public:
  CandidateCost() = default;
  explicit CandidateCost(std::int32_t violations) : violations_(violations) {}

  /// In any order. Of the victims of the highest priority the earliest start counts.
  void add_victim(const VictimRank& victim) {
    if (victim.priority > highest_priority_ || victim_count_ == 0) {
      highest_priority_ = victim.priority;
      negated_start_us_ = victim.negated_start_us;
    } else if (victim.priority == highest_priority_ && victim.negated_start_us > negated_start_us_) {
      negated_start_us_ = victim.negated_start_us;
    }
    priority_sum_ += victim.priority + kPriorityShift;
    ++victim_count_;
  }

  friend auto operator<=>(const CandidateCost&, const CandidateCost&) = default;

 private:
  /// Upstream adds it to each priority, so that a sum grows with every victim.
  static constexpr std::int64_t kPriorityShift = std::int64_t{1} << 31;

  std::int32_t violations_ = 0;
  std::int32_t highest_priority_ = std::numeric_limits<std::int32_t>::min();
  std::int64_t priority_sum_ = 0;
  std::int32_t victim_count_ = 0;
  std::int64_t negated_start_us_ = 0;
};

}  // namespace berth
