// SPDX-License-Identifier: Apache-2.0
#include "host/live/lease_keeper.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "host/kube/calls/api_requests.h"

namespace berth {

LeaseKeeper::LeaseKeeper(Parts parts, ElectionOptions options, std::function<std::int64_t()> wall_time_us,
                         std::uint64_t seed)
    : parts_(std::move(parts)), elector_(std::move(options), parts_.clock, std::move(wall_time_us), seed) {}

void LeaseKeeper::start() {
  parts_.timers.after(0, [this] { step(); });
}

/// On the client's thread: sends what the elector asks for, and sets a timer for the next look.
void LeaseKeeper::step() {
  std::optional<ElectionRequest> next;
  std::vector<std::string> messages;
  std::vector<HttpRequest> events;
  std::int64_t wait_us = -1;
  bool has_changed = false;
  {
    const std::lock_guard lock(mutex_);
    next = elector_.next_request();
    messages = elector_.take_messages();
    events = elector_.take_events();
    has_changed = std::exchange(told_, elector_.state()) != elector_.state();
    const std::int64_t now_us = parts_.clock.now_us();
    if (next_step_us_ <= now_us) next_step_us_ = INT64_MAX;  // this is that step, or it follows at once
    const std::int64_t wake_us = elector_.next_wake_us();
    if (wake_us < next_step_us_) {
      next_step_us_ = wake_us;
      wait_us = std::max<std::int64_t>(wake_us - now_us, 0);
    }
    if (elector_.is_done()) done_.notify_all();
  }
  for (const std::string& message : messages) parts_.log.info(message);
  for (HttpRequest& event : events)
    parts_.client.start(std::move(event), [this](const HttpResponse& response) {
      if (!response.is_success())
        parts_.log.warning("The event of the election was not written", {{"err", status_of_answer(response).message}});
    });
  if (has_changed) parts_.on_change();
  if (next)
    parts_.client.start(std::move(next->request), [this, id = next->id](const HttpResponse& response) {
      {
        const std::lock_guard lock(mutex_);
        elector_.on_response(id, response);
      }
      step();
    });
  if (wait_us >= 0) parts_.timers.after(wait_us, [this] { step(); });
}

void LeaseKeeper::stop(std::int64_t timeout_us) {
  std::unique_lock lock(mutex_);
  elector_.stop();
  parts_.timers.after(0, [this] { step(); });
  done_.wait_for(lock, std::chrono::microseconds(timeout_us), [this] { return elector_.is_done(); });
}

bool LeaseKeeper::is_leading() const {
  const std::lock_guard lock(mutex_);
  return elector_.state() == LeaderElector::State::kLeading && elector_.may_write();
}

bool LeaseKeeper::is_lost() const {
  const std::lock_guard lock(mutex_);
  return elector_.state() == LeaderElector::State::kLost;
}

bool LeaseKeeper::may_write() const {
  const std::lock_guard lock(mutex_);
  return elector_.may_write();
}

std::string LeaseKeeper::health_problem() const {
  const std::lock_guard lock(mutex_);
  return elector_.health_problem();
}

std::int64_t LeaseKeeper::slow_path_count() const {
  const std::lock_guard lock(mutex_);
  return elector_.slow_path_count();
}

}  // namespace berth
