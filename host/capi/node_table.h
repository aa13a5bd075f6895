// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tsl/robin_map.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/text_hash.h"
#include "host/objects/label_map.h"

namespace berth::capi {

/// The nodes of a cluster, snapshot or fork, with what calls read of them beside the engine. Immutable, so that many
/// share one.
class Roster {
 public:
  struct Entry {
    std::uint32_t number = 0;
    bool is_cordoned = false;
    LabelMap labels;
  };
  Roster() = default;

  std::span<const Entry> entries() const { return entries_; }  ///< by number, ascending
  const Entry* find(std::uint32_t number) const;

  /// One node came, changed or went.
  struct Change {
    std::uint32_t number = 0;
    bool is_there = true;
    bool is_cordoned = false;
    LabelMap labels = {};
  };
  /// @return this one where the changes change nothing
  static std::shared_ptr<const Roster> changed(const std::shared_ptr<const Roster>& before,
                                               std::span<const Change> changes);

 private:
  std::vector<Entry> entries_;
};

struct NodeIndexes;

/// The numbers of node names, which a cluster shares with its snapshots and forks. Any thread. A name stays.
class NodeTable {
 public:
  /// The number of the name, a new one if it has none.
  std::uint32_t number_of(std::string_view name);
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Null: nobody has the number. Valid as long as this.
  const std::string* name_of(std::uint32_t number) const;

  // For calls on snapshots that come and go. What keep() was given last; null: nothing yet.
  std::shared_ptr<const NodeIndexes> kept_indexes() const;
  void keep(std::shared_ptr<const NodeIndexes> indexes);
  /// @return how many nodes of the cluster were looked for without kept_indexes() since keep(), these included
  std::size_t note_found_alone(std::size_t count) {
    return found_alone_.fetch_add(count, std::memory_order_relaxed) + count;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::deque<std::string> names_;  ///< a name keeps its address
  tsl::robin_map<std::string_view, std::uint32_t, NameHash> numbers_;
  std::shared_ptr<const NodeIndexes> kept_indexes_;
  std::atomic<std::size_t> found_alone_ = 0;
};

/// A bitmap of node numbers. Immutable.
class NodeNumbers {
 public:
  explicit NodeNumbers(std::span<const std::uint32_t> numbers);
  std::uint64_t bytes() const;
  bool contains(std::uint32_t number) const {
    return number / 64 < words_.size() && (words_[number / 64] >> (number % 64) & 1) != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace berth::capi
