// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "host/store/event_log.h"

namespace berth {

/// Events on their way from the thread that reads watches to the one that schedules. Any thread.
class EventQueue {
 public:
  /// @param wake  called without a lock when events come into an empty queue
  explicit EventQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

  void add(std::vector<WatchEvent>&& events) {
    if (events.empty()) return;
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = events_.empty();
      if (was_empty) {
        events_ = std::move(events);
      } else {
        for (WatchEvent& event : events) events_.push_back(std::move(event));
      }
    }
    if (was_empty) wake_();
  }
  /// All that have come since, in order.
  std::vector<WatchEvent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<WatchEvent> events_;
};

}  // namespace berth
