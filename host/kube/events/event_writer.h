// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/events/event_recorder.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {

/// resourceVersions as the event's author saw them; empty: unknown.
struct EventVersions {
  std::string pod = {};
  std::string related = {};
};

/// Runs an EventRecorder on the thread of an HTTP client. Any thread may call; record() leaves the work to the client's
/// thread.
class EventWriter {
 public:
  struct Parts {
    HttpClient& client;
    Timers& timers;  ///< of the same client
    const Clock& clock;
    std::function<void(const std::string&)> log;  ///< one line; on the client's thread
    /// EventRecorder::set_yields(), asked before each request. On the client's thread; null: never.
    std::function<bool()> yields = {};
  };

  /// The client's thread ends before the parts and this do.
  EventWriter(Parts parts, EventRecorderOptions options, std::function<std::int64_t()> wall_time_us,
              std::uint64_t seed);

  /// Of `event`, reason and action are literals. The reporting controller is the scheduler of the event's author: of
  /// its related pod, or its pod.
  void record(const SchedulerEvent& event, EventVersions versions = {});
  /// No event waits for the server.
  bool is_written() const;
  EventCounts counts() const;

 private:
  void step();
  void take_inbox();
  void wake_at(std::int64_t time_us);

  Parts parts_;
  const std::size_t inbox_max_;
  mutable std::mutex mutex_;
  EventRecorder recorder_;
  struct Recorded {
    SchedulerEvent event;
    EventVersions versions;
  };
  std::vector<Recorded> inbox_;                                      ///< not taken by the client's thread yet
  std::int64_t dropped_ = 0;                                         ///< of a full inbox
  std::int64_t wake_us_ = std::numeric_limits<std::int64_t>::max();  ///< the earliest timer that is set
};

}  // namespace berth
