// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/live/live_log.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {

class EventSink;

/// Passes a loop's events on, and writes what it does into the log.
class LiveObserver : public LoopObserver {
 public:
  /// @param events  null: nobody records. Both outlive this
  LiveObserver(LiveLog& log, EventSink* events) : log_(log), events_(events) {}

  void on_attempt(const Attempt& attempt) override;
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override;
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override;
  void on_mismatch(std::string_view text) override;
  void on_pause(std::size_t unbound_pods) override;
  void on_event(const SchedulerEvent& event) override;

 private:
  LiveLog& log_;
  EventSink* events_;
};

}  // namespace berth
