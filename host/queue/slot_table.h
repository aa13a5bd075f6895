// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "host/queue/reserve_more.h"

namespace berth {

/// Numbered records, whose numbers are used again. Giving one back needs no memory. They lie in pages, because a vector
/// that has just doubled holds twice what it needs, and while it doubles three times that. References to records stay
/// valid.
template <class T>
class SlotTable {
 public:
  T& operator[](std::uint32_t slot) { return (*pages_[slot / kPageSlots])[slot % kPageSlots]; }
  const T& operator[](std::uint32_t slot) const { return (*pages_[slot / kPageSlots])[slot % kPageSlots]; }

  /// Slots are below this number: those that take() has given.
  std::uint32_t end() const { return end_; }
  /// The next take() needs no memory afterwards.
  void reserve_one() {
    if (!free_.empty() || end_ < pages_.size() * kPageSlots) return;
    reserve_more(free_, (pages_.size() + 1) * kPageSlots);
    pages_.push_back(std::make_unique<Page>());
  }
  /// A slot whose record is default-made.
  std::uint32_t take() {
    reserve_one();
    if (free_.empty()) return end_++;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) {
    (*this)[slot] = T();
    free_.push_back(slot);
  }

 private:
  static constexpr std::size_t kPageSlots = 256;
  using Page = std::array<T, kPageSlots>;

  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint32_t> free_;  ///< with room for every slot
  std::uint32_t end_ = 0;
};

}  // namespace berth
