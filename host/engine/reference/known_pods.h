// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <span>

#include "batching/backend.h"
#include "host/objects/pod.h"

namespace berth::reference {

/// The pods that an engine was given to compile or to prepare, until they are released. Forks of the engine ask in
/// their own threads.
class KnownPods {
 public:
  /// All of them, or none when it throws.
  void add(std::span<const PodToPlace> pods, bool prepared);
  void remove(std::span<const PodToPlace> pods) noexcept;

  /// @throws std::logic_error naming the first pod that is not compiled
  void check_compiled(std::span<const PodToPlace> pods) const;
  /// @throws std::logic_error naming the first pod that is not prepared
  void check_prepared(std::span<const PodToPlace> pods) const;

 private:
  struct Known {
    PodPtr pod;  ///< kept, so that no other pod gets its address
    bool is_prepared = false;
  };
  const Known* find(const Pod& pod) const;

  mutable std::mutex mutex_;
  std::map<const Pod*, Known> known_;
};

}  // namespace berth::reference
