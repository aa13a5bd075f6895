// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nominated pods as the index by load counts them: as loads of their nodes.

#include <cstdint>
#include <vector>

#include "batching/nominations.h"
#include "batching/pod_class.h"

namespace berth {

/// The nominated pods of some priority and above. The default: none.
struct CountedNominations {
  const Nominations* nominations = nullptr;
  std::int32_t from_priority = 0;

  Nominations::ReservedLoad on(std::int32_t node) const {
    if (nominations == nullptr || !nominations->is_nominated(node)) return {};
    return nominations->reserved_on(node, from_priority);
  }
};

/// Tells the classes for which nominated pods may change more than loads: counts of topology terms.
class NominatedCounts {
 public:
  explicit NominatedCounts(const Nominations& nominations) : nominations_(nominations) {}

  /// A nominated pod changes a count by which the class is filtered. May also be true when one did so until lately.
  bool concern(std::int32_t pod_class_index, const PodClass& pod_class);
  /// Numbers of classes may mean something else.
  void clear() { of_class_.clear(); }
  std::uint64_t bytes() const;

 private:
  struct Known {
    std::uint64_t generation = 0;  ///< of the nominations; 0: nothing is known
    std::size_t changes_seen = 0;
    bool concerned = false;
  };
  bool any_concerns(const PodClass& pod_class);
  void find_unlike_pods();

  const Nominations& nominations_;
  std::vector<Known> of_class_;
  std::vector<const Pod*> unlike_pods_;  ///< one of all nominated pods that change the same counts
  Known found_at_;                       ///< when unlike_pods_ was found
};

}  // namespace berth
