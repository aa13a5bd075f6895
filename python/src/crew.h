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

  /// Calls task(0) to task(count - 1), each once, in any order. Tasks do not throw. One call at a time.
  void run(std::size_t count, const std::function<void(std::size_t)>& task) {
    while (workers_.size() + 1 < wanted_) workers_.emplace_back([this] { work(); });
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      count_ = count;
      next_ = 0;
      busy_ = workers_.size();
      ++round_;
    }
    begins_.notify_all();
    take(task, count);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void take(const std::function<void(std::size_t)>& task, std::size_t count) {
    for (std::size_t i = next_++; i < count; i = next_++) task(i);
  }

  void work() {
    std::size_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      begins_.wait(lock, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      const auto* const task = task_;
      const std::size_t count = count_;
      lock.unlock();
      take(*task, count);
      lock.lock();
      if (--busy_ == 0) ended_.notify_all();
    }
  }

  std::size_t wanted_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begins_, ended_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0, busy_ = 0, round_ = 0;
  std::atomic<std::size_t> next_{0};
  bool ends_ = false;
};

}  // namespace berth_python
