// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/io_loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace berth {

IoLoop::IoLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = wakeup_}};
  if (epoll_ >= 0 && wakeup_ >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) == 0) return;
  const std::string problem = fmt::format("no descriptors to wait for sockets: {}", std::strerror(errno));
  if (epoll_ >= 0) close(epoll_);
  if (wakeup_ >= 0) close(wakeup_);
  throw std::runtime_error(problem);
}

IoLoop::~IoLoop() {
  close(wakeup_);
  close(epoll_);
}

void IoLoop::wake() {
  // The loop clears the mark before it looks at what there is to do: who finds it set is seen all the same.
  if (is_awake_.exchange(true) || is_own_thread()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wakeup_, &one, sizeof one);  // fails where it counts very far already
}

void IoLoop::after(std::int64_t delay_us, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    new_timers_.emplace_back(Monotonic::now() + std::chrono::microseconds(delay_us), std::move(work));
  }
  wake();
}

void IoLoop::run_once(std::int64_t wait_us) {
  thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  do_due();
  wait(wait_ms(wait_us));
  is_awake_ = false;
  do_due();
}

void IoLoop::do_due() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [at, work] : new_timers_) timers_.emplace(at, std::move(work));
    new_timers_.clear();
  }
  if (!timers_.empty()) {
    const Monotonic::time_point now = Monotonic::now();
    while (!timers_.empty() && timers_.begin()->first <= now) timers_.extract(timers_.begin()).mapped()();
  }
  for (Driver* const driver : drivers_) driver->on_turn();
}

int IoLoop::wait_ms(std::int64_t wait_us) const {
  if (is_awake_ || wait_us <= 0) return 0;
  Monotonic::time_point until = Monotonic::time_point::max();
  if (!timers_.empty()) until = timers_.begin()->first;
  for (const Driver* const driver : drivers_) until = std::min(until, driver->next_turn());
  std::int64_t left_ms = (wait_us + 999) / 1000;
  if (until != Monotonic::time_point::max())
    left_ms =
        std::min<std::int64_t>(left_ms, std::chrono::ceil<std::chrono::milliseconds>(until - Monotonic::now()).count());
  return static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, 60'000));
}

void IoLoop::wait(int wait_ms) {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()), wait_ms);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.fd == wakeup_) {
      std::uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t bytes = read(wakeup_, &wakes, sizeof wakes);
      continue;
    }
    const auto at = sockets_.find(event.data.fd);  // gone where the callback before closed it
    if (at == sockets_.end()) continue;
    // A socket that has failed says so to whoever reads or writes.
    const bool has_failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    at->second->on_ready(event.data.fd, has_failed || (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0);
  }
}

void IoLoop::watch_socket(Driver& driver, int socket, bool reads, bool writes) {
  epoll_event event{.events = (reads ? EPOLLIN : 0U) | (writes ? EPOLLOUT : 0U), .data = {.fd = socket}};
  if (event.events == 0) {
    sockets_.erase(socket);
    epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);  // fails where the socket is closed, which is as good
    return;
  }
  const bool is_new = sockets_.insert_or_assign(socket, &driver).second;
  if (!is_new && epoll_ctl(epoll_, EPOLL_CTL_MOD, socket, &event) == 0) return;
  // Or it is new all the same: its number is that of a socket that was closed, and is gone from the epoll with it.
  epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
}

void IoLoop::remove_driver(Driver& driver) {
  std::erase(drivers_, &driver);
  for (auto at = sockets_.begin(); at != sockets_.end();) {
    const auto one = at++;
    if (one->second == &driver) watch_socket(driver, one->first, false, false);
  }
}

}  // namespace berth
