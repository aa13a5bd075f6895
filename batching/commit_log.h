// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

/// One change of one node. `sign` +1: pods of the class were placed there; -1: one was removed; 0: the node's pods
/// changed in the cache, and the columns are already updated.
struct LogEntry {
  std::int32_t node = 0;
  std::int32_t pod_class = 0;
  std::int32_t sign = 0;
};

/// The latest changes in order. A row that is needed again replays the entries since it was last current; one that has
/// missed more than the log keeps is built again. Undoing a placement appends its inverse, so positions only grow, and
/// rows replay an undo like any other change.
class CommitLog {
 public:
  /// The latest `entries` are kept, and at most as many older ones. Without a call all are. With fewer entries than
  /// there are slots, replaying would be given up while it is cheaper than building.
  void keep_at_least(std::size_t entries) { kept_ = entries; }

  std::uint64_t position() const { return begin_ + entries_.size(); }
  void append(LogEntry entry) {
    entries_.push_back(entry);
    if (entries_.size() / 2 > kept_) trim();
  }
  /// The entries since `position` are still here: otherwise they must not be read.
  bool reaches(std::uint64_t position) const { return position >= begin_; }
  const LogEntry& operator[](std::uint64_t position) const { return entries_[position - begin_]; }
  std::span<const LogEntry> since(std::uint64_t position) const {
    return std::span<const LogEntry>(entries_).subspan(position - begin_);
  }
  std::uint64_t bytes() const { return entries_.capacity() * sizeof(LogEntry); }

 private:
  void trim() {
    const std::size_t gone = entries_.size() - kept_;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(gone));
    begin_ += gone;
  }

  std::vector<LogEntry> entries_;
  std::uint64_t begin_ = 0;  ///< position of the first of these
  std::size_t kept_ = SIZE_MAX;
};

}  // namespace berth
