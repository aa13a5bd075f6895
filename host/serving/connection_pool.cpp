// SPDX-License-Identifier: Apache-2.0
#include "host/serving/connection_pool.h"

#include <utility>

namespace berth {
namespace {

thread_local bool refuses = false;

}  // namespace

ConnectionPool::ConnectionPool(std::size_t thread_count, std::size_t waiting_max) : waiting_max_(waiting_max) {
  threads_.reserve(thread_count);
  try {
    for (std::size_t i = 0; i < thread_count; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    shutdown();
    throw;
  }
}

ConnectionPool::~ConnectionPool() { shutdown(); }

bool ConnectionPool::is_refused() { return refuses; }

void ConnectionPool::refuse(const std::function<void()>& serve) {
  refuses = true;
  serve();
  refuses = false;
}

void ConnectionPool::enqueue(std::function<void()> serve) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stops_ && waiting_.size() < waiting_max_ + idle_threads_) {
      waiting_.push_back(std::move(serve));
      waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
      changed_.notify_one();
      return;
    }
  }
  refuse(serve);
}

void ConnectionPool::work() {
  for (;;) {
    std::function<void()> serve;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      ++idle_threads_;
      changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
      --idle_threads_;
      if (waiting_.empty()) return;
      serve = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
      if (stops_) refuses = true;
    }
    serve();
    refuses = false;
  }
}

void ConnectionPool::shutdown() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace berth
