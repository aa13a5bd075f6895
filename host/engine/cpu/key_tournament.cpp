// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/key_tournament.h"

#include <algorithm>

#include "host/engine/cpu/slot_kernel.h"

namespace berth {
namespace {

constexpr int kArityLog2 = 2;
constexpr int kArity = 1 << kArityLog2;
/// The tournament stops at this many entries: scanning them for one class is cheaper than further levels for every
/// class.
constexpr std::int32_t kTopEntries = 96;

std::int32_t parent_count(std::int32_t entries) { return (entries + kArity - 1) / kArity; }

}  // namespace

KeyTournament::KeyTournament(std::int32_t node_count, int slot_count)
    : node_count_(node_count), slot_count_(slot_count) {
  std::int32_t entries = std::max(node_count, 1);
  for (;; entries = parent_count(entries)) {
    const std::int32_t page_entries = std::min(kPageNodes, parent_count(entries) * kArity);
    levels_.emplace_back(page_of(entries + kPageNodes - 1), static_cast<std::size_t>(page_entries * slot_count), 0);
    top_entries_ = entries;
    if (entries <= kTopEntries) break;
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
  for (std::size_t l = 0; l < std::min<std::size_t>(2, levels_.size() - 1); ++l, entry /= kArity) {
    const NodeKey* keys = read(l, entry / kArity * kArity);
    for (int k = 0; k < kArity * slot_count_; k += kKeysPerLine) __builtin_prefetch(keys + k, 1);
  }
}

KeyTournament::Best KeyTournament::best(int slot) const {
  const NodeKey* top = levels_.back().read(0) + slot;
  Best best;
  for (std::int32_t e = 0; e < top_entries_; ++e)
    if (top[e * slot_count_] > best.key) best = {top[e * slot_count_], e};
  if (best.key == 0) return best;
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    best.node *= kArity;
    while (key_at(levels_[l], slot, best.node) != best.key) ++best.node;
  }
  return best;
}

KeyTournament::Best KeyTournament::best_outside(int slot, const ExcludedNodes& excluded) const {
  const Best first = best(slot);
  if (first.key == 0 || !excluded.contains(first.node)) return first;
  // Best entry first, whatever its level: an entry is as good as the best node below it.
  struct Entry {
    NodeKey key;
    std::int32_t first_node;  ///< below the entry; entries of equal keys are opened in node order
    std::int32_t level;
    bool operator<(const Entry& other) const {
      return key != other.key ? key < other.key : first_node > other.first_node;
    }
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
  while (!open.empty()) {
    std::pop_heap(open.begin(), open.end());
    const Entry best = open.back();
    open.pop_back();
    if (best.level == 0) {
      if (!excluded.contains(best.first_node)) return {best.key, best.first_node};
      continue;
    }
    const auto below = static_cast<std::size_t>(best.level - 1);
    const std::int32_t child = best.first_node >> (kArityLog2 * static_cast<int>(below));
    for (std::int32_t e = child; e < child + kArity; ++e)
      if (add(below, e)) std::push_heap(open.begin(), open.end());
  }
  return {};
}

std::uint64_t KeyTournament::bytes() const {
  std::uint64_t bytes = 0;
  for (const Keys& level : levels_) bytes += level.bytes();
  return bytes;
}

}  // namespace berth
