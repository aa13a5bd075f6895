// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/queue/hint_classes.h"
#include "host/queue/slot_index.h"

namespace berth {

/// Pods that are being attempted, and the events since the first of them was popped, in one list in order of arrival:
/// docs/behaviour/scheduler-core.md 1.8. Pods are known by uid.
class InFlight {
 public:
  bool contains(std::string_view uid) const { return find(uid) != kNone; }
  std::size_t pod_count() const { return by_uid_.size(); }
  std::size_t event_count() const { return event_count_; }

  /// The next `count` calls of add_pod() and add_event() need no memory afterwards.
  void make_room(std::size_t count);
  /// The pod must not be there.
  void add_pod(PodPtr pod, std::string_view uid);
  void add_event(std::shared_ptr<const RaisedEvent> event);
  /// Removes the pod's marker, and the events that no other pod has to look at. A pod that is not there has no effect.
  void remove_pod(std::string_view uid);

  /// The events behind the pod's marker, in order. The pod must be there.
  std::vector<std::shared_ptr<const RaisedEvent>> events_since(std::string_view uid) const;
  std::vector<PodPtr> pods() const;
  /// inflight_events: entries of the list, pods as "PodPopped".
  std::map<std::string, std::size_t> counts_by_label() const;

 private:
  static constexpr std::uint32_t kNone = SlotIndex::kNone;
  struct Entry {
    PodPtr pod;  ///< null: an event
    std::shared_ptr<const RaisedEvent> event;
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
  };

  std::uint32_t find(std::string_view uid) const;
  std::uint32_t append(Entry entry);
  void unlink(std::uint32_t slot);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;  ///< with room for every entry
  SlotIndex by_uid_;
  std::uint32_t first_ = kNone;
  std::uint32_t last_ = kNone;
  std::size_t event_count_ = 0;
};

}  // namespace berth
