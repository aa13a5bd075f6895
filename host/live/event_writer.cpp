// SPDX-License-Identifier: Apache-2.0
#include "host/live/event_writer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/objects/pod_state.h"

namespace berth {

EventWriter::EventWriter(Parts parts, EventRecorderOptions options, std::function<std::int64_t()> wall_time_us,
                         std::uint64_t seed)
    : parts_(parts), recorder_(std::move(options), parts.clock, std::move(wall_time_us), seed) {}

void EventWriter::add(const SchedulerEvent& event) {
  EventContext context;
  context.scheduler_name = event.pod->spec->scheduler_name;
  if (const auto version = versions_.find(event.pod->uid()); version != versions_.end()) {
    context.resource_version = std::to_string(version->second);
    if (event.reason == "Scheduled") versions_.erase(version);
  }
  if (event.related != nullptr) {
    context.scheduler_name = event.related->spec->scheduler_name;
    const auto version = versions_.find(event.related->uid());
    context.related =
        pod_reference(*event.related, version == versions_.end() ? std::string() : std::to_string(version->second));
  }
  {
    const std::lock_guard lock(mutex_);
    recorder_.record(event, context);
  }
  step();
}

void EventWriter::note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after) {
  if (after == nullptr) {
    versions_.erase(before->object->uid());
  } else if (!is_assigned(*after->object)) {
    versions_.insert_or_assign(after->object->uid(), after->meta.resource_version);
  }
}

void EventWriter::note_events(std::span<const WatchEvent> events) {
  for (const WatchEvent& event : events)
    if (const auto* const pod = event.get<Pod>()) note(pod->before, pod->after);
}

void EventWriter::note_contents(const StoreContents& contents) {
  for (const StoredPtr<Pod>& pod : contents.of<Pod>()) note(nullptr, pod);
}

/// On any thread: sends what may be sent, and sets a timer for what is due later.
void EventWriter::step() {
  std::vector<EventRecorder::Request> requests;
  std::vector<std::string> messages;
  std::int64_t wait_us = -1;
  {
    const std::lock_guard lock(mutex_);
    while (std::optional<EventRecorder::Request> next = recorder_.next_request()) requests.push_back(std::move(*next));
    messages = recorder_.take_messages();
    const std::int64_t now_us = parts_.clock.now_us();
    if (next_step_us_ <= now_us) next_step_us_ = INT64_MAX;
    const std::int64_t wake_us = recorder_.next_wake_us();
    if (wake_us < next_step_us_) {
      next_step_us_ = wake_us;
      wait_us = std::max<std::int64_t>(wake_us - now_us, 0);
    }
  }
  for (const std::string& message : messages) parts_.log.warning(message);
  for (EventRecorder::Request& request : requests)
    parts_.client.start(std::move(request.request), [this, id = request.id](const HttpResponse& response) {
      {
        const std::lock_guard lock(mutex_);
        recorder_.on_response(id, response);
      }
      step();
    });
  if (wait_us >= 0) parts_.timers.after(wait_us, [this] { step(); });
}

EventCounts EventWriter::counts() const {
  const std::lock_guard lock(mutex_);
  return recorder_.counts();
}

void EventWriter::flush(std::int64_t timeout_us) {
  using Monotonic = std::chrono::steady_clock;
  const auto end = Monotonic::now() + std::chrono::microseconds(timeout_us);
  const auto is_waiting = [this] {
    const std::lock_guard lock(mutex_);
    return recorder_.waiting() > 0;
  };
  while (is_waiting() && Monotonic::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace berth
