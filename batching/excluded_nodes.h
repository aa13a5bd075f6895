// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth {

/// Nodes, by slot, that a selection leaves out: those whose entry in a row is out of date, or that refuse a pod for
/// a reason that the row does not contain. There are few of them compared with the nodes of a cluster.
class ExcludedNodes {
 public:
  /// Does nothing when the set contains the node.
  void insert(std::int32_t node) {
    const std::size_t word = word_of(node);
    if (word >= words_.size()) words_.resize(word + 1);
    if ((words_[word] & bit_of(node)) != 0) return;
    words_[word] |= bit_of(node);
    members_.push_back(node);
  }
  /// Does nothing when the set does not contain the node. Costs a search among the members.
  void erase(std::int32_t node) {
    if (!contains(node)) return;
    words_[word_of(node)] &= ~bit_of(node);
    members_.erase(std::find(members_.begin(), members_.end(), node));
  }
  /// Costs as much as the set has members; its memory stays.
  void clear() {
    for (const std::int32_t node : members_) words_[word_of(node)] = 0;
    members_.clear();
  }

  bool contains(std::int32_t node) const {
    const std::size_t word = word_of(node);
    return word < words_.size() && (words_[word] & bit_of(node)) != 0;
  }
  bool empty() const { return members_.empty(); }
  std::uint64_t bytes() const { return words_.capacity() * sizeof(std::uint64_t) + members_.capacity() * 4; }
  /// In the order of their insertion.
  std::span<const std::int32_t> members() const { return members_; }

 private:
  static constexpr std::int32_t kWordBits = 64;
  static std::size_t word_of(std::int32_t node) { return static_cast<std::size_t>(node / kWordBits); }
  static std::uint64_t bit_of(std::int32_t node) { return std::uint64_t{1} << (node % kWordBits); }

  std::vector<std::uint64_t> words_;  ///< grows up to the highest slot
  std::vector<std::int32_t> members_;
};

}  // namespace berth
