// SPDX-License-Identifier: Apache-2.0
#include "host/queue/slot_index.h"

#include <utility>

namespace berth {

void SlotIndex::insert(std::uint32_t hash, std::uint32_t slot) {
  reserve_one();
  std::size_t at = hash & mask();
  while (entries_[at].slot != kNone) at = (at + 1) & mask();
  entries_[at] = {hash, slot};
  ++size_;
}

void SlotIndex::erase(std::uint32_t hash, std::uint32_t slot) {
  std::size_t hole = hash & mask();
  while (entries_[hole].slot != slot) hole = (hole + 1) & mask();
  // Entries behind the hole move up while that brings them no further than their own place.
  for (std::size_t at = (hole + 1) & mask(); entries_[at].slot != kNone; at = (at + 1) & mask()) {
    const std::size_t distance = (at - (entries_[at].hash & mask())) & mask();
    if (distance < ((at - hole) & mask())) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole] = {};
  --size_;
}

void SlotIndex::grow() {
  const std::vector<Entry> old =
      std::exchange(entries_, std::vector<Entry>(entries_.empty() ? 16 : entries_.size() * 2));
  size_ = 0;
  for (const Entry& entry : old)
    if (entry.slot != kNone) insert(entry.hash, entry.slot);
}

}  // namespace berth
