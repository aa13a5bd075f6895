// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "host/kube/events/event_object.h"

namespace berth {

/// Of what makes two events one: all but time, name and note; the note too where the version of the object is unknown.
/// A 128-bit hash.
struct EventKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const EventKey&, const EventKey&) = default;
};

EventKey key_of(const EventObject& event);

struct EventKeyHash {
  std::size_t operator()(const EventKey& key) const { return key.low; }
};

struct EventKeyLimits {
  std::size_t singles_max = 1'000'000;  ///< in each half of the last 12 minutes; 64 MiB of memory each at most
  std::size_t series_max = 20'000;      ///< about 1 KiB each
};

/// The events that were seen, so that a repetition of one is known.
///
/// A single event is kept as its key and the number in its name, from which the object is made again when it is
/// repeated. Its second event within 6 to 12 minutes opens a series. Beyond the limits events are not remembered, and a
/// repetition is another object.
class EventKeys {
 public:
  struct Series {
    EventObject event;          ///< of the first one, with `series`
    std::int64_t last_us = 0;   ///< of the clock
    bool is_finishing = false;  ///< its last write is under way
  };
  enum class Seen : std::uint8_t { kFirst, kSecond, kFurther };

  explicit EventKeys(const EventKeyLimits& limits) : limits_(limits) {}

  /// Takes an event in. @param time_ns  in the event's name @param now_us  of the clock
  /// kSecond: `event` has become the first one, with its series, to be written.
  Seen add(const EventKey& key, EventObject& event, std::int64_t time_ns, std::int64_t now_us);

  /// Every 6 minutes: single events of before the last call are forgotten.
  void forget_old_singles();
  /// Calls visit(key, series) for each series that is open.
  void for_each_series(const std::function<void(const EventKey&, Series&)>& visit);
  /// The series' last write is over: it is forgotten, unless it was seen meanwhile.
  void finish(const EventKey& key);
  /// The last write failed, and the next sweep tries again.
  void keep(const EventKey& key);

  std::size_t single_count() const { return young_.size() + old_.size(); }
  std::size_t series_count() const { return series_.size(); }

 private:
  using Singles = tsl::robin_map<EventKey, std::int64_t, EventKeyHash>;

  std::optional<std::int64_t> take_single(const EventKey& key);

  EventKeyLimits limits_;
  Singles young_;  ///< since the last forget_old_singles(): time_ns
  Singles old_;    ///< since the one before
  std::unordered_map<EventKey, Series, EventKeyHash> series_;
};

}  // namespace berth
