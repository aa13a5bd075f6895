// SPDX-License-Identifier: Apache-2.0
#pragma once

// CandidateNodes::kKube: docs/behaviour/scheduler-core.md 4.3 and 4.4.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "host/config/scheduler_config.h"
#include "host/preemption/candidate_cost.h"

namespace berth {

/// How many candidates are enough among so many nodes.
inline std::size_t wanted_candidates(std::size_t nodes, const DefaultPreemptionArgs& args) {
  constexpr std::size_t kPercent = 100;
  const std::size_t share = nodes * static_cast<std::size_t>(args.min_candidate_nodes_percentage) / kPercent;
  return std::min(nodes, std::max(share, static_cast<std::size_t>(args.min_candidate_nodes_absolute)));
}

/// What is found on nodes that are visited one after another, until it is enough.
class Shortlist {
 public:
  explicit Shortlist(std::size_t wanted) : wanted_(wanted) {}

  /// @param rank  of the candidate: whether it is a second choice, and its cost
  void add(std::size_t position, const std::pair<bool, CandidateCost>& rank, bool violates_budget) {
    std::size_t& count = violates_budget ? violating_ : non_violating_;
    if (count < wanted_) {
      ++count;
      if (!best_ || std::pair(rank, position) < *best_) best_ = {rank, position};
    }
  }
  bool is_enough() const { return non_violating_ > 0 && non_violating_ + violating_ >= wanted_; }
  std::optional<std::size_t> best() const { return best_ ? std::optional(best_->second) : std::nullopt; }

 private:
  std::size_t wanted_;
  std::size_t violating_ = 0;
  std::size_t non_violating_ = 0;
  std::optional<std::pair<std::pair<bool, CandidateCost>, std::size_t>> best_;
};

}  // namespace berth
