// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace berth {

/// A set of small indices without an upper limit. The first 64 lie in one word, so that a set of few costs no memory
/// beside itself.
class IndexSet {
 public:
  void insert(std::size_t index) {
    if (index < kWordBits) {
      first_ |= std::uint64_t{1} << index;
      return;
    }
    if (index - kWordBits >= rest_.size()) rest_.resize(index - kWordBits + 1);
    rest_[index - kWordBits] = true;
  }
  bool contains(std::size_t index) const {
    if (index < kWordBits) return (first_ >> index & 1u) != 0;
    return index - kWordBits < rest_.size() && rest_[index - kWordBits];
  }
  bool empty() const { return first_ == 0 && rest_.empty(); }
  /// Bit i: the set contains i; of the indices below 64.
  std::uint64_t first_word() const { return first_; }

  friend auto operator<=>(const IndexSet&, const IndexSet&) = default;

 private:
  static constexpr std::size_t kWordBits = 64;
  std::uint64_t first_ = 0;
  std::vector<bool> rest_;  ///< indices from 64 on, up to the largest one in the set
};

}  // namespace berth
