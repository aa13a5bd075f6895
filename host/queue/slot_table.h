// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace berth {

/// Numbered records, whose numbers are used again. They lie in pages, because a vector that has just doubled holds
/// twice what it needs, and while it doubles three times that. References to records stay valid.
template <class T>
class SlotTable {
 public:
  T& operator[](std::uint32_t slot) { return (*pages_[slot / kPageSlots])[slot % kPageSlots]; }
  const T& operator[](std::uint32_t slot) const { return (*pages_[slot / kPageSlots])[slot % kPageSlots]; }

  /// Slots are below this number: those that take() has given.
  std::uint32_t end() const { return end_; }
  /// A slot whose record is default-made.
  std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (end_ == pages_.size() * kPageSlots) pages_.push_back(std::make_unique<Page>());
    return end_++;
  }
  void give_back(std::uint32_t slot) {
    (*this)[slot] = T();
    free_.push_back(slot);
  }

 private:
  static constexpr std::size_t kPageSlots = 256;
  using Page = std::array<T, kPageSlots>;

  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<std::uint32_t> free_;
  std::uint32_t end_ = 0;
};

}  // namespace berth
