// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth {

/// How the pods of batches were answered that need a selection of nodes, and why the index by load was not asked.
struct AnswerWays {
  /// Why a pod was not placed by the index.
  enum class WhyNot : std::uint8_t {
    kFewClasses,   ///< rows of the classes cost less
    kMode,         ///< lists of nodes: sampling, heap order, amounts that wrap
    kProfile,      ///< no bound for the scores of its profile
    kRequests,     ///< no bound for the amounts of the pod
    kManyDomains,  ///< too many groups of nodes by domain
    kManyListed,   ///< too many nodes to be evaluated one by one
    kNormalizer,   ///< no feasible node was found that holds the largest raw score of a node side
    kManyRefused,  ///< too many nodes refused what their bound promised
    kCount,
  };
  static constexpr std::array<std::string_view, static_cast<std::size_t>(WhyNot::kCount)> kNames = {
      "few_classes", "mode", "profile", "requests", "many_domains", "many_listed", "normalizer", "many_refused"};

  std::int64_t by_index = 0;
  std::int64_t by_runs = 0;  ///< of equal pods
  std::array<std::int64_t, static_cast<std::size_t>(WhyNot::kCount)> by_rows = {};

  void note_rows(WhyNot why) { ++by_rows[static_cast<std::size_t>(why)]; }
  std::int64_t all_by_rows() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : by_rows) sum += count;
    return sum;
  }
};

}  // namespace berth
