// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/store_scheduler.h"

#include <algorithm>
#include <stdexcept>

#include "host/scheduler/loop/store_client.h"

namespace berth {

struct StoreScheduler::Parts {
  StoreClient own_client;
  SchedulingLoop loop;
  Watch watch;
  std::size_t batch_pods_max;

  Parts(ObjectStore& store, const StoreContents& start, const LoopOptions& options, LoopObserver& observer,
        ApiClient* client)
      : own_client(store),
        loop(start, options, store.clock(), client != nullptr ? *client : own_client, observer),
        watch(store.watch(start.resource_version).watch),
        batch_pods_max(options.batch_pods_max) {}

  bool read_events() {
    const WatchBatch batch = watch.poll();
    if (!batch.status.is_success())
      throw std::runtime_error("the scheduler fell behind the store's events: " + batch.status.message);
    if (!batch.events.empty()) loop.take(batch.events);
    return !batch.events.empty();
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
    goes_on = goes_on || now > 0;
    if (popped >= attempts_max) break;
  }
  return popped;
}

std::int64_t StoreScheduler::next_wake_us() const { return parts_->loop.next_wake_us(); }

const SchedulingLoop& StoreScheduler::loop() const { return parts_->loop; }

}  // namespace berth
