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
  explicit Crew(std::size_t threads) : shares_(threads == 0 ? 1 : threads) {}
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
    while (workers_.size() + 1 < shares_.size())
      workers_.emplace_back([this, own = workers_.size() + 1] { work(own); });
    {
      const std::scoped_lock lock(mutex_);
      task_ = &task;
      for (std::size_t i = 0; i < shares_.size(); ++i) {
        shares_[i].next = count * i / shares_.size();
        shares_[i].end = count * (i + 1) / shares_.size();
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
  /// The tasks of a thread, the same ones in every call, so that what they use stays in the caches of one core.
  struct alignas(64) Share {
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  /// Its own share first, and then what others have not begun.
  void take(const std::function<void(std::size_t)>& task, std::size_t own) {
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      Share& share = shares_[(own + k) % shares_.size()];
      for (std::size_t i = share.next++; i < share.end; i = share.next++) task(i);
    }
  }

  void work(std::size_t own) {
    std::size_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      begins_.wait(lock, [&] { return ends_ || round_ != seen; });
      if (ends_) return;
      seen = round_;
      const auto* const task = task_;
      lock.unlock();
      take(*task, own);
      lock.lock();
      if (--busy_ == 0) ended_.notify_all();
    }
  }

  std::vector<Share> shares_;  // one for each thread, the calling one first
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable begins_, ended_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t busy_ = 0, round_ = 0;
  bool ends_ = false;
};

}  // namespace berth_python
