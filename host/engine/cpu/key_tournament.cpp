// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/key_tournament.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "host/engine/cpu/slot_kernel.h"

namespace berth {
namespace {

constexpr int kArityLog2 = 2;
constexpr int kArity = 1 << kArityLog2;
/// The tournament stops at this many entries: scanning them for one class is cheaper than further levels for every
/// class. With many classes a level more costs more.
constexpr std::int32_t kTopEntriesMax = 96;
constexpr int kManySlots = 32;
constexpr std::int32_t top_entries(int slot_count) { return slot_count < kManySlots ? 24 : kTopEntriesMax; }

std::int32_t parent_count(std::int32_t entries) { return (entries + kArity - 1) / kArity; }

}  // namespace

KeyTournament::KeyTournament(std::int32_t node_count, int slot_count, bool finds_best)
    : node_count_(node_count), slot_count_(slot_count) {
  std::int32_t entries = std::max(node_count, 1);
  for (;; entries = parent_count(entries)) {
    const std::int32_t page_entries = std::min(kPageNodes, parent_count(entries) * kArity);
    levels_.emplace_back(page_of(entries + kPageNodes - 1), static_cast<std::size_t>(page_entries * slot_count), 0);
    top_entries_ = entries;
    if (entries <= top_entries(slot_count) || !finds_best) break;
  }
}

std::uint32_t KeyTournament::combine(std::size_t level, std::int32_t entry, std::uint32_t groups) {
  return slot_kernels().combine(read(level - 1, entry * kArity),
                                levels_[level].write(page_of(entry)) + offset_of(entry), slot_count_, groups);
}

void KeyTournament::rebuild() {
  std::int32_t entries = std::max(node_count_, 1);
  for (std::size_t l = 1; l < levels_.size(); ++l) {
    entries = parent_count(entries);
    for (std::int32_t e = 0; e < entries; ++e) combine(l, e, kAllGroups);
  }
}

void KeyTournament::climb_groups(std::int32_t node, std::uint32_t groups) {
  std::int32_t entry = node;
  for (std::size_t l = 1; l < levels_.size(); ++l) {
    entry /= kArity;
    groups = combine(l, entry, groups);
    if (groups == 0) return;
  }
}

void KeyTournament::prefetch(std::int32_t node) const {
  constexpr int kKeysPerLine = 8;
  // The keys of the node and its siblings lie together, and so do those of their parent and its siblings.
  std::int32_t entry = node;
  const std::size_t levels = std::clamp<std::size_t>(levels_.size() - 1, 1, 2);
  for (std::size_t l = 0; l < levels; ++l, entry /= kArity) {
    const NodeKey* keys = read(l, entry / kArity * kArity);
    for (int k = 0; k < kArity * slot_count_; k += kKeysPerLine) __builtin_prefetch(keys + k, 1);
  }
}

/// The first in node order of the nodes with the key below an entry, which has it.
std::int32_t KeyTournament::first_with(NodeKey key, int slot, std::size_t level, std::int32_t entry,
                                       NodeOrder order) const {
  while (level-- > 0) {
    const NodeKey* const children = read(level, entry * kArity) + slot;  // the children of an entry lie in one page
    std::uint32_t equal = 0;  // bit i: child i has the key; without branches, since each child is as likely as another
    for (int child = 0; child < kArity; ++child) equal |= (children[child * slot_count_] == key ? 1u : 0u) << child;
    entry = entry * kArity + std::countr_zero(equal);
    if (std::has_single_bit(equal)) continue;  // nearly always
    std::int32_t first = first_with(key, slot, level, entry, order);
    for (equal &= equal - 1; equal != 0; equal &= equal - 1) {
      const std::int32_t sibling = entry / kArity * kArity + std::countr_zero(equal);
      const std::int32_t other = first_with(key, slot, level, sibling, order);
      if (order.is_before(other, first)) first = other;
    }
    return first;
  }
  return entry;
}

KeyTournament::Best KeyTournament::best(int slot, NodeOrder order) const {
  if (top_entries_ > kTopEntriesMax) throw std::logic_error("KeyTournament::best: made without finds_best");
  const NodeKey* top = levels_.back().read(0) + slot;
  NodeKey key = 0;
  std::int32_t entry = 0;
  bool is_shared = false;
  for (std::int32_t e = 0; e < top_entries_; ++e) {
    const NodeKey other = top[e * slot_count_];
    is_shared = other == key || (other < key && is_shared);
    if (other > key) {
      key = other;
      entry = e;
    }
  }
  if (key == 0) return {};
  const std::size_t level = levels_.size() - 1;
  Best best{key, first_with(key, slot, level, entry, order)};
  for (std::int32_t e = entry + 1; is_shared && e < top_entries_; ++e) {
    if (top[e * slot_count_] != key) continue;
    const std::int32_t other = first_with(key, slot, level, e, order);
    if (order.is_before(other, best.node)) best.node = other;
  }
  return best;
}

KeyTournament::Best KeyTournament::best_outside(int slot, const ExcludedNodes& excluded, NodeOrder order) const {
  const Best first = best(slot, order);
  if (first.key == 0 || !excluded.contains(first.node)) return first;
  // Best entry first, whatever its level: an entry is as good as the best node below it.
  struct Entry {
    NodeKey key;
    std::int32_t first_node;  ///< below the entry
    std::int32_t level;
    bool operator<(const Entry& other) const { return key < other.key; }
  };
  std::vector<Entry> open;
  const auto add = [&](std::size_t level, std::int32_t entry) {
    const NodeKey key = key_at(levels_[level], slot, entry);
    if (key > 0)
      open.push_back({key, entry << (kArityLog2 * static_cast<int>(level)), static_cast<std::int32_t>(level)});
    return key > 0;
  };
  for (std::int32_t e = 0; e < top_entries_; ++e) add(levels_.size() - 1, e);
  std::make_heap(open.begin(), open.end());
  Best found;
  while (!open.empty() && open.front().key >= found.key) {
    std::pop_heap(open.begin(), open.end());
    const Entry best = open.back();
    open.pop_back();
    if (best.level == 0) {
      if (excluded.contains(best.first_node)) continue;
      if (found.key == 0 || order.is_before(best.first_node, found.node)) found = {best.key, best.first_node};
      continue;
    }
    const auto below = static_cast<std::size_t>(best.level - 1);
    const std::int32_t child = best.first_node >> (kArityLog2 * static_cast<int>(below));
    for (std::int32_t e = child; e < child + kArity; ++e)
      if (add(below, e)) std::push_heap(open.begin(), open.end());
  }
  return found;
}

std::uint64_t KeyTournament::bytes() const {
  std::uint64_t bytes = 0;
  for (const Keys& level : levels_) bytes += level.bytes();
  return bytes;
}

}  // namespace berth
