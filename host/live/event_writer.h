// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "host/kube/events/event_recorder.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/live/live_log.h"
#include "host/live/live_scheduler.h"

namespace berth {

/// Sends what an EventRecorder writes.
class EventWriter : public EventSink {
 public:
  struct Parts {
    HttpClient& client;
    Timers& timers;  ///< of the same client
    const Clock& clock;
    LiveLog& log;
  };
  /// The parts and this outlive the client's thread.
  EventWriter(Parts parts, EventRecorderOptions options, std::function<std::int64_t()> wall_time_us,
              std::uint64_t seed);

  // The scheduler's thread
  void add(const SchedulerEvent& event) override;
  void note_events(std::span<const WatchEvent> events) override;
  void note_contents(const StoreContents& contents) override;

  // Any thread
  EventCounts counts() const;
  /// Waits until no event is left to write. @param timeout_us  real time
  void flush(std::int64_t timeout_us);

 private:
  void step();
  void note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after);

  Parts parts_;
  /// [uid] resourceVersions of pods that are not bound yet, or whose binding was not told yet. The scheduler's thread.
  std::unordered_map<std::string, std::uint64_t> versions_;
  mutable std::mutex mutex_;
  EventRecorder recorder_;
  std::int64_t next_step_us_ = INT64_MAX;  ///< the earliest timer that is set
};

}  // namespace berth
