// SPDX-License-Identifier: Apache-2.0
#pragma once

// How an OverlayFork reads its engine, for the sources of that class alone.

#include <mutex>
#include <new>
#include <shared_mutex>
#include <span>

#include "batching/commit_state.h"
#include "batching/overlay_fork.h"
#include "batching/unknown_pod.h"

namespace berth {

/// What can be told without the engine that prepares pods, from which the fork may be separated.
/// @throws std::logic_error naming the first pod that was never compiled
inline void check_known(std::span<const PodToPlace> pods) {
  for (const PodToPlace& pod : pods)
    if (pod.handle == 0) throw_not_prepared(*pod.pod);
}

/// The engine does not change while this exists. Where the fork reads an engine no more, it keeps nobody waiting.
class OverlayFork::Reading {
 public:
  explicit Reading(ForkSource& source) : source_(source), lock_(*source.mutex) {
    if (!is_live()) lock_.unlock();
  }
  bool is_live() const { return source_.live != nullptr; }
  /// Runs `body` while no other fork reads the engine, if it is still live. Afterwards it may have changed.
  template <class Body>
  void alone(Body body) {
    if (!is_live()) return;
    lock_.unlock();
    {
      const std::unique_lock alone(*source_.mutex);
      CommitState* const live = source_.live;  // which the body may separate from this source
      try {
        if (live != nullptr) body();
      } catch (const std::bad_alloc&) {
        live->set_void();
        throw;
      }
    }
    lock_.lock();
    if (!is_live()) lock_.unlock();
  }

 private:
  ForkSource& source_;
  std::shared_lock<ReadersAndWriter> lock_;
};

/// Runs `body(reading)` on the overlay, if that can answer. Where memory runs out, the next call opens an engine.
/// @return whether it did
template <class Body>
bool OverlayFork::on_overlay(Body body) {
  history_.check_not_spent();
  if (state_ == nullptr || state_->is_void()) return false;
  try {
    Reading reading(*source_);
    if (reading.is_live() && source_->live->is_void()) reading.alone([&] { source_->live->leave_forks(); });
    return follow_new_columns(reading) && body(reading);
  } catch (const std::bad_alloc&) {
    state_->set_void();
    throw;
  }
}

}  // namespace berth
