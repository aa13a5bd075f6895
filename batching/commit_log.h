// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace berth {

/// One change of one node. `sign` +1: a pod of the class was placed there; -1: it was removed; 0: the node's pods
/// changed in the cache, and the columns are already updated.
struct LogEntry {
  std::int32_t node = 0;
  std::int32_t pod_class = 0;
  std::int32_t sign = 0;
};

/// All changes in order. A row that is needed again replays the entries since it was last current. Undoing a placement
/// appends its inverse, so positions only grow, and rows replay an undo like any other change.
class CommitLog {
 public:
  std::uint64_t position() const { return entries_.size(); }
  void append(LogEntry entry) { entries_.push_back(entry); }
  const LogEntry& operator[](std::uint64_t position) const { return entries_[position]; }
  std::span<const LogEntry> since(std::uint64_t position) const {
    return std::span<const LogEntry>(entries_).subspan(position);
  }
  std::uint64_t bytes() const { return entries_.capacity() * sizeof(LogEntry); }

 private:
  std::vector<LogEntry> entries_;
};

}  // namespace berth
