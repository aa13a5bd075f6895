// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "host/kube/events/event_writer.h"
#include "host/live/live_scheduler.h"

namespace berth {

/// What the loop records goes to the API server, with the versions of pods that its author saw.
class WrittenEvents : public EventSink {
 public:
  /// A pod's resourceVersion as the watches know it; 0: they do not know the pod.
  using WatchedVersion = std::function<std::uint64_t(const Pod&)>;

  WrittenEvents(EventWriter& writer, WatchedVersion watched) : writer_(writer), watched_(std::move(watched)) {}
  void add(const SchedulerEvent& event) override;
  void note_contents(const StoreContents& contents) override;
  void note_events(std::span<const WatchEvent> events) override;

 private:
  void note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after);
  std::string version_of(const Pod& pod) const;

  EventWriter& writer_;
  WatchedVersion watched_;
  /// [uid] of pods on no node, and of those whose binding was not told yet: as the attempt saw them, which watches may
  /// have overtaken.
  std::unordered_map<std::string, std::uint64_t> versions_;
};

}  // namespace berth
