// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth {

/// The threads that serve connections. A connection for which there is neither a thread nor a place is run at once, on
/// the calling thread, with is_refused() set, so that it can close its socket.
class ConnectionPool : public httplib::TaskQueue {
 public:
  ConnectionPool(std::size_t thread_count, std::size_t waiting_max);
  ~ConnectionPool() override;

  void enqueue(std::function<void()> serve) override;
  /// Those that wait are refused; those that are served end.
  void shutdown() override;

  bool others_wait() const { return waiting_count_.load(std::memory_order_relaxed) > 0; }
  static bool is_refused();  ///< on the calling thread, now

 private:
  void work();
  static void refuse(const std::function<void()>& serve);

  const std::size_t waiting_max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::atomic<std::size_t> waiting_count_{0};
  std::size_t idle_threads_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace berth
