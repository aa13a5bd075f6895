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
  /// Does nothing when the set contains the node. When it throws, the set is as before.
  void insert(std::int32_t node) {
    if (contains(node)) return;
    if (members_.size() == members_.capacity()) members_.reserve(std::max<std::size_t>(4, 2 * members_.capacity()));
    if (words_.empty() && members_.size() == kFew) {
      std::int32_t highest = node;
      for (const std::int32_t member : members_) highest = std::max(highest, member);
      make_room(highest);
      for (const std::int32_t member : members_) words_[word_of(member)] |= bit_of(member);
    }
    if (!words_.empty()) {
      make_room(node);
      words_[word_of(node)] |= bit_of(node);
    }
    members_.push_back(node);
  }
  /// Does nothing when the set does not contain the node. Costs a search among the members.
  void erase(std::int32_t node) {
    if (!contains(node)) return;
    if (!words_.empty()) words_[word_of(node)] &= ~bit_of(node);
    members_.erase(std::find(members_.begin(), members_.end(), node));
  }
  /// Costs as much as the set has members; its memory stays.
  void clear() {
    if (!words_.empty())
      for (const std::int32_t node : members_) words_[word_of(node)] = 0;
    members_.clear();
  }

  bool contains(std::int32_t node) const {
    if (words_.empty()) return std::find(members_.begin(), members_.end(), node) != members_.end();
    const std::size_t word = word_of(node);
    return word < words_.size() && (words_[word] & bit_of(node)) != 0;
  }
  bool empty() const { return members_.empty(); }
  std::uint64_t bytes() const { return words_.capacity() * sizeof(std::uint64_t) + members_.capacity() * 4; }
  /// In the order of their insertion.
  std::span<const std::int32_t> members() const { return members_; }

 private:
  static constexpr std::int32_t kWordBits = 64;
  /// So many members are searched: a fork with a few pods needs no bit for each slot.
  static constexpr std::size_t kFew = 16;
  static std::size_t word_of(std::int32_t node) { return static_cast<std::size_t>(node / kWordBits); }
  static std::uint64_t bit_of(std::int32_t node) { return std::uint64_t{1} << (node % kWordBits); }

  void make_room(std::int32_t node) {
    if (word_of(node) >= words_.size()) words_.resize(word_of(node) + 1);
  }

  std::vector<std::uint64_t> words_;  ///< grows up to the highest slot; empty: there were never more than kFew members
  std::vector<std::int32_t> members_;
};

}  // namespace berth
