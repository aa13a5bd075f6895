// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace berth {

/// Takes SIGTERM, SIGINT and SIGUSR2 on a thread, from its making to its end.
class SignalThread {
 public:
  /// Keeps the signals from the calling thread and from those that it starts: to be called before there are others.
  static void hold_signals();

  /// @param on_end   SIGTERM or SIGINT came @param on_dump  SIGUSR2 came. Both are called on the thread
  SignalThread(std::function<void()> on_end, std::function<void()> on_dump);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace berth
