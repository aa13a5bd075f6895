// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/node_groups.h"

#include <algorithm>

#include "host/objects/heap_bytes.h"

namespace berth {
namespace {

/// A heap is rebuilt when so many of its entries are outdated.
constexpr std::size_t kStaleFactor = 2;
constexpr std::size_t kStaleSpare = 64;
/// Groups without nodes are kept for later; with more than this many per node, all nodes are reassigned.
constexpr std::size_t kGroupsPerNode = 2;
constexpr std::size_t kGroupsSpare = 1024;
/// Replaying more changes than this share of the nodes costs more than one pass over all nodes.
constexpr std::size_t kReassignShare = 12;

std::uint64_t hash_of(std::int32_t cell, const std::vector<std::int64_t>& counts) {
  std::uint64_t hash = static_cast<std::uint64_t>(cell) + 1;
  for (const std::int64_t count : counts) hash = (hash ^ static_cast<std::uint64_t>(count)) * 0x9e3779b97f4a7c15u;
  return hash;
}

/// The nodes where some table has a count; they are few.
class NodesWithCounts {
 public:
  NodesWithCounts(const TopologyCounts& counts, const std::vector<std::int32_t>& tables) {
    for (const std::int32_t table : tables)
      if (counts.total(table) != 0) add(counts, table);
  }
  bool contains(std::int32_t node) const {
    return !has_count_.empty() && has_count_[static_cast<std::size_t>(node)] != 0;
  }

 private:
  void add(const TopologyCounts& counts, std::int32_t table) {
    const DomainColumn& column = counts.column(counts.column_of(table));
    has_count_.resize(column.domain_of.size());
    counts.for_each_counted(table, [&](std::int32_t d) {
      if (d > column.domain_count) return;  // of a guest
      const auto domain = static_cast<std::size_t>(d);
      for (std::int32_t i = column.first_of_domain[domain]; i < column.first_of_domain[domain + 1]; ++i)
        has_count_[static_cast<std::size_t>(column.nodes_by_domain[static_cast<std::size_t>(i)])] = 1;
    });
  }

  std::vector<std::uint8_t> has_count_;  ///< [node] empty: nowhere
};

}  // namespace

// Which group a node lies in

std::int32_t NodeGroups::add_group(std::int32_t cell) {
  groups_.emplace_back().cell = cell;
  return static_cast<std::int32_t>(groups_.size()) - 1;
}

std::int32_t NodeGroups::find_group(const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t cell = cells_->cell_of[static_cast<std::size_t>(node)];
  if (cell < 0) return -1;
  if (!reads_.any_by_count()) {
    std::int32_t& group = group_of_cell_[static_cast<std::size_t>(cell)];
    if (group < 0) group = add_group(cell);
    return group;
  }
  if (!reads_.counts_of_node(program_, counts, node, scratch_)) return -1;
  const auto [at, is_new] = group_of_hash_.try_emplace(hash_of(cell, scratch_), -1);
  for (std::int32_t g = at->second; g >= 0; g = group(g).next_alike_)
    if (group(g).cell == cell && group(g).counts == scratch_) return g;
  const std::int32_t added = add_group(cell);
  groups_.back().counts = scratch_;
  groups_.back().next_alike_ = at->second;
  at->second = added;
  return added;
}

/// find_group() of a node where every count is 0, as is the case for most.
std::int32_t NodeGroups::group_without_counts(const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t cell = cells_->cell_of[static_cast<std::size_t>(node)];
  if (cell < 0) return -1;
  std::int32_t& group = group_of_cell_[static_cast<std::size_t>(cell)];
  if (group < 0) group = find_group(counts, node);
  return group;
}

// All nodes at once

void NodeGroups::reset() {
  groups_.clear();
  active_.clear();
  group_of_hash_.clear();
  group_of_cell_.assign(cells_->cells.size(), -1);
}

/// For a class that is selected rarely: one pass, without heaps, which would be outdated before the next selection.
void NodeGroups::assign_flat(const SlotKeys& keys, const TopologyCounts& counts) {
  reset();
  const NodesWithCounts counted(counts, reads_.counted_tables);
  best_of_cell_.assign(cells_->cells.size(), {});
  keys.visit([&](auto key_of) {
    const auto node_count = static_cast<std::int32_t>(cells_->cell_of.size());
    for (std::int32_t i = 0; i < node_count; ++i) {
      const std::int32_t cell = cells_->cell_of[static_cast<std::size_t>(i)];
      const NodeKey key = key_of(i);
      if (key <= 0 || cell < 0) continue;
      if (counted.contains(i)) {
        add_flat(find_group(counts, i), {1, {key, i, keys.rank(i)}});
      } else {
        best_of_cell_[static_cast<std::size_t>(cell)].add({1, {key, i, keys.rank(i)}});
      }
    }
  });
  for (const FlatGroup& cell : best_of_cell_)
    if (cell.live > 0) add_flat(group_without_counts(counts, cell.best.node), cell);
}

/// Adds nodes to a group. @param g  -1: they are in no group
void NodeGroups::add_flat(std::int32_t g, const FlatGroup& nodes) {
  if (g < 0) return;
  if (group(g).live == 0) activate(g);
  FlatGroup all{group(g).live, group(g).best_};
  all.add(nodes);
  group(g).live = all.live;
  group(g).best_ = all.best;
}

void NodeGroups::assign_all(const SlotKeys& keys, const TopologyCounts& counts) {
  reset();
  const NodesWithCounts counted(counts, reads_.counted_tables);
  group_of_.resize(cells_->cell_of.size());
  live_.assign(cells_->cell_of.size(), 0);
  for (std::size_t i = 0; i < group_of_.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    const std::int32_t g = group_of_[i] =
        counted.contains(node) ? find_group(counts, node) : group_without_counts(counts, node);
    const NodeKey key = g < 0 ? 0 : keys[node];
    if (key <= 0) continue;
    set_live(node, true);
    group(g).heap_.push_back({key, node, keys.rank(node)});
  }
  for (Group& group : groups_) std::make_heap(group.heap_.begin(), group.heap_.end(), Entry::is_worse);
}

// Node by node

void NodeGroups::activate(std::int32_t g) {
  group(g).active_at_ = static_cast<std::int32_t>(active_.size());
  active_.push_back(g);
}

void NodeGroups::set_live(std::int32_t node, bool live) {
  std::uint8_t& now = live_[static_cast<std::size_t>(node)];
  if ((now != 0) == live) return;
  now = live ? 1 : 0;
  const std::int32_t g = group_of_[static_cast<std::size_t>(node)];
  Group& changed = group(g);
  changed.live += live ? 1 : -1;
  if (live && changed.live == 1) {
    activate(g);
  } else if (changed.live == 0) {
    const std::int32_t last = active_.back();
    group(last).active_at_ = changed.active_at_;
    active_[static_cast<std::size_t>(changed.active_at_)] = last;
    active_.pop_back();
    changed.active_at_ = -1;
    changed.heap_.clear();
  }
}

void NodeGroups::push(std::int32_t g, Entry entry, const SlotKeys& keys) {
  std::vector<Entry>& heap = group(g).heap_;
  const bool replaces_best = !heap.empty() && heap.front().node == entry.node;  // as after most placements
  heap.push_back(entry);
  if (replaces_best) {
    std::pop_heap(heap.begin(), heap.end(), Entry::is_worse);  // the last entry goes down from the front
    return heap.pop_back();
  }
  if (heap.size() <= kStaleFactor * static_cast<std::size_t>(group(g).live) + kStaleSpare) {
    std::push_heap(heap.begin(), heap.end(), Entry::is_worse);
    return;
  }
  std::erase_if(heap, [&](const Entry& e) { return !is_current(e, g, keys); });
  // A node that returned to an earlier key has several entries. A sorted array is also a heap.
  std::sort(heap.begin(), heap.end(), [](const Entry& a, const Entry& b) { return Entry::is_worse(b, a); });
  const auto same_node = [](const Entry& a, const Entry& b) { return a.node == b.node; };
  heap.erase(std::unique(heap.begin(), heap.end(), same_node), heap.end());
}

/// Keeps the top of a heap current, so that a selection changes nothing. While entries of the log are still to be
/// replayed, live nodes of the group may have no current entry.
void NodeGroups::drop_outdated_top(std::int32_t g, const SlotKeys& keys) {
  std::vector<Entry>& heap = group(g).heap_;
  while (!heap.empty() && !is_current(heap.front(), g, keys)) {
    std::pop_heap(heap.begin(), heap.end(), Entry::is_worse);
    heap.pop_back();
  }
}

void NodeGroups::assign(const SlotKeys& keys, std::int32_t node) {
  const std::int32_t g = group_of_[static_cast<std::size_t>(node)];
  if (g < 0) return;
  const NodeKey key = keys[node];
  set_live(node, key > 0);
  if (key > 0) push(g, {key, node, keys.rank(node)}, keys);
  drop_outdated_top(g, keys);
}

void NodeGroups::regroup(const SlotKeys& keys, const TopologyCounts& counts, std::int32_t node) {
  const std::int32_t g = find_group(counts, node);
  std::int32_t& now = group_of_[static_cast<std::size_t>(node)];
  if (g != now) {
    const std::int32_t before = now;
    if (before >= 0) set_live(node, false);
    now = g;
    if (before >= 0) drop_outdated_top(before, keys);
  }
  assign(keys, node);
}

void NodeGroups::regroup_with_mates(const SlotKeys& keys, const TopologyCounts& counts, std::int32_t node) {
  regroup(keys, counts, node);
  for (const std::int32_t c : reads_.mate_columns) {
    const DomainColumn& column = counts.column(c);
    const auto domain = static_cast<std::size_t>(column[node]);
    if (domain == 0) continue;
    for (std::int32_t i = column.first_of_domain[domain]; i < column.first_of_domain[domain + 1]; ++i)
      regroup(keys, counts, column.nodes_by_domain[static_cast<std::size_t>(i)]);
  }
}

/// Whether the entry changes a count that nodes are grouped by.
bool NodeGroups::moves_groups(const LogEntry& entry, const ClassTable& table) {
  if (!reads_.any_by_count()) return false;
  // From the cache, or undone: tables that are newer than the class may have changed too.
  if (entry.sign <= 0) return true;
  const auto pod_class = static_cast<std::size_t>(entry.pod_class);
  if (moved_by_.size() <= pod_class) moved_by_.resize(static_cast<std::size_t>(table.size()));
  Moves& known = moved_by_[pod_class];
  if (known == Moves::kUnknown) known = reads_.moved_by(table[entry.pod_class].moves) ? Moves::kYes : Moves::kNo;
  return known == Moves::kYes;
}

void NodeGroups::replay(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts,
                        const CommitLog& log) {
  for (const LogEntry& entry : log.since(position_)) {
    if (moves_groups(entry, table)) {
      regroup_with_mates(keys, counts, entry.node);
    } else {
      assign(keys, entry.node);
    }
  }
  for (const std::int32_t node : changed_keys_) assign(keys, node);
}

void NodeGroups::catch_up(const SlotKeys& keys, const ClassTable& table, const TopologyCounts& counts,
                          const CommitLog& log, Knows needed) {
  const bool is_enough = !flat_ || needed == Knows::kBestNode;
  if (position_ == log.position() && changed_keys_.empty() && is_enough) return;
  ++version_;
  const std::size_t nodes = cells_->cell_of.size();
  const bool seldom = position_ == UINT64_MAX || log.position() - position_ > nodes / kReassignShare + 1;
  const bool stays_flat = seldom && needed == Knows::kBestNode;
  if (stays_flat) {
    assign_flat(keys, counts);
  } else if (flat_ || seldom || groups_.size() > kGroupsPerNode * nodes + kGroupsSpare) {
    assign_all(keys, counts);
  } else {
    replay(keys, table, counts, log);
  }
  flat_ = stays_flat;
  position_ = log.position();
  changed_keys_.clear();
}

// Selection

std::int64_t NodeGroups::live_outside(const Group& group, const ExcludedNodes& excluded) const {
  const std::int32_t self = active_[static_cast<std::size_t>(group.active_at_)];
  std::int64_t live = group.live;
  for (const std::int32_t node : excluded.members())
    live -= is_live(node) && group_of_[static_cast<std::size_t>(node)] == self ? 1 : 0;
  return live;
}

void NodeGroups::live_outside(const ExcludedNodes& excluded, std::vector<std::int64_t>& live) const {
  live.resize(active_.size());
  for (std::size_t a = 0; a < active_.size(); ++a) live[a] = group(active_[a]).live;
  for (const std::int32_t node : excluded.members())
    if (is_live(node)) --live[static_cast<std::size_t>(group(group_of_[static_cast<std::size_t>(node)]).active_at_)];
}

NodeGroups::Entry NodeGroups::best_outside(const Group& group, const SlotKeys& keys,
                                           const ExcludedNodes& excluded) const {
  const std::int32_t self = active_[static_cast<std::size_t>(group.active_at_)];
  const std::vector<Entry>& heap = group.heap_;
  const auto equals_front = [&](std::size_t at) { return at < heap.size() && heap[at].key == heap.front().key; };
  if (!excluded.contains(heap.front().node) && !equals_front(1) && !equals_front(2)) return heap.front();
  // Entries of the heap in order: none is better than the one above it.
  const auto is_worse = [&](std::size_t a, std::size_t b) { return Entry::is_worse(heap[a], heap[b]); };
  std::vector<std::size_t> open{0};
  Entry best;
  while (!open.empty() && (best.node < 0 || heap[open.front()].key == best.key)) {
    std::pop_heap(open.begin(), open.end(), is_worse);
    const std::size_t at = open.back();
    open.pop_back();
    // A fork may order nodes of equal keys in another way than the heap.
    if (is_current(heap[at], self, keys) && !excluded.contains(heap[at].node) &&
        (best.node < 0 || keys.rank(heap[at].node) < keys.rank(best.node)))
      best = heap[at];
    for (std::size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap.size(); ++child) {
      open.push_back(child);
      std::push_heap(open.begin(), open.end(), is_worse);
    }
  }
  return best;
}

std::uint64_t NodeGroups::bytes() const {
  std::uint64_t bytes = heap_bytes(groups_, group_of_, live_, moved_by_);
  for (const Group& group : groups_) bytes += heap_bytes(group.counts, group.heap_);
  return bytes;
}

}  // namespace berth
