// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "host/objects/pod.h"

namespace berth {

/// One of the comparisons of docs/behaviour/scheduler-core.md 4.7, in their order.
enum class CandidateCriterion : std::uint8_t {
  kViolations,       ///< fewer are better
  kHighestPriority,  ///< of a victim; lower is better
  kPrioritySum,      ///< of (priority + 2^31); lower is better
  kVictimCount,      ///< fewer are better
  kEarliestStart,    ///< among the victims of the highest priority, in microseconds; later is better
};

/// The first comparison that a candidate loses.
struct CandidateLoss {
  /// kEarliestStart of victims of which one has no start time, and counts as started now.
  static constexpr std::int64_t kNoStart = std::numeric_limits<std::int64_t>::max();

  CandidateCriterion criterion;
  std::int64_t value;
  std::int64_t best;  ///< of the candidate that wins
};

/// What of victims decides between candidates, side by side.
struct VictimRanks {
  std::vector<std::int32_t> priorities;
  std::vector<std::int64_t> negated_starts_us;

  void reserve(std::size_t victims) {
    priorities.reserve(victims);
    negated_starts_us.reserve(victims);
  }
  /// A victim without a start time counts as started now: as the latest.
  void add(const Pod& victim) {
    priorities.push_back(victim.priority);
    negated_starts_us.push_back(-(victim.start_time_us == 0 ? CandidateLoss::kNoStart : victim.start_time_us));
  }
};

/// What upstream compares between two candidates, in this order: docs/behaviour/scheduler-core.md 4.7. The least one is
/// chosen, and equal ones are equally good.
class CandidateCost {
 public:
  CandidateCost() = default;
  explicit CandidateCost(std::int32_t violations) : violations_(violations) {}
  /// A bound that violates no budget. @param priority_sum  of the victims' shifted()
  static CandidateCost at_least(std::int32_t highest_priority, std::int64_t priority_sum, std::int32_t victims,
                                std::int64_t negated_start_us) {
    CandidateCost cost;
    cost.highest_priority_ = highest_priority;
    cost.priority_sum_ = priority_sum;
    cost.victim_count_ = victims;
    cost.negated_start_us_ = negated_start_us;
    return cost;
  }
  /// What a victim adds to the sum of priorities, which upstream makes grow with every victim.
  static std::int64_t shifted(std::int32_t priority) { return priority + (std::int64_t{1} << 31); }

  /// In any order. Of the victims of the highest priority the earliest start counts.
  void add_victim(const VictimRanks& ranks, std::size_t victim) {
    const std::int32_t priority = ranks.priorities[victim];
    if (priority > highest_priority_ || victim_count_ == 0) {
      highest_priority_ = priority;
      negated_start_us_ = ranks.negated_starts_us[victim];
    } else if (priority == highest_priority_) {
      negated_start_us_ = std::max(negated_start_us_, ranks.negated_starts_us[victim]);
    }
    priority_sum_ += shifted(priority);
    ++victim_count_;
  }

  friend auto operator<=>(const CandidateCost&, const CandidateCost&) = default;

  /// nullopt: they are equal. @param best  not greater than this
  std::optional<CandidateLoss> loss_to(const CandidateCost& best) const {
    using enum CandidateCriterion;
    if (violations_ != best.violations_) return CandidateLoss{kViolations, violations_, best.violations_};
    if (highest_priority_ != best.highest_priority_)
      return CandidateLoss{kHighestPriority, highest_priority_, best.highest_priority_};
    if (priority_sum_ != best.priority_sum_) return CandidateLoss{kPrioritySum, priority_sum_, best.priority_sum_};
    if (victim_count_ != best.victim_count_) return CandidateLoss{kVictimCount, victim_count_, best.victim_count_};
    if (negated_start_us_ != best.negated_start_us_)
      return CandidateLoss{kEarliestStart, -negated_start_us_, -best.negated_start_us_};
    return std::nullopt;
  }

 private:
  std::int32_t violations_ = 0;
  std::int32_t highest_priority_ = std::numeric_limits<std::int32_t>::min();
  std::int64_t priority_sum_ = 0;
  std::int32_t victim_count_ = 0;
  std::int64_t negated_start_us_ = 0;
};

}  // namespace berth
