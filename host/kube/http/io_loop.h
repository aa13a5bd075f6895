// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/kube/http/timers.h"

namespace berth {

/// Waits for sockets, timers and other threads, on whatever thread runs it. A thread that does all of its work between
/// two waits is woken once where several threads would wake each other.
class IoLoop : public Timers {
 public:
  using Monotonic = std::chrono::steady_clock;

  /// Owns sockets. Called on the loop's thread.
  class Driver {
   public:
    virtual ~Driver() = default;
    virtual void on_ready(int socket, bool can_read, bool can_write) = 0;
    /// Before and after each wait: does what is due and what was asked for.
    virtual void on_turn() = 0;
    /// When on_turn() has something to do although no socket is ready; max(): no such time.
    virtual Monotonic::time_point next_turn() const = 0;
  };

  /// @throws std::runtime_error where the system has no more descriptors
  IoLoop();
  ~IoLoop() override;
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // Any thread
  /// Ends the wait that is under way, or else the next one.
  void wake();
  void after(std::int64_t delay_us, std::function<void()> work) override;
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed); }

  // The loop's thread, which is the one that called run_once() last
  /// Does what is due, waits until there is something to do, and does it. @param wait_us  at most so long; 0: not at
  /// all
  void run_once(std::int64_t wait_us);
  /// From its driver's callbacks or between two runs. Neither bit: the socket is forgotten.
  void watch_socket(Driver& driver, int socket, bool reads, bool writes);
  void add_driver(Driver& driver) { drivers_.push_back(&driver); }
  /// Forgets its sockets, too. Not from a callback.
  void remove_driver(Driver& driver);

 private:
  using Timer = std::pair<Monotonic::time_point, std::function<void()>>;

  void do_due();
  int wait_ms(std::int64_t wait_us) const;
  void wait(int wait_ms);

  int epoll_ = -1;
  int wakeup_ = -1;  ///< an eventfd
  std::atomic<bool> is_awake_ = false;
  std::atomic<std::thread::id> thread_;

  std::mutex mutex_;
  std::vector<Timer> new_timers_;

  // Of the loop's thread:
  std::vector<Driver*> drivers_;
  std::unordered_map<int, Driver*> sockets_;
  std::multimap<Monotonic::time_point, std::function<void()>> timers_;
};

}  // namespace berth
