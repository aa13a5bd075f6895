// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "host/queue/reserve_more.h"

namespace berth {

/// A binary heap of numbered records. Each record knows its position, so that it can leave from anywhere.
/// @tparam Order  has less(a, b), a strict order of numbers, and position(number), a reference to where the position is
template <class Order>
class SlotHeap {
 public:
  explicit SlotHeap(Order order) : order_(order) {}

  bool empty() const { return slots_.empty(); }
  std::size_t size() const { return slots_.size(); }
  std::uint32_t top() const { return slots_.front(); }
  const std::vector<std::uint32_t>& slots() const { return slots_; }  ///< in no order

  /// The first `count` records, in order, or all.
  std::vector<std::uint32_t> first(std::size_t count) const {
    return first_while([&](std::uint32_t /*slot*/, std::size_t taken) { return taken < count; });
  }
  /// Records in order up to the first for which takes(record, number of those before it) says no.
  template <class Takes>
  std::vector<std::uint32_t> first_while(Takes takes) const {
    std::vector<std::uint32_t> sorted;
    std::vector<std::uint32_t> next;  // a heap too: those whose parent is in `sorted`
    const auto is_later = [this](std::uint32_t a, std::uint32_t b) { return order_.less(b, a); };
    const auto open = [&](std::size_t at) {
      if (at >= slots_.size()) return;
      next.push_back(slots_[at]);
      std::push_heap(next.begin(), next.end(), is_later);
    };
    open(0);
    while (!next.empty() && takes(next.front(), sorted.size())) {
      std::pop_heap(next.begin(), next.end(), is_later);
      sorted.push_back(next.back());
      next.pop_back();
      const std::size_t at = order_.position(sorted.back());
      open(2 * at + 1);
      open(2 * at + 2);
    }
    return sorted;
  }

  /// The next `count` calls of push() need no memory afterwards.
  void make_room(std::size_t count) { reserve_more(slots_, slots_.size() + count); }
  void push(std::uint32_t slot) {
    slots_.push_back(slot);
    order_.position(slot) = static_cast<std::uint32_t>(slots_.size() - 1);
    rise(slots_.size() - 1);
  }
  void remove(std::uint32_t slot) {
    const std::size_t at = order_.position(slot);
    const std::uint32_t last = slots_.back();
    slots_.pop_back();
    if (last == slot) return;
    put(at, last);
    fix(last);
  }
  /// After a change of the record.
  void fix(std::uint32_t slot) {
    const std::size_t at = order_.position(slot);
    rise(at);
    if (order_.position(slot) == at) sink(at);
  }

 private:
  void put(std::size_t at, std::uint32_t slot) {
    slots_[at] = slot;
    order_.position(slot) = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at) {
    const std::uint32_t slot = slots_[at];
    while (at > 0 && order_.less(slot, slots_[(at - 1) / 2])) {
      put(at, slots_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, slot);
  }
  void sink(std::size_t at) {
    const std::uint32_t slot = slots_[at];
    for (std::size_t child = 2 * at + 1; child < slots_.size(); child = 2 * at + 1) {
      if (child + 1 < slots_.size() && order_.less(slots_[child + 1], slots_[child])) ++child;
      if (!order_.less(slots_[child], slot)) break;
      put(at, slots_[child]);
      at = child;
    }
    put(at, slot);
  }

  Order order_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace berth
