// SPDX-License-Identifier: Apache-2.0
#include "host/live/signals.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace berth {
namespace {

constexpr int kEndOfThread = SIGUSR1;

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR2, kEndOfThread}) sigaddset(&set, signal);
  return set;
}

}  // namespace

void SignalThread::hold_signals() {
  const sigset_t set = taken_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalThread::SignalThread(std::function<void()> on_end, std::function<void()> on_dump) {
  hold_signals();
  const sigset_t set = taken_signals();
  thread_ = std::thread([set, on_end = std::move(on_end), on_dump = std::move(on_dump)] {
    for (;;) {
      int signal = 0;
      if (sigwait(&set, &signal) != 0) continue;
      if (signal == kEndOfThread) return;
      signal == SIGUSR2 ? on_dump() : on_end();
    }
  });
}

SignalThread::~SignalThread() {
  pthread_kill(thread_.native_handle(), kEndOfThread);
  thread_.join();
}

}  // namespace berth
