// SPDX-License-Identifier: Apache-2.0
// Pods whose handles were freed wait until the engine is told of them.

#include <utility>
#include <vector>

#include "host/capi/cluster.h"

namespace berth::capi {

void Cluster::forget_released() {
  const std::unique_lock alone(mutex_);
  release_waiting(0);
}

void Cluster::forget_released_if_many() {
  if (waiting_count_.load(std::memory_order_relaxed) > kWaitingMax / 2) forget_released();
}

void Cluster::release(std::unique_ptr<ReadPod> pod) noexcept {
  const std::lock_guard alone(waiting_mutex_);
  pod->next_waiting = std::move(first_waiting_);
  first_waiting_ = std::move(pod);
  waiting_count_.fetch_add(1, std::memory_order_relaxed);
}

/// Call alone. Without memory for it, the pods wait for the next call. @param waiting_max  so many may stay
void Cluster::release_waiting(std::size_t waiting_max) noexcept {
  if (waiting_count_.load(std::memory_order_relaxed) <= waiting_max) return;
  std::unique_ptr<ReadPod> first;
  {
    const std::lock_guard alone(waiting_mutex_);
    first = std::move(first_waiting_);
    waiting_count_.store(0, std::memory_order_relaxed);
  }
  try {
    std::vector<PodToPlace> handles;
    for (const ReadPod* pod = first.get(); pod != nullptr; pod = pod->next_waiting.get()) {
      if (pod->to_place.handle != 0) handles.push_back(pod->to_place);
      if (pod->as_moved.handle != 0 && pod->as_moved.handle != pod->to_place.handle) handles.push_back(pod->as_moved);
    }
    if (!handles.empty()) {
      backend_->release(handles);
      releases_.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (...) {
    while (first != nullptr) {
      std::unique_ptr<ReadPod> next = std::move(first->next_waiting);
      release(std::move(first));
      first = std::move(next);
    }
    return;
  }
  while (first != nullptr) first = std::move(first->next_waiting);
}

}  // namespace berth::capi
