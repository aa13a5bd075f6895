// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

/// Finds numbered records by a hash: an open table of pairs (hash, number), 8 bytes each, at most three quarters full.
/// The records, and what makes two of them equal, are the caller's.
class SlotIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// @param equals  whether the record of a number is the one that is looked for
  template <class Equals>
  std::uint32_t find(std::uint32_t hash, Equals equals) const {
    if (entries_.empty()) return kNone;
    for (std::size_t at = hash & mask(); entries_[at].slot != kNone; at = (at + 1) & mask())
      if (entries_[at].hash == hash && equals(entries_[at].slot)) return entries_[at].slot;
    return kNone;
  }
  /// The next insert() needs no memory afterwards.
  void reserve_one() {
    if ((size_ + 1) * 4 > entries_.size() * 3) grow();
  }
  /// The record must not be there.
  void insert(std::uint32_t hash, std::uint32_t slot);
  /// The record must be there.
  void erase(std::uint32_t hash, std::uint32_t slot);
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    std::uint32_t slot = kNone;
  };
  std::size_t mask() const { return entries_.size() - 1; }
  void grow();

  std::vector<Entry> entries_;  ///< a power of two of them, or none
  std::size_t size_ = 0;
};

}  // namespace berth
