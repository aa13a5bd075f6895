// SPDX-License-Identifier: Apache-2.0
#pragma once

// What happened to the objects of a store, in order, for those who watch it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "host/store/store_status.h"
#include "host/store/stored_object.h"

namespace berth {

enum class WatchEventType : std::uint8_t { kAdded, kModified, kDeleted };

/// Of one object. Before an addition and after a deletion there is no version: null.
template <class T>
struct ObjectChange {
  StoredPtr<T> before;
  StoredPtr<T> after;
};

struct WatchEvent {
  std::uint64_t resource_version = 0;  ///< of the write; one more than that of the event before
  std::int64_t time_us = 0;            ///< of the write, by the store's clock
  EachKind<std::variant, ObjectChange> change;

  ObjectKind kind() const { return static_cast<ObjectKind>(change.index()); }
  WatchEventType type() const;
  /// nullptr when the event is about another kind.
  template <class T>
  const ObjectChange<T>* get() const {
    return std::get_if<ObjectChange<T>>(&change);
  }
};

struct WatchBatch {
  StoreStatus status;  ///< Expired: events were dropped that this watch has not read; list and watch again
  std::vector<WatchEvent> events;
};

class EventLog;

/// Reads the events of a store from one resourceVersion on. A default-made one is not open. May outlive its store. One
/// thread at a time; other watches, and calls of the store, may run meanwhile.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch() { close(); }

  bool is_open() const { return cursor_ != nullptr; }
  /// The next events, at most `limit`; none when there are none yet. After Expired the watch is closed.
  WatchBatch poll(std::size_t limit = SIZE_MAX);
  /// Call it when reading stops, so that the store does not keep events for this watch.
  void close() noexcept;

 private:
  friend class EventLog;
  struct Cursor {
    std::uint64_t read = 0;  ///< resourceVersion of the last event read or skipped
    KindSet kinds;
  };
  std::shared_ptr<EventLog> log_;
  std::unique_ptr<Cursor> cursor_;
};

struct WatchStart {
  StoreStatus status;
  Watch watch;  ///< open when the status is a success
};

/// Keeps events until every watch has read them, and of slow watches the newest `limit`. Any thread.
class EventLog : public std::enable_shared_from_this<EventLog> {
 public:
  explicit EventLog(std::size_t limit) : limit_(limit) {}

  /// Appends events with consecutive resourceVersions that follow newest(). @throws std::bad_alloc, and none is there
  void append(const std::vector<WatchEvent>& events);
  std::uint64_t newest() const;
  /// Events that are kept for some watch.
  std::size_t size() const;
  /// As apiserver's watch cache answers (pkg/storage/cacher/watch_cache.go): Expired when events after `from` are gone,
  /// Timeout when `from` lies ahead.
  WatchStart watch(std::uint64_t from, KindSet kinds);

 private:
  friend class Watch;
  WatchBatch poll(Watch::Cursor& cursor, std::size_t limit);
  void close(const Watch::Cursor& cursor) noexcept;
  void trim() noexcept;
  std::uint64_t oldest() const { return newest_ - events_.size(); }  ///< what a watch has to have read
  StoreStatus expired(std::uint64_t from) const;

  mutable std::mutex mutex_;
  std::size_t limit_;
  std::uint64_t newest_ = 0;
  std::deque<WatchEvent> events_;
  std::vector<Watch::Cursor*> cursors_;
};

}  // namespace berth
