// SPDX-License-Identifier: Apache-2.0
#pragma once

// From a list of all objects to the events that lead there: what a client does whose watch has expired.
// docs/behaviour/scheduler-core.md 8.3.

#include <concepts>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "host/store/event_log.h"
#include "host/store/stored_object.h"

namespace berth {

/// A version of which only the object is known.
template <class T>
StoredPtr<T> as_stored(std::shared_ptr<const T> object) {
  auto stored = std::make_shared<Stored<T>>();
  stored->object = std::move(object);
  return stored;
}

template <class T>
bool is_same(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  if constexpr (std::equality_comparable<T>) return a == b || *a == *b;
  return a == b;
}

/// Appends what leads from `known` to `now`, removals first; objects that are the same raise nothing.
/// @param key_of  key_of(object) finds one in `known`
template <class Key, class T, class KeyOf>
void append_changes(std::map<Key, std::shared_ptr<const T>> known, const std::vector<StoredPtr<T>>& now, KeyOf key_of,
                    std::vector<WatchEvent>& events) {
  std::vector<WatchEvent> changes;
  for (const StoredPtr<T>& after : now) {
    const auto at = known.extract(key_of(*after->object));
    if (!at.empty() && is_same(at.mapped(), after->object)) continue;
    WatchEvent& event = changes.emplace_back();
    event.change = ObjectChange<T>{at.empty() ? nullptr : as_stored(at.mapped()), after};
  }
  for (auto& [key, before] : known) {
    WatchEvent& event = events.emplace_back();
    event.change = ObjectChange<T>{as_stored(std::move(before)), nullptr};
  }
  events.insert(events.end(), std::make_move_iterator(changes.begin()), std::make_move_iterator(changes.end()));
}

}  // namespace berth
