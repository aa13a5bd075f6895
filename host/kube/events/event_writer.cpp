// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_writer.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongestTimerUs = 60'000'000;

EventContext context_of(const SchedulerEvent& event, const EventVersions& versions) {
  EventContext context;
  context.resource_version = versions.pod;
  context.scheduler_name = event.related ? event.related->spec->scheduler_name : event.pod->spec->scheduler_name;
  if (event.related) context.related = pod_reference(*event.related, versions.related);
  return context;
}

}  // namespace

EventWriter::EventWriter(Parts parts, EventRecorderOptions options, std::function<std::int64_t()> wall_time_us,
                         std::uint64_t seed)
    : parts_(std::move(parts)),
      inbox_max_(options.waiting_max),
      recorder_(std::move(options), parts_.clock, std::move(wall_time_us), seed) {}

void EventWriter::record(const SchedulerEvent& event, EventVersions versions) {
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    if (inbox_.size() >= inbox_max_) {
      ++dropped_;
      return;
    }
    is_first = inbox_.empty();
    inbox_.push_back({event, std::move(versions)});
  }
  if (is_first) parts_.timers.after(0, [this] { step(); });
}

void EventWriter::take_inbox() {
  std::vector<Recorded> recorded;
  recorded.swap(inbox_);
  for (const auto& [event, versions] : recorded) recorder_.record(event, context_of(event, versions));
}

/// On the client's thread.
void EventWriter::step() {
  std::vector<EventRecorder::Request> requests;
  std::vector<std::string> messages;
  {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now_us = parts_.clock.now_us();
    if (wake_us_ <= now_us) wake_us_ = kNever;
    take_inbox();
    recorder_.set_yields(parts_.yields && parts_.yields());
    while (auto next = recorder_.next_request()) requests.push_back(std::move(*next));
    messages = recorder_.take_messages();
    wake_at(recorder_.next_wake_us());
  }
  for (const std::string& message : messages) parts_.log(message);
  for (EventRecorder::Request& request : requests) {
    parts_.client.start(std::move(request.request), [this, id = request.id](const HttpResponse& response) {
      {
        const std::scoped_lock lock(mutex_);
        recorder_.on_response(id, response);
      }
      step();
    });
  }
}

void EventWriter::wake_at(std::int64_t time_us) {
  const std::int64_t now_us = parts_.clock.now_us();
  const std::int64_t delay_us = std::clamp<std::int64_t>(time_us - now_us, 0, kLongestTimerUs);
  if (now_us + delay_us >= wake_us_) return;
  wake_us_ = now_us + delay_us;
  parts_.timers.after(delay_us, [this] { step(); });
}

bool EventWriter::is_written() const {
  const std::scoped_lock lock(mutex_);
  return inbox_.empty() && recorder_.waiting() == 0;
}

EventCounts EventWriter::counts() const {
  const std::scoped_lock lock(mutex_);
  EventCounts counts = recorder_.counts();
  counts.recorded += dropped_;
  counts.dropped_full += dropped_;
  return counts;
}

}  // namespace berth
