// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/scheduler/loop/loop_observer.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/store/object_store.h"

namespace berth {

/// A scheduler of the pods in an ObjectStore: reads what happens there, and writes bindings, conditions and deletions.
/// Starts no thread and never waits; one call at a time. Time is that of the store's clock: with a VirtualClock the
/// caller advances it to next_wake_us() when run() has nothing more to do.
class StoreScheduler {
 public:
  /// Takes over what is in the store. @param store, observer  must outlive the scheduler
  /// @throws InputError as open_backend()
  StoreScheduler(ObjectStore& store, const LoopOptions& options, LoopObserver& observer);
  /// The same with another client of the same store: tests delay, lose and refuse calls. It must outlive the scheduler.
  StoreScheduler(ObjectStore& store, const LoopOptions& options, LoopObserver& observer, ApiClient& client);
  ~StoreScheduler();
  StoreScheduler(const StoreScheduler&) = delete;
  StoreScheduler& operator=(const StoreScheduler&) = delete;

  /// Reads what happened in the store and tries pods, until nothing is left to do now, or `attempts_max` pods were
  /// tried.
  /// @return pods that were tried; 0: nothing is left to do until the store changes, or next_wake_us() has come
  std::size_t run(std::size_t attempts_max = SIZE_MAX);
  /// When there is something to do although nothing happens in the store; ApiClient::kNeverUs: not before it does.
  std::int64_t next_wake_us() const;

  const SchedulingLoop& loop() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth
