// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many list entries an object may have: a decoded entry can take hundreds of bytes where its text takes three.

#include <simdjson.h>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace berth {

/// Entries of all lists of one object. An API server stores objects of up to about 1.5 MiB.
inline constexpr std::int64_t kListEntriesMax = 100'000;
/// Where an object has more than one entry for so many bytes of its text, the others are dense.
inline constexpr std::int64_t kListEntryTextBytes = 16;
/// Dense entries of all objects of a load.
inline constexpr std::int64_t kDenseEntriesMax = 500'000;

/// Entries of all lists in `root`, nested ones too; 0 where the commas of its text show that no limit is near.
std::int64_t count_list_entries(simdjson::dom::element root, std::string_view json);

/// Counts the dense entries of a load. Any thread.
class DenseEntries {
 public:
  explicit DenseEntries(std::int64_t max) : max_(max) {}
  void add(std::int64_t entries, std::string_view json) {
    const std::int64_t dense = entries - static_cast<std::int64_t>(json.size()) / kListEntryTextBytes;
    if (dense > 0) count_ += dense;
  }
  bool is_over() const { return count_ > max_; }
  std::int64_t max() const { return max_; }

 private:
  std::int64_t max_;
  std::atomic<std::int64_t> count_ = 0;
};

}  // namespace berth
