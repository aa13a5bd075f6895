// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/framework/clock.h"
#include "host/record/recording_writer.h"
#include "host/scheduler/loop/loop_observer.h"

namespace berth {

/// Writes what a SchedulingLoop does into a recording.
class RecordingObserver final : public LoopObserver {
 public:
  /// @param writer, clock  outlive the observer; begin() of the writer was called
  RecordingObserver(RecordingWriter& writer, const Clock& clock) : writer_(writer), clock_(clock) {}

  void on_attempt(const Attempt& attempt) override;
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override;
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override;

 private:
  RecordingWriter& writer_;
  const Clock& clock_;
};

}  // namespace berth
