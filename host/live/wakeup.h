// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace berth {

/// Where a thread waits, and where others leave work for it.
class Wakeup {
 public:
  // Any thread
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      is_awake_ = true;
    }
    condition_.notify_one();
  }
  /// The waiting thread calls `work` before it waits again.
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(work));
      is_awake_ = true;
    }
    condition_.notify_one();
  }

  // The waiting thread
  /// Until somebody calls wake() or post(), or has done so since the last wait; at most so long.
  void wait_us(std::int64_t at_most_us) {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, std::chrono::microseconds(at_most_us), [this] { return is_awake_; });
    is_awake_ = false;
  }
  std::vector<std::function<void()>> take_posted() {
    const std::lock_guard lock(mutex_);
    return std::exchange(posted_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_awake_ = false;
  std::vector<std::function<void()>> posted_;
};

}  // namespace berth
