// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batching/node_filter.h"

namespace berth {

/// What NodePorts and NodeResourcesFit say of a node, in the bits of one word: a LoadVerdict of a class with few
/// requests.
struct LoadWord {
  static constexpr std::uint64_t kUnresolvable = 1 << 8;
  static constexpr std::uint64_t kTooManyPods = 1 << 9;
  static constexpr std::uint64_t kPortsTaken = 1 << 10;
  /// Of LoadVerdict::insufficient, up to the highest bit. The bits below that are not named here are another's.
  static constexpr int kInsufficientAt = 20;

  static bool fits(const PodClass& pod_class) { return pod_class.requested.size() <= kRequestsMax; }
  static std::uint64_t of(const LoadVerdict& verdict) {
    return verdict.insufficient.first_word() << kInsufficientAt | (verdict.ports_taken ? kPortsTaken : 0) |
           (verdict.too_many_pods ? kTooManyPods : 0) | (verdict.is_unresolvable ? kUnresolvable : 0);
  }

 private:
  static constexpr std::size_t kRequestsMax = 32;
};

/// filter_load() of the nodes of all slots, resource by resource. The snapshot has no guests, and the class fits a
/// word.
/// @return [slot] 0: both rules accept
std::vector<std::uint64_t> load_words(const PodClass& pod_class, const Snapshot& snapshot);

}  // namespace berth
