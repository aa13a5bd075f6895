// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/events/event_keys.h"
#include "host/kube/events/event_object.h"
#include "host/kube/http/http_client.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {

struct EventRecorderOptions {
  std::string host_name = {};
  /// Events that wait for the server, in a request or for another try; more are dropped and counted. About 1 KiB each.
  /// client-go drops above 1,000 that wait for its dispatcher, but keeps those that wait for the server without a
  /// limit, so that its limit is hardly ever met; this one is.
  std::size_t waiting_max = 50'000;
  std::size_t in_flight_max = 64;  ///< requests under way
  EventKeyLimits keys = {};
};

/// What an event names beside its pod.
struct EventContext {
  std::string scheduler_name = {};              ///< of the profile
  std::string resource_version = {};            ///< of the pod, as the event's author saw it; empty: unknown
  std::optional<ObjectReference> related = {};  ///< the preemptor, of Preempted
};

struct EventCounts {
  std::int64_t recorded = 0;       ///< record() was called
  std::int64_t folded = 0;         ///< counted in a series, without a request of their own
  std::int64_t written = 0;        ///< requests that the server took
  std::int64_t dropped_full = 0;   ///< more waited than waiting_max
  std::int64_t dropped_tries = 0;  ///< 12 tries without an answer, or 10 answers "try later"
  std::int64_t rejected = 0;       ///< the server refused them
};

ObjectReference pod_reference(const Pod& pod, std::string_view resource_version);

/// Writes events as client-go's tools/events does (docs/behaviour/scheduler-core.md 5.5, docs/scheduler/access.md),
/// without I/O: whoever has it sends its requests and passes the answers on.
///
/// Equal events, but for their notes, become one object with a series: the second sets a count of 2, further ones are
/// only counted. Every 6 minutes a series that was not seen for 6 minutes is written and forgotten, and so are single
/// events; every 30 minutes all series are written. A write without an answer is tried 12 times: after half a
/// second, then after twice as long each time, up to 10 to 12.5 s, which is client-go's wait between all tries; one
/// that the server refuses is dropped. An answer 429 or 5xx with Retry-After is obeyed, at most 10 times.
///
/// The first request asks whether the server has events.k8s.io/v1; where it answers 404, events are written to v1 with
/// the same fields and series. client-go's recorder for v1, which folds other events together, is not built.
///
/// Memory: at most waiting_max events that wait, and what EventKeys states. One thread at a time.
class EventRecorder {
 public:
  struct Request {
    std::uint64_t id = 0;
    HttpRequest request;
  };

  /// @param clock  for intervals; must outlive the recorder @param wall_time_us  the time of day
  EventRecorder(EventRecorderOptions options, const Clock& clock, std::function<std::int64_t()> wall_time_us,
                std::uint64_t seed);

  void record(const SchedulerEvent& event, const EventContext& context);

  /// Others need the server's time more: one request is under way at a time, and one more for each 512 events that
  /// wait, so that they keep pace in the end.
  void set_yields(bool yields) { yields_ = yields; }
  /// The next request to send now; nullopt where there is none. Called until it gives none, at next_wake_us(), after
  /// record() and after on_response().
  std::optional<Request> next_request();
  void on_response(std::uint64_t id, const HttpResponse& response);
  /// When next_request() may give one without a call of the others, by the clock.
  std::int64_t next_wake_us() const;

  /// Events that wait for the server. What is left when the process ends is lost.
  std::size_t waiting() const {
    const std::size_t discovery = api_ ? 0 : 1;
    return ready_.size() + delayed_.size() + in_flight_.size() - discovery;
  }
  const EventCounts& counts() const { return counts_; }
  /// Lines for the log since the last call, at most 100 of them.
  std::vector<std::string> take_messages();

 private:
  /// One request more may be sent.
  bool has_room() const;

  enum class Purpose : std::uint8_t { kDiscovery, kNew, kRefresh, kFinish };
  enum class Form : std::uint8_t { kCreate, kPatch };

  struct Write {
    EventObject event;
    EventKey key = {};
    Purpose purpose = Purpose::kNew;
    Form form = Form::kCreate;
    int tries = 0;
    int retry_afters = 0;
    int refusals = 0;  ///< answers 403
  };

  void put(Write write);
  void take_due();
  void sweep();
  void on_discovery(Write write, const HttpResponse& response);
  void on_written(const Write& write);
  void on_refused(Write write, const HttpResponse& response);
  void on_no_answer(Write write, const std::string& problem);
  void try_later(Write write, std::int64_t delay_us);
  std::int64_t jittered_delay_us(int tries);
  void reject(const Write& write, const std::string& why);
  void say(std::string message);

  EventRecorderOptions options_;
  const Clock* clock_;
  std::function<std::int64_t()> wall_time_us_;
  std::mt19937_64 dice_;
  std::optional<EventApi> api_;  ///< nullopt: not known yet
  EventKeys keys_;
  std::uint64_t name_count_ = 0;
  std::uint64_t last_id_ = 0;
  bool yields_ = false;
  std::int64_t next_sweep_us_;
  std::int64_t next_refresh_us_;
  std::deque<Write> ready_;
  std::multimap<std::int64_t, Write> delayed_;  ///< by the time of the next try
  std::unordered_map<std::uint64_t, Write> in_flight_;
  EventCounts counts_;
  std::vector<std::string> messages_;
};

}  // namespace berth
