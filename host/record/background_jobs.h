// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace berth {

/// A thread that runs jobs in order for the thread that owns it. What a job throws comes out of the owner's next call,
/// with run_at_once() out of the call that adds it, and no further job runs.
class BackgroundJobs {
 public:
  BackgroundJobs() = default;
  /// Waits for all jobs.
  ~BackgroundJobs();
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  /// From now on add() runs the job itself, and there is no thread. Before the first add().
  void run_at_once() { runs_at_once_ = true; }
  /// Adds a job behind the others. The first call starts the thread.
  /// @throws what a job before threw; std::system_error when no thread can be started
  void add(std::function<void()> job);
  /// Waits until all jobs are done. @throws what one of them threw
  void wait();
  /// The same. @return what one of them threw; null: nothing
  std::exception_ptr wait_for_failure() noexcept;

 private:
  void run_now(const std::function<void()>& job);
  void loop();

  bool runs_at_once_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::size_t open_ = 0;  ///< jobs that wait or run
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace berth
