// SPDX-License-Identifier: Apache-2.0
#include "host/live/written_events.h"

#include "host/objects/pod_state.h"

namespace berth {

void WrittenEvents::add(const SchedulerEvent& event) {
  EventVersions versions{version_of(*event.pod), {}};
  if (event.related != nullptr) versions.related = version_of(*event.related);
  writer_.record(event, std::move(versions));
  if (event.reason == "Scheduled") versions_.erase(event.pod->uid());
}

void WrittenEvents::note_contents(const StoreContents& contents) {
  for (const StoredPtr<Pod>& pod : contents.of<Pod>()) note(nullptr, pod);
}

void WrittenEvents::note_events(std::span<const WatchEvent> events) {
  for (const WatchEvent& event : events)
    if (const auto* const pod = event.get<Pod>()) note(pod->before, pod->after);
}

void WrittenEvents::note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after) {
  if (after == nullptr) {
    versions_.erase(before->object->uid());
  } else if (!is_assigned(*after->object)) {
    versions_.insert_or_assign(after->object->uid(), after->meta.resource_version);
  }
}

std::string WrittenEvents::version_of(const Pod& pod) const {
  const auto kept = versions_.find(pod.uid());
  const std::uint64_t version = kept == versions_.end() ? watched_(pod) : kept->second;
  return version == 0 ? std::string() : std::to_string(version);
}

}  // namespace berth
