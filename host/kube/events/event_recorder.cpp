// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/kube/access/surroundings.h"
#include "host/kube/watch/watch_text.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kSweepUs = 360 * kSecondUs;
constexpr std::int64_t kRefreshUs = 1800 * kSecondUs;
constexpr std::int64_t kRetryUs = 10 * kSecondUs;
constexpr std::int64_t kFirstRetryUs = kSecondUs / 2;
constexpr int kDoublings = 5;  ///< until kRetryUs is reached
constexpr double kRetryJitter = 0.25;
constexpr int kTriesMax = 12;
constexpr int kRetryAftersMax = 10;
constexpr std::size_t kWaitingPerRequest = 512;
constexpr int kForbidden = 403;
constexpr int kRefusalsMax = 5;  ///< in some eight seconds
constexpr std::int64_t kRetryAfterMaxS = 3600;
constexpr std::size_t kNoteBytesMax = 1024;
constexpr std::size_t kMessagesMax = 100;
constexpr std::size_t kReasonBytesMax = 300;

/// As schedule_one.go's truncateMessage(), but cut between two characters.
std::string note_of(const std::string& note) {
  constexpr std::string_view kEnd = " ...";
  if (note.size() <= kNoteBytesMax) return note;
  std::size_t end = kNoteBytesMax - kEnd.size();
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xc0u) == 0x80u) --end;
  return note.substr(0, end) + std::string(kEnd);
}

bool is_try_later(const HttpResponse& response) {
  return (response.status == 429 || response.status >= 500) && response.retry_after_s.has_value();
}

}  // namespace

ObjectReference pod_reference(const Pod& pod, std::string_view resource_version) {
  ObjectReference reference;
  reference.namespace_ = pod.namespace_;
  reference.name = pod.name;
  reference.uid = pod.stored_uid;
  reference.resource_version = resource_version;
  return reference;
}

EventRecorder::EventRecorder(EventRecorderOptions options, const Clock& clock,
                             std::function<std::int64_t()> wall_time_us, std::uint64_t seed)
    : options_(std::move(options)),
      clock_(&clock),
      wall_time_us_(std::move(wall_time_us)),
      dice_(seed),
      keys_(options_.keys),
      next_sweep_us_(clock.now_us() + kSweepUs),
      next_refresh_us_(clock.now_us() + kRefreshUs) {
  Write discovery;
  discovery.purpose = Purpose::kDiscovery;
  delayed_.emplace(clock.now_us(), std::move(discovery));
}

void EventRecorder::record(const SchedulerEvent& event, const EventContext& context) {
  ++counts_.recorded;
  Write write;
  EventObject& object = write.event;
  object.time_us = wall_time_us_();
  // Names within one microsecond differ in the nanoseconds, which the clock does not give.
  const std::int64_t time_ns = object.time_us * 1000 + static_cast<std::int64_t>(name_count_++ % 1000);
  object.name = event_name(event.pod->name, time_ns);
  object.namespace_ = event.pod->namespace_.empty() ? "default" : event.pod->namespace_;
  object.is_warning = event.is_warning;
  object.reason = event.reason;
  object.action = event.action;
  object.note = note_of(event.note);
  object.reporting_controller = context.scheduler_name;
  object.reporting_instance = context.scheduler_name + "-" + options_.host_name;
  object.regarding = pod_reference(*event.pod, context.resource_version);
  object.related = context.related;
  write.key = key_of(object);
  switch (keys_.add(write.key, object, time_ns, clock_->now_us())) {
    case EventKeys::Seen::kFirst:
      return put(std::move(write));
    case EventKeys::Seen::kSecond:
      write.form = Form::kPatch;
      return put(std::move(write));
    case EventKeys::Seen::kFurther:
      ++counts_.folded;
  }
}

void EventRecorder::put(Write write) {
  if (waiting() >= options_.waiting_max) {
    if (counts_.dropped_full++ == 0) {
      say("events are dropped: " + std::to_string(options_.waiting_max) + " wait for the API server");
    }
    if (write.purpose == Purpose::kFinish) keys_.keep(write.key);
    return;
  }
  ready_.push_back(std::move(write));
}

// ---- what is to be sent when

void EventRecorder::take_due() {
  const std::int64_t now_us = clock_->now_us();
  while (!delayed_.empty() && delayed_.begin()->first <= now_us) {
    // In front: they were there before the ones that wait.
    ready_.push_front(std::move(delayed_.begin()->second));
    delayed_.erase(delayed_.begin());
  }
  if (now_us >= next_sweep_us_ || now_us >= next_refresh_us_) sweep();
}

void EventRecorder::sweep() {
  const std::int64_t now_us = clock_->now_us();
  const bool finishes = now_us >= next_sweep_us_;
  const bool refreshes = now_us >= next_refresh_us_;
  if (finishes) keys_.forget_old_singles();
  keys_.for_each_series([&](const EventKey& key, EventKeys::Series& series) {
    if (series.is_finishing) return;
    const bool is_over = finishes && series.last_us < now_us - kSweepUs;
    if (!is_over && !refreshes) return;
    series.is_finishing = is_over;
    Write write;
    write.event = series.event;
    write.key = key;
    write.form = Form::kPatch;
    write.purpose = is_over ? Purpose::kFinish : Purpose::kRefresh;
    put(std::move(write));
  });
  if (finishes) next_sweep_us_ = now_us + kSweepUs;
  if (refreshes) next_refresh_us_ = now_us + kRefreshUs;
}

bool EventRecorder::has_room() const {
  const std::size_t room = yields_ ? 1 + ready_.size() / kWaitingPerRequest : options_.in_flight_max;
  return in_flight_.size() < std::min(room, options_.in_flight_max);
}

std::optional<EventRecorder::Request> EventRecorder::next_request() {
  take_due();
  if (ready_.empty() || !has_room()) return std::nullopt;
  // Until the API is known only the discovery goes out, which stands in front whenever it is due.
  if (!api_ && ready_.front().purpose != Purpose::kDiscovery) return std::nullopt;
  Request next;
  next.id = ++last_id_;
  Write& write = ready_.front();
  if (write.purpose == Purpose::kDiscovery) {
    next.request.path = "/apis/events.k8s.io/v1";
  } else {
    next.request = write.form == Form::kCreate ? create_event_request(write.event, *api_)
                                               : patch_series_request(write.event, *api_);
  }
  next.request.timeout_us = 30 * kSecondUs;
  in_flight_.emplace(next.id, std::move(write));
  ready_.pop_front();
  return next;
}

std::int64_t EventRecorder::next_wake_us() const {
  std::int64_t wake_us = std::min(next_sweep_us_, next_refresh_us_);
  if (!delayed_.empty()) wake_us = std::min(wake_us, delayed_.begin()->first);
  const bool can_send = !ready_.empty() && has_room() && (api_ || ready_.front().purpose == Purpose::kDiscovery);
  return can_send ? std::min(wake_us, clock_->now_us()) : wake_us;
}

// ---- answers

void EventRecorder::on_response(std::uint64_t id, const HttpResponse& response) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  Write write = std::move(found->second);
  in_flight_.erase(found);
  if (write.purpose == Purpose::kDiscovery) {
    on_discovery(std::move(write), response);
  } else if (response.is_success()) {
    on_written(write);
  } else if (response.status == 0) {
    on_no_answer(std::move(write), response.problem);
  } else if (is_try_later(response)) {
    if (++write.retry_afters > kRetryAftersMax) {
      ++counts_.dropped_tries;
      if (write.purpose == Purpose::kFinish) keys_.keep(write.key);
      return;
    }
    try_later(std::move(write), std::clamp<std::int64_t>(*response.retry_after_s, 1, kRetryAfterMaxS) * kSecondUs);
  } else {
    on_refused(std::move(write), response);
  }
}

void EventRecorder::on_discovery(Write write, const HttpResponse& response) {
  const bool is_unknown = response.status == 0 || response.status == 429 || response.status >= 500;
  if (is_unknown) {
    const std::int64_t delay_us = jittered_delay_us(write.tries++);
    return try_later(std::move(write), delay_us);
  }
  api_ = response.status == 404 ? EventApi::kCoreV1 : EventApi::kEventsV1;
  if (*api_ == EventApi::kCoreV1) say("the API server has no events.k8s.io/v1; events are written to v1");
}

void EventRecorder::on_written(const Write& write) {
  ++counts_.written;
  if (write.purpose == Purpose::kFinish) keys_.finish(write.key);
}

void EventRecorder::on_refused(Write write, const HttpResponse& response) {
  if (write.form == Form::kPatch && response.status == 404) {
    write.form = Form::kCreate;
    ready_.push_front(std::move(write));
    return;
  }
  // An API server that has just started refuses everything until it has read its roles.
  if (response.status == kForbidden && ++write.refusals < kRefusalsMax) {
    const std::int64_t delay_us = jittered_delay_us(write.refusals - 1);
    return try_later(std::move(write), delay_us);
  }
  // Between the patch and the creation that took its place another writer created it.
  const bool is_series = write.event.series.has_value();
  if (write.form == Form::kCreate && response.status == 409 && is_series) {
    return on_no_answer(std::move(write), "it was created meanwhile");
  }
  // The try before was taken, and its answer was lost.
  if (write.form == Form::kCreate && response.status == 409 && write.tries > 0) return on_written(write);
  reject(write, "status " + std::to_string(response.status) + ": " +
                    escaped_for_message(read_api_status(response.body).message, kReasonBytesMax));
}

void EventRecorder::on_no_answer(Write write, const std::string& problem) {
  if (write.purpose == Purpose::kRefresh) return;  // the next refresh writes it
  if (write.purpose == Purpose::kFinish) return keys_.keep(write.key);
  if (++write.tries >= kTriesMax) {
    ++counts_.dropped_tries;
    return say("event " + write.event.namespace_ + "/" + write.event.name + " was dropped after " +
               std::to_string(kTriesMax) + " tries: " + problem);
  }
  if (write.event.series) write.form = Form::kPatch;
  const std::int64_t delay_us = jittered_delay_us(write.tries - 1);
  try_later(std::move(write), delay_us);
}

void EventRecorder::reject(const Write& write, const std::string& why) {
  ++counts_.rejected;
  if (write.purpose == Purpose::kFinish) keys_.finish(write.key);
  say("the API server refused event " + write.event.namespace_ + "/" + write.event.name + ": " + why);
}

void EventRecorder::try_later(Write write, std::int64_t delay_us) {
  delayed_.emplace(clock_->now_us() + delay_us, std::move(write));
}

std::int64_t EventRecorder::jittered_delay_us(int tries) {
  const double factor = 1 + kRetryJitter * std::uniform_real_distribution<double>(0, 1)(dice_);
  const std::int64_t delay_us = tries < kDoublings ? kFirstRetryUs << tries : kRetryUs;
  return static_cast<std::int64_t>(static_cast<double>(std::min(delay_us, kRetryUs)) * factor);
}

void EventRecorder::say(std::string message) {
  if (messages_.size() < kMessagesMax) messages_.push_back(std::move(message));
}

std::vector<std::string> EventRecorder::take_messages() { return std::exchange(messages_, {}); }

}  // namespace berth
