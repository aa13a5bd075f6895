// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/store_scheduler.h"

#include <algorithm>
#include <stdexcept>

#include "host/scheduler/loop/store_client.h"

namespace berth {

struct StoreScheduler::Parts {
  ObjectStore& store;
  StoreClient own_client;
  SchedulingLoop loop;
  Watch watch;
  std::size_t batch_pods_max;

  Parts(ObjectStore& watched, const StoreContents& start, const LoopOptions& options, LoopObserver& observer,
        ApiClient* client)
      : store(watched),
        own_client(watched),
        loop(start, options, watched.clock(), client != nullptr ? *client : own_client, observer),
        watch(watched.watch(start.resource_version).watch),
        batch_pods_max(options.batch_pods_max) {}

  bool read_events() {
    const WatchBatch batch = watch.poll();
    if (batch.status.reason == StoreReason::kExpired) {
      list_again();
      return true;
    }
    if (!batch.status.is_success()) throw std::runtime_error("the store's events: " + batch.status.message);
    if (batch.events.empty() && !loop.awaits_events()) return false;
    loop.take(batch.events);
    return true;
  }

  /// Events were dropped before they were read.
  void list_again() {
    const StoreContents contents = store.list_all();
    watch = store.watch(contents.resource_version).watch;
    loop.take_list(contents);
  }
};

StoreScheduler::StoreScheduler(ObjectStore& store, const LoopOptions& options, LoopObserver& observer)
    : parts_(std::make_unique<Parts>(store, store.list_all(), options, observer, nullptr)) {}

StoreScheduler::StoreScheduler(ObjectStore& store, const LoopOptions& options, LoopObserver& observer,
                               ApiClient& client)
    : parts_(std::make_unique<Parts>(store, store.list_all(), options, observer, &client)) {}

StoreScheduler::~StoreScheduler() = default;

std::size_t StoreScheduler::run(std::size_t attempts_max) {
  std::size_t popped = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = parts_->read_events();
    const std::size_t now = parts_->loop.run(std::min(attempts_max - popped, parts_->batch_pods_max));
    popped += now;
    goes_on = goes_on || now > 0 || parts_->loop.awaits_events();
    if (popped >= attempts_max) break;
  }
  return popped;
}

std::int64_t StoreScheduler::next_wake_us() const { return parts_->loop.next_wake_us(); }

const SchedulingLoop& StoreScheduler::loop() const { return parts_->loop; }

}  // namespace berth
