// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "host/store/event_log.h"

namespace berth {

/// The writes of one call, prepared: everything that can fail happens before they are committed together.
class ChangePlan {
 public:
  /// @param newest  the resourceVersion that the first write follows
  ChangePlan(std::uint64_t newest, std::int64_t now_us) : newest_(newest), now_us_(now_us) {}

  std::int64_t now_us() const { return now_us_; }
  const std::vector<WatchEvent>& events() const { return events_; }

  /// @param before  null for a new object @return `after` with its resourceVersion
  template <class T>
  StoredPtr<T> put(StoredPtr<T> before, std::shared_ptr<Stored<T>> after) {
    after->meta.resource_version = newest_ + 1;
    return add<T>(std::move(before), std::move(after));
  }
  template <class T>
  void remove(StoredPtr<T> before) {
    add<T>(std::move(before), nullptr);
  }

 private:
  template <class T>
  StoredPtr<T> add(StoredPtr<T> before, StoredPtr<T> after) {
    events_.push_back({++newest_, now_us_, ObjectChange<T>{std::move(before), after}});
    return after;
  }

  std::uint64_t newest_;
  std::int64_t now_us_;
  std::vector<WatchEvent> events_;
};

}  // namespace berth
