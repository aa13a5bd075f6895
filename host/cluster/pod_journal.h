// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/objects/pod.h"

namespace berth {

/// The host ports of a node before a change: they do not follow from its pods, docs/behaviour/plugins-node.md 9.
struct PortsBefore {
  std::string node_name;
  std::vector<HostPort> used;
};

/// Where a pod stood before a change.
struct PodBefore {
  std::string uid;
  PodPtr pod;             ///< null: on no node
  std::string node_name;  ///< of `pod`
  bool is_assumed = false;
  std::vector<PortsBefore> ports;  ///< of the nodes that the pod leaves and goes to
};

/// What pods were before each change of a cluster, for those who look at the cluster as it was: forks. Keeps nothing
/// while there is no reader, and nothing from before the oldest one began. Who appends for readers that stay has to
/// give them something else in time (CommitState::detach_forks()). Readers may come and go in several threads; append()
/// runs alone.
class PodJournal {
 public:
  bool has_readers() const {
    const std::lock_guard lock(mutex_);
    return !readers_.empty();
  }
  std::size_t size() const { return changes_.size(); }
  /// Position of the next change.
  std::uint64_t end() const { return first_ + changes_.size(); }
  void append(PodBefore before) { changes_.push_back(std::move(before)); }
  const PodBefore& operator[](std::uint64_t position) const { return changes_[position - first_]; }

  /// A reader that needs the changes from end() on. @return that position, for stop_reading()
  std::uint64_t begin_reading() {
    const std::lock_guard lock(mutex_);
    return *readers_.insert(end());
  }
  /// One more reader of what another one reads.
  void begin_reading_at(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    readers_.insert(position);
  }
  void stop_reading(std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    readers_.erase(readers_.find(position));
  }
  /// Drops what no reader needs. Like append(), while nobody reads.
  void trim() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t needed = readers_.empty() ? end() : *readers_.begin();
    for (; first_ < needed; ++first_) changes_.pop_front();
  }

 private:
  std::deque<PodBefore> changes_;
  std::uint64_t first_ = 0;   ///< position of changes_.front()
  mutable std::mutex mutex_;  ///< of readers_
  std::multiset<std::uint64_t> readers_;
};

}  // namespace berth
