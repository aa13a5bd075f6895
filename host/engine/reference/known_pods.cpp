// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/known_pods.h"

#include "batching/unknown_pod.h"

namespace berth::reference {

void KnownPods::add(std::span<const PodToPlace> pods, bool prepared) {
  std::map<const Pod*, Known> added;
  for (const PodToPlace& pod : pods) added.try_emplace(pod.pod.get(), Known{pod.pod, false});
  const std::lock_guard lock(mutex_);
  // Nothing below allocates.
  known_.merge(added);
  if (!prepared) return;
  for (const PodToPlace& pod : pods) known_.find(pod.pod.get())->second.is_prepared = true;
}

void KnownPods::remove(std::span<const PodToPlace> pods) noexcept {
  const std::lock_guard lock(mutex_);
  for (const PodToPlace& pod : pods) known_.erase(pod.pod.get());
}

const KnownPods::Known* KnownPods::find(const Pod& pod) const {
  const auto found = known_.find(&pod);
  return found == known_.end() ? nullptr : &found->second;
}

void KnownPods::check_compiled(std::span<const PodToPlace> pods) const {
  const std::lock_guard lock(mutex_);
  for (const PodToPlace& pod : pods)
    if (find(*pod.pod) == nullptr) throw_not_compiled(*pod.pod);
}

void KnownPods::check_prepared(std::span<const PodToPlace> pods) const {
  const std::lock_guard lock(mutex_);
  for (const PodToPlace& pod : pods) {
    const Known* const known = find(*pod.pod);
    if (known == nullptr || !known->is_prepared) throw_not_prepared(*pod.pod);
  }
}

}  // namespace berth::reference
