// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "host/kube/events/event_writer.h"
#include "host/live/live_scheduler.h"

namespace berth {

/// What the loop records goes to the API server, with the versions of pods that its author saw.
class WrittenEvents : public EventSink {
 public:
  explicit WrittenEvents(EventWriter& writer) : writer_(writer) {}
  void add(const SchedulerEvent& event) override;
  void note_contents(const StoreContents& contents) override;
  void note_events(std::span<const WatchEvent> events) override;

 private:
  void note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after);
  std::string version_of(const Pod& pod) const;

  EventWriter& writer_;
  /// [uid] of pods on no node, and of those whose binding was not told yet. Victims that were bound before have none.
  std::unordered_map<std::string, std::uint64_t> versions_;
};

}  // namespace berth
