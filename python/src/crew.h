// SPDX-License-Identifier: Apache-2.0
/// Threads that take the tasks of a call, with the thread that calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth_python {

class Crew {
 public:
  /// @param threads  with the calling one; they start with the first run()
  explicit Crew(std::size_t threads) : wanted_(threads == 0 ? 1 : threads) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    begins_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  /// Calls task(0) to task(count - 1), each once, in any order. Tasks do not throw. One call at a time. Each thread
  /// begins with the same share of the tasks in each call, whose memory its processor may have kept, and then takes
  /// others'.
  void run(std::size_t count, const std::function<void(std::size_t)>& task) {
    while (workers_.size() + 1 < wanted_) workers_.emplace_back([this, number = workers_.size() + 1] { work(number); });
    if (shares_.empty()) shares_ = std::vector<Share>(wanted_);
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      for (std::size_t s = 0; s < wanted_; ++s) {
        shares_[s].next = s * count / wanted_;
        shares_[s].end = (s + 1) * count / wanted_;
      }
      busy_ = workers_.size();
      ++round_;
    }
    begins_.notify_all();
    take(task, 0);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  /// Tasks that no thread has taken yet. Threads write to different cache lines.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  void take(const std::function<void(std::size_t)>& task, std::size_t first) {
    for (std::size_t s = 0; s < wanted_; ++s) {
      Share& share = shares_[(first + s) % wanted_];
      for (std::size_t i = share.next++; i < share.end; i = share.next++) task(i);
    }
  }

  void work(std::size_t number) {
    std::size_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      begins_.wait(lock, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      const auto* const task = task_;
      lock.unlock();
      take(*task, number);
      lock.lock();
      if (--busy_ == 0) ended_.notify_all();
    }
  }

  std::size_t wanted_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begins_, ended_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t busy_ = 0, round_ = 0;
  std::vector<Share> shares_;  ///< [thread], the calling one first
  bool ends_ = false;
};

}  // namespace berth_python
