// SPDX-License-Identifier: Apache-2.0
#include "host/queue/slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "host/queue/slot_heap.h"

namespace berth {
namespace {

TEST(SlotIndex, FindsWhatWasPutInAfterAnyRemovals) {
  SlotIndex index;
  std::map<std::uint32_t, std::uint32_t> hash_of;  // by slot
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t slot = below(300);
    const auto at = hash_of.find(slot);
    if (at == hash_of.end()) {
      hash_of[slot] = below(40);  // many of equal hash
      index.insert(hash_of[slot], slot);
    } else {
      index.erase(at->second, slot);
      hash_of.erase(at);
    }
    ASSERT_EQ(index.size(), hash_of.size());
    const std::uint32_t wanted = below(300);
    const auto known = hash_of.find(wanted);
    const std::uint32_t hash = known == hash_of.end() ? below(40) : known->second;
    const std::uint32_t found = index.find(hash, [&](std::uint32_t other) { return other == wanted; });
    ASSERT_EQ(found, known == hash_of.end() ? SlotIndex::kNone : wanted);
  }
}

struct Numbers {
  std::vector<int>* values;
  std::vector<std::uint32_t>* positions;
  bool less(std::uint32_t a, std::uint32_t b) const { return (*values)[a] < (*values)[b]; }
  std::uint32_t& position(std::uint32_t slot) const { return (*positions)[slot]; }
};

TEST(SlotHeap, GivesTheLeastAfterAnyChanges) {
  std::vector<int> values(200);
  std::vector<std::uint32_t> positions(200);
  SlotHeap<Numbers> heap(Numbers{&values, &positions});
  std::multimap<int, std::uint32_t> sorted;
  std::vector<bool> is_in(200);
  std::mt19937 random(11);
  const auto below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const auto forget = [&](std::uint32_t slot) {
    for (auto at = sorted.lower_bound(values[slot]); at != sorted.end(); ++at)
      if (at->second == slot) return void(sorted.erase(at));
  };
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t slot = below(200);
    const int value = static_cast<int>(below(1000));
    if (!is_in[slot]) {
      values[slot] = value;
      heap.push(slot);
      is_in[slot] = true;
    } else if (below(2) == 0) {
      forget(slot);
      heap.remove(slot);
      is_in[slot] = false;
      continue;
    } else {
      forget(slot);
      values[slot] = value;
      heap.fix(slot);
    }
    sorted.emplace(value, slot);
    ASSERT_EQ(values[heap.top()], sorted.begin()->first);
    ASSERT_EQ(heap.size(), sorted.size());
  }
}

}  // namespace
}  // namespace berth
