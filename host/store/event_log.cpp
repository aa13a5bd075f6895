// SPDX-License-Identifier: Apache-2.0
#include "host/store/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth {

WatchEventType WatchEvent::type() const {
  return std::visit(
      [](const auto& of) {
        if (of.before == nullptr) return WatchEventType::kAdded;
        return of.after == nullptr ? WatchEventType::kDeleted : WatchEventType::kModified;
      },
      change);
}

Watch& Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  close();
  log_ = std::move(other.log_);
  cursor_ = std::move(other.cursor_);
  return *this;
}

WatchBatch Watch::poll(std::size_t limit) {
  if (!is_open()) return {{StoreReason::kBadRequest, "the watch is closed"}, {}};
  WatchBatch batch = log_->poll(*cursor_, limit);
  if (!batch.status.is_success()) close();
  return batch;
}

void Watch::close() noexcept {
  if (cursor_ != nullptr) log_->close(*cursor_);
  cursor_.reset();
  log_.reset();
}

void EventLog::append(const std::vector<WatchEvent>& events) {
  const std::lock_guard lock(mutex_);
  const std::size_t before = events_.size();
  try {
    for (const WatchEvent& event : events) events_.push_back(event);
  } catch (...) {
    events_.resize(before);
    throw;
  }
  newest_ += events.size();
  trim();
}

std::uint64_t EventLog::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::size_t EventLog::size() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

WatchStart EventLog::watch(std::uint64_t from, KindSet kinds) {
  const std::lock_guard lock(mutex_);
  if (from > newest_) {
    return {{StoreReason::kTimeout, fmt::format("Timeout: Too large resource version: {}, current: {}", from, newest_)},
            {}};
  }
  if (from < oldest()) return {expired(from), {}};
  WatchStart start;
  auto cursor = std::make_unique<Watch::Cursor>(Watch::Cursor{from, kinds});
  cursors_.push_back(cursor.get());
  start.watch.cursor_ = std::move(cursor);
  start.watch.log_ = shared_from_this();
  return start;
}

WatchBatch EventLog::poll(Watch::Cursor& cursor, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  if (cursor.read < oldest()) return {expired(cursor.read), {}};
  WatchBatch batch;
  std::uint64_t read = cursor.read;
  for (; read < newest_ && batch.events.size() < limit; ++read) {
    const WatchEvent& event = events_[read - oldest()];
    if (cursor.kinds.contains(event.kind())) batch.events.push_back(event);
  }
  cursor.read = read;
  trim();
  return batch;
}

void EventLog::close(const Watch::Cursor& cursor) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(cursors_, &cursor);
  trim();
}

void EventLog::trim() noexcept {
  std::uint64_t read = newest_;
  for (const Watch::Cursor* cursor : cursors_) read = std::min(read, cursor->read);
  while (!events_.empty() && (oldest() < read || events_.size() > limit_)) events_.pop_front();
}

StoreStatus EventLog::expired(std::uint64_t from) const {
  return {StoreReason::kExpired, fmt::format("too old resource version: {} ({})", from, oldest())};
}

}  // namespace berth
