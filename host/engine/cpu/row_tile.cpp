// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/row_tile.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "batching/node_draw.h"
#include "batching/node_filter.h"
#include "plugins/node_ports/compile.h"
#include "plugins/node_resources_balanced_allocation/rule.h"

namespace berth {
namespace {

// After a placement, another class's row only needs a refresh of that node.
static_assert(NodePorts::descriptor.touches == Touches::kColumnOfNode);
static_assert(NodeResourcesFit::descriptor.touches == Touches::kColumnOfNode);
static_assert(NodeResourcesBalancedAllocation::descriptor.touches == Touches::kColumnOfNode);

constexpr std::int32_t kBuildNodes = 256;  ///< nodes per task of build(); a divisor of kPageNodes

std::size_t pages_for(std::int32_t entries) {
  return static_cast<std::size_t>((entries + kPageNodes - 1) / kPageNodes);
}

void add_count(std::vector<std::pair<std::int64_t, std::int64_t>>& counts, std::int64_t raw, std::int64_t change) {
  const auto at = std::lower_bound(counts.begin(), counts.end(), raw,
                                   [](const auto& entry, std::int64_t value) { return entry.first > value; });
  if (at != counts.end() && at->first == raw) {
    at->second += change;
  } else {
    counts.insert(at, {raw, change});
  }
}

std::int64_t max_raw(const std::vector<std::pair<std::int64_t, std::int64_t>>& counts) {
  for (const auto& [raw, count] : counts)
    if (count > 0) return std::max<std::int64_t>(raw, 0);
  return 0;
}

}  // namespace

RowTile::RowTile(std::span<const std::int32_t> classes, ClassTable& table, const Snapshot& snapshot, RowTile* retired)
    : table_(table),
      classes_(classes.begin(), classes.end()),
      slot_count_((static_cast<int>(classes.size()) + kSlotStep - 1) / kSlotStep * kSlotStep),
      node_count_(snapshot.slot_count()),
      lanes_(classes, table, slot_count_),
      normalizers_(classes.size()),
      left_out_(classes.size()) {
  for (const std::int32_t c : classes_) {
    node_sides_.push_back(&table_.node_side(c));
    node_side_versions_.push_back(table_.node_side_version(c));
    const PodClass& pod_class = table_[c];
    if (!pod_class.ports.empty() && table_.profile_of(c).filters<NodePorts>())
      port_slots_.push_back(static_cast<int>(node_sides_.size()) - 1);
  }
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    normalizers_[s].maxima = node_sides_[s]->accepted_maxima;
    // Scores that are normalised over nodes that topology may refuse are not part of the tile's totals.
    normalizers_[s].tracked = node_sides_[s]->raws_vary && !has_topology(static_cast<int>(s));
    if (normalizers_[s].tracked) tracked_slots_.push_back(static_cast<int>(s));
  }
  node_sides_version = table_.node_sides_version();
  shares_base_ = tracked_slots_.empty();
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    finds_best_ = finds_best_ || !has_topology(static_cast<int>(s));
    shares_base_ = shares_base_ && node_sides_[s] == node_sides_.front() && !has_topology(static_cast<int>(s));
  }
  take_storage(retired);
}

void RowTile::take_storage(RowTile* retired) {
  if (retired != nullptr && retired->slot_count_ == slot_count_ && retired->node_count_ == node_count_ &&
      retired->shares_base_ == shares_base_ && retired->finds_best_ == finds_best_) {
    base_ = std::move(retired->base_);
    keys_ = std::move(retired->keys_);
    base_.fill(-1);
    keys_.clear();
    return;
  }
  if (!shares_base_)
    base_ = Pages<std::int32_t>(pages_for(node_count_), static_cast<std::size_t>(kPageNodes * slot_count_), -1);
  keys_ = KeyTournament(node_count_, slot_count_, finds_best_);
}

int RowTile::slot_of(std::int32_t pod_class) const {
  const auto at = std::find(classes_.begin(), classes_.end(), pod_class);
  return at == classes_.end() ? -1 : static_cast<int>(at - classes_.begin());
}

const std::int32_t* RowTile::node_base(const Snapshot& snapshot, std::int32_t node, std::int32_t* scratch) const {
  const std::int32_t* base = scratch;
  if (shares_base_) {
    std::fill_n(scratch, classes_.size(), node_sides_.front()->total_of[static_cast<std::size_t>(node)]);
    std::fill(scratch + classes_.size(), scratch + slot_count_, -1);
  } else {
    base = base_.read(static_cast<std::size_t>(node >> kPageNodesLog2)) + (node & (kPageNodes - 1)) * slot_count_;
  }
  if (port_slots_.empty() || snapshot.used_ports(node).empty()) return base;
  if (base != scratch) std::copy_n(base, slot_count_, scratch);
  for (const int s : port_slots_)
    if (ports_conflict(table_[classes_[static_cast<std::size_t>(s)]].ports, snapshot.used_ports(node))) scratch[s] = -1;
  return scratch;
}

/// Keys of nodes that are left out are below 0, so that no selection finds them. Turns them to what they are without
/// that, or back.
void RowTile::turn_keys(std::int32_t node, std::uint64_t slots, bool left_out, std::int64_t* feasible_count) {
  NodeKey* keys = keys_.write(node);
  for (; slots != 0; slots &= slots - 1) {
    const int slot = std::countr_zero(slots);
    if (keys[slot] == 0) continue;
    keys[slot] = left_out ? -keys[slot] : std::abs(keys[slot]);
    feasible_count[slot] += left_out ? -1 : 1;
  }
}

bool RowTile::evaluate(const Snapshot& snapshot, std::int32_t node, std::int64_t* feasible_count) {
  const std::uint64_t slots = slots_left_out(node);
  if (slots == 0) return evaluate_keys(snapshot, node, feasible_count);
  turn_keys(node, slots, false, feasible_count);
  const bool changed = evaluate_keys(snapshot, node, feasible_count);
  turn_keys(node, slots, true, feasible_count);
  return changed;
}

bool RowTile::evaluate_keys(const Snapshot& snapshot, std::int32_t node, std::int64_t* feasible_count) {
  std::array<std::int32_t, kMaxSlots> scratch;
  const std::int32_t* base = node_base(snapshot, node, scratch.data());
  NodeKey* keys = keys_.write(node);
  NodeLanes lanes;
  if (lanes_.needs_integers() || !lanes_.fill_node(snapshot, node, lanes))
    return evaluate_in_integers(snapshot, node, base, keys, feasible_count);
  return slot_kernels().refresh(lanes_.params(), lanes, base, keys, feasible_count);
}

bool RowTile::evaluate_in_integers(const Snapshot& snapshot, std::int32_t node, const std::int32_t* base, NodeKey* keys,
                                   std::int64_t* feasible_count) {
  const DrawRule& rule = lanes_.draw_rule();
  const NodeDraw node_part = node_draw(rule, snapshot, node);
  bool changed = false;
  for (std::size_t s = 0; s < classes_.size(); ++s) {
    const PodClass& pod_class = table_[classes_[s]];
    const CompiledProfile& profile = table_.profile_of(classes_[s]);
    NodeKey key = 0;
    if (base[s] >= 0 && load_accepts(pod_class, profile, snapshot, node))
      key = make_node_key(base[s] + load_total(pod_class, profile, snapshot, node),
                          draw_of_class(rule.order, node_part, pod_class.draw_seed));
    const int change = (key > 0 ? 1 : 0) - (keys[s] > 0 ? 1 : 0);
    feasible_count[s] += change;
    changed = changed || change != 0;
    keys[s] = key;
  }
  return changed;
}

std::int32_t RowTile::initial_base(const Snapshot& snapshot, int slot, std::int32_t node) const {
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const std::int32_t total = row.total_of[static_cast<std::size_t>(node)];
  if (total < 0 || !has_topology(slot)) return total;
  return static_cast<std::int32_t>(row.fixed_total(snapshot, node));
}

void RowTile::fill_base(const Snapshot& snapshot, std::int32_t first, std::int32_t last) {
  if (shares_base_) return;
  for (std::int32_t i = first; i < last; ++i) {
    std::int32_t* base =
        base_.write(static_cast<std::size_t>(i >> kPageNodesLog2)) + (i & (kPageNodes - 1)) * slot_count_;
    for (std::size_t s = 0; s < classes_.size(); ++s) base[s] = initial_base(snapshot, static_cast<int>(s), i);
  }
}

void RowTile::build(const Snapshot& snapshot) {
  std::mutex mutex;
  // A new tile shares no page, so ranges of one page may be written concurrently.
  const std::int32_t range_count = (node_count_ + kBuildNodes - 1) / kBuildNodes;
  tbb::parallel_for(0, range_count, [&](std::int32_t range) {
    std::array<std::int64_t, kMaxSlots> counts{};
    const std::int32_t first = range * kBuildNodes;
    const std::int32_t last = std::min(first + kBuildNodes, node_count_);
    fill_base(snapshot, first, last);
    for (std::int32_t i = first; i < last; ++i) evaluate(snapshot, i, counts.data());
    const std::lock_guard lock(mutex);
    for (std::size_t s = 0; s < counts.size(); ++s) feasible_count_[s] += counts[s];
  });
  refresh_count += static_cast<std::int64_t>(node_count_) * static_cast<std::int64_t>(classes_.size());
  keys_.rebuild();
  for (const int slot : tracked_slots_) count_raws(snapshot, slot);
  finish_refresh(snapshot);
}

void RowTile::reload_base(const Snapshot& snapshot, std::int32_t node) {
  if (shares_base_) return;
  std::int32_t* base =
      base_.write(static_cast<std::size_t>(node >> kPageNodesLog2)) + (node & (kPageNodes - 1)) * slot_count_;
  for (std::size_t s = 0; s < classes_.size(); ++s)
    base[s] = tracks_maxima(static_cast<int>(s)) ? normalized_base(snapshot, static_cast<int>(s), node)
                                                 : initial_base(snapshot, static_cast<int>(s), node);
}

void RowTile::turn(const Snapshot& snapshot, int slot, std::int32_t node, bool left_out) {
  slots_left_out_.resize(static_cast<std::size_t>(node_count_));
  const std::uint64_t bit = std::uint64_t{1} << slot;
  slots_left_out_[static_cast<std::size_t>(node)] ^= bit;
  if (key(slot, node) == 0) return;
  turn_keys(node, bit, left_out, feasible_count_.data());
  if (tracks_maxima(slot)) note_flip(snapshot, slot, node, left_out ? -1 : 1);
  keys_.climb(node, slot);
}

void RowTile::leave_out(const Snapshot& snapshot, int slot, const ExcludedNodes& nodes, std::uint64_t version) {
  LeftOut& now = left_out_[static_cast<std::size_t>(slot)];
  if (now.version == version) return;
  now.version = version;
  for (const std::int32_t node : now.nodes)
    if (!nodes.contains(node)) turn(snapshot, slot, node, false);
  for (const std::int32_t node : nodes.members())
    if ((slots_left_out(node) >> slot & 1u) == 0) turn(snapshot, slot, node, true);
  now.nodes.assign(nodes.members().begin(), nodes.members().end());
  finish_refresh(snapshot);
}

bool RowTile::has_outdated_node_side() const {
  for (std::size_t s = 0; s < classes_.size(); ++s)
    if (node_side_versions_[s] != table_.node_side_version(classes_[s])) return true;
  return false;
}

void RowTile::refresh(const Snapshot& snapshot, std::int32_t node) {
  std::array<bool, kMaxSlots> was_feasible;
  for (const int slot : tracked_slots_) was_feasible[static_cast<std::size_t>(slot)] = key(slot, node) > 0;
  const bool flipped = evaluate(snapshot, node, feasible_count_.data());
  refresh_count += static_cast<std::int64_t>(classes_.size());
  if (flipped)
    for (const int slot : tracked_slots_) {
      const int change = (key(slot, node) > 0 ? 1 : 0) - (was_feasible[static_cast<std::size_t>(slot)] ? 1 : 0);
      if (change != 0) note_flip(snapshot, slot, node, change);
    }
  keys_.climb(node);
}

void RowTile::count_raws(const Snapshot& snapshot, int slot) {
  for (std::int32_t i = 0; i < node_count_; ++i)
    if (key(slot, i) > 0) note_flip(snapshot, slot, i, 1);
  // The assumed maxima may be wrong even when no node is feasible.
  normalizers_[static_cast<std::size_t>(slot)].moved = true;
}

void RowTile::note_flip(const Snapshot& snapshot, int slot, std::int32_t node, int change) {
  Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const RawScores raws = row.raws(snapshot, node);
  for (std::size_t r = 0; r < RawScores::kRules; ++r) add_count(normalizer.counts[r], raws.of[r], change);
  normalizer.moved = true;
}

void RowTile::finish_refresh(const Snapshot& snapshot) {
  for (const int slot : tracked_slots_) {
    Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
    if (!normalizer.moved) continue;
    normalizer.moved = false;
    RawScores now;
    for (std::size_t r = 0; r < RawScores::kRules; ++r) now.of[r] = max_raw(normalizer.counts[r]);
    if (now == normalizer.maxima) continue;
    normalizer.maxima = now;
    renormalize(snapshot, slot);
  }
}

/// The base of an accepted node under the current maxima. A full node may exceed the maxima of the feasible ones: its
/// base has no effect until it is feasible again, and then the maxima change.
std::int32_t RowTile::normalized_base(const Snapshot& snapshot, int slot, std::int32_t node) const {
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const RawScores& maxima = normalizers_[static_cast<std::size_t>(slot)].maxima;
  const std::int32_t initial = row.total_of[static_cast<std::size_t>(node)];
  return initial >= 0 && row.raws(snapshot, node).is_within(maxima)
             ? static_cast<std::int32_t>(row.total(snapshot, node, maxima))
             : initial;
}

void RowTile::renormalize(const Snapshot& snapshot, int slot) {
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  for (std::int32_t i = 0; i < node_count_; ++i) {
    if (row.refusal(i) != NodeSideRow::kAccepted) continue;
    const auto page = static_cast<std::size_t>(i >> kPageNodesLog2);
    const std::int32_t offset = (i & (kPageNodes - 1)) * slot_count_ + slot;
    std::int32_t& base = base_.write(page)[offset];
    const std::int32_t now = normalized_base(snapshot, slot, i);
    NodeKey& key = keys_.write(i)[slot];
    if (key != 0) key += make_node_key(key > 0 ? now - base : base - now, 0);
    base = now;
  }
  keys_.rebuild();
}

std::int32_t RowTile::base(int slot, std::int32_t node) const {
  if (shares_base_) return node_sides_.front()->total_of[static_cast<std::size_t>(node)];
  return base_.read(static_cast<std::size_t>(node >> kPageNodesLog2))[(node & (kPageNodes - 1)) * slot_count_ + slot];
}

std::int64_t RowTile::feasible_outside(int slot, const ExcludedNodes& excluded) const {
  std::int64_t count = feasible_count(slot);
  for (const std::int32_t node : excluded.members()) count -= node < node_count_ && key(slot, node) > 0 ? 1 : 0;
  return count;
}

RawScores RowTile::maxima_outside(int slot, const Snapshot& snapshot, const ExcludedNodes& excluded) const {
  const Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
  if (!normalizer.tracked || excluded.empty()) return normalizer.maxima;
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  std::vector<RawScores> taken;
  for (const std::int32_t node : excluded.members())
    if (node < node_count_ && key(slot, node) > 0) taken.push_back(row.raws(snapshot, node));
  RawScores maxima;
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    for (const auto& [raw, count] : normalizer.counts[r]) {
      const auto is_taken = [r, value = raw](const RawScores& raws) { return raws.of[r] == value; };
      if (std::count_if(taken.begin(), taken.end(), is_taken) == count) continue;
      maxima.of[r] = std::max<std::int64_t>(raw, 0);
      break;
    }
  return maxima;
}

RowTile::MaximaHolders RowTile::maxima_holders(int slot) const {
  const Normalizer& normalizer = normalizers_[static_cast<std::size_t>(slot)];
  const auto holders_of = [](const auto& counts, std::int64_t maximum) {
    for (const auto& [raw, count] : counts)
      if (raw == maximum) return count;
    return std::int64_t{0};
  };
  MaximaHolders holders{};
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    holders[r] = holders_of(normalizer.counts[r], normalizer.maxima.of[r]);
  return holders;
}

bool RowTile::loses_holder(int slot, const Snapshot& snapshot, std::int32_t node, MaximaHolders& holders) const {
  if (!tracks_maxima(slot)) return false;
  const NodeSideRow& row = *node_sides_[static_cast<std::size_t>(slot)];
  const RawScores raws = row.raws(snapshot, node);
  bool was_last = false;
  for (std::size_t r = 0; r < RawScores::kRules; ++r)
    was_last = (raws.of[r] == maxima(slot).of[r] && --holders[r] == 0) || was_last;
  return was_last;
}

std::uint64_t RowTile::bytes() const { return base_.bytes() + keys_.bytes(); }

}  // namespace berth
