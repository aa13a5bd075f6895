// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

#include "host/objects/pod.h"

namespace berth {

/// What upstream compares between two candidates, in this order: docs/behaviour/scheduler-core.md 4.7. The least one is
/// chosen, and equal ones are equally good.
class CandidateCost {
 public:
  explicit CandidateCost(std::int32_t violations) : violations_(violations) {}

  /// In any order.
  void add_victim(const Pod& victim) {
    // The earliest start among the victims of the highest priority; a victim that has none counts as started now.
    const std::int64_t start_us =
        victim.start_time_us == 0 ? std::numeric_limits<std::int64_t>::max() : victim.start_time_us;
    if (victim.priority > highest_priority_ || victim_count_ == 0) {
      highest_priority_ = victim.priority;
      negated_start_us_ = -start_us;
    } else if (victim.priority == highest_priority_ && -start_us > negated_start_us_) {
      negated_start_us_ = -start_us;
    }
    priority_sum_ += victim.priority + kPriorityShift;
    ++victim_count_;
  }

  friend auto operator<=>(const CandidateCost&, const CandidateCost&) = default;

  /// What costs of candidates with these victims, and perhaps less important ones, are at least.
  class Bound {
   public:
    void add_most_important(const Pod& victim) { highest_priority_ = std::max(highest_priority_, victim.priority); }
    CandidateCost of(std::int32_t violations) const {
      CandidateCost least(violations);
      least.highest_priority_ = highest_priority_;
      least.priority_sum_ = std::numeric_limits<std::int64_t>::min();
      return least;
    }

   private:
    std::int32_t highest_priority_ = std::numeric_limits<std::int32_t>::min();
  };

 private:
  /// Upstream adds it to each priority, so that a sum grows with every victim.
  static constexpr std::int64_t kPriorityShift = std::int64_t{1} << 31;

  std::int32_t violations_;
  std::int32_t highest_priority_ = std::numeric_limits<std::int32_t>::min();
  std::int64_t priority_sum_ = 0;
  std::int32_t victim_count_ = 0;
  std::int64_t negated_start_us_ = 0;
};

}  // namespace berth
