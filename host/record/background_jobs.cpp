// SPDX-License-Identifier: Apache-2.0
#include "host/record/background_jobs.h"

#include <utility>

namespace berth {

BackgroundJobs::~BackgroundJobs() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundJobs::run_now(const std::function<void()>& job) {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    job();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

void BackgroundJobs::add(std::function<void()> job) {
  if (runs_at_once_) return run_now(job);
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  {
    const std::lock_guard lock(mutex_);
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    jobs_.push_back(std::move(job));
    ++open_;
  }
  changed_.notify_all();
}

void BackgroundJobs::wait() {
  if (const std::exception_ptr failure = wait_for_failure()) std::rethrow_exception(failure);
}

std::exception_ptr BackgroundJobs::wait_for_failure() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_ == 0; });
  return failure_;
}

void BackgroundJobs::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !jobs_.empty() || ends_; });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    std::exception_ptr failure = failure_;
    lock.unlock();
    try {
      if (failure == nullptr) job();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (--open_ == 0) changed_.notify_all();
  }
}

}  // namespace berth
