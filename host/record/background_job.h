// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace berth {

/// A thread that runs one job at a time for the thread that owns it. What a job throws comes out of the owner's next
/// call, and no further job runs.
class BackgroundJob {
 public:
  BackgroundJob() = default;
  /// Waits for the job that is running.
  ~BackgroundJob();
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;

  /// Waits for the job before, then starts this one. The first call starts the thread.
  /// @throws what the job before threw; std::system_error when no thread can be started
  void start(std::function<void()> job);
  /// Waits until no job runs. @throws what the last one threw
  void wait();
  /// The same. @return what the last one threw; null: nothing
  std::exception_ptr wait_for_failure() noexcept;

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  ///< empty: none is running
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace berth
