// SPDX-License-Identifier: Apache-2.0
#include "host/record/background_job.h"

#include <utility>

namespace berth {

BackgroundJob::~BackgroundJob() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundJob::start(std::function<void()> job) {
  wait();
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_all();
}

void BackgroundJob::wait() {
  if (const std::exception_ptr failure = wait_for_failure()) std::rethrow_exception(failure);
}

std::exception_ptr BackgroundJob::wait_for_failure() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
  return failure_;
}

void BackgroundJob::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      job_();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    job_ = nullptr;
    failure_ = failure;
    changed_.notify_all();
  }
}

}  // namespace berth
