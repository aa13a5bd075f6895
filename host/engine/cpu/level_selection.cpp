// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/level_selection.h"

#include <algorithm>
#include <array>
#include <bit>

#include "batching/equal_runs.h"
#include "batching/node_draw.h"

namespace berth {
namespace {

/// A bound for the levels costs about as much as evaluating every copy once; it pays where many more copies fit.
constexpr std::int64_t kRoomWorthBounding = 4;

/// Walks the copies of one class on one node, kMaxSlots lanes at a time.
class CopyWalk {
 public:
  CopyWalk(const RowTile& tile, int slot, const Snapshot& snapshot, const PodClass& pod_class)
      : tile_(tile), slot_(slot), snapshot_(snapshot), pod_class_(pod_class), steps_(tile.lanes().copy_steps(slot)) {}

  /// Copies that the pod limit of the node leaves room for, at most `count`.
  std::int64_t room(std::int32_t node, std::int64_t count) const {
    return std::min(count, lanes_room(node, snapshot_.pod_count(node)));
  }

  /// Appends the copies on `node` whose running minimum reaches `threshold`, at most `count` of them.
  void append(std::int32_t node, NodeKey threshold, std::int64_t count, std::vector<RunPick>& picks) {
    NodeLanes lanes;
    if (!tile_.lanes().fill_node(snapshot_, node, lanes)) return append_one(node, picks);
    const std::int64_t room = lanes_room(node, snapshot_.pod_count(node));
    const std::int64_t limit = std::min(count, room);
    const DrawRule& rule = tile_.lanes().draw_rule();
    const NodeDraws draws = node_draws(rule, snapshot_, node);
    DrawAmounts in_use = draw_amounts(snapshot_, node);
    NodeKey running = INT64_MAX;
    for (std::int64_t k = 0; k < limit;) {
      // Most nodes take few copies before their level is below the threshold: evaluate few first.
      const int width = static_cast<int>(std::min<std::int64_t>(limit - k, k == 0 ? kSlotStep : kMaxSlots));
      slot_kernels().copies(tile_.lanes().params(), slot_, lanes, steps_, static_cast<int>(k), width, totals_.data(),
                            fits_.data());
      for (int lane = 0; lane < width; ++lane, ++k) {
        if (fits_[static_cast<std::size_t>(lane)] == 0) return mark_last(node, picks);
        const std::int64_t total =
            tile_.base(slot_, node) + static_cast<std::int64_t>(totals_[static_cast<std::size_t>(lane)]);
        const Draw draw = draw_of_class(rule.order, draws.with(in_use), pod_class_.draw_seed);
        running = std::min(running, make_node_key(total, draw));
        in_use = with_another(in_use, pod_class_.delta);
        if (running < threshold) return;
        picks.push_back({running, node, static_cast<std::int32_t>(total), false, false});
      }
    }
    if (limit == room) mark_last(node, picks);
  }

 private:
  std::int64_t lanes_room(std::int32_t node, std::int64_t pods) const {
    const bool checked = tile_.lanes().checks_fit();
    return checked ? std::max<std::int64_t>(snapshot_.allowed_pods(node) - pods, 0) : INT64_MAX;
  }
  /// For amounts beyond exact doubles: one copy, then the rest of the run is planned again.
  void append_one(std::int32_t node, std::vector<RunPick>& picks) const {
    const NodeKey key = tile_.key(slot_, node);
    picks.push_back({key, node, static_cast<std::int32_t>(total_of(key)), false, true});
  }
  static void mark_last(std::int32_t node, std::vector<RunPick>& picks) {
    if (!picks.empty() && picks.back().node == node) picks.back().last_copy = true;
  }

  const RowTile& tile_;
  int slot_;
  const Snapshot& snapshot_;
  const PodClass& pod_class_;
  CopySteps steps_;
  std::array<double, kMaxSlots> totals_{};
  std::array<std::uint8_t, kMaxSlots> fits_{};
};

/// A level below which no copy can be among the `count` best; 1 where none is known. Any `count` copies bound it: the
/// worst of them. The first few copies of every node are taken for that, as many as it needs on average.
NodeKey threshold_of(const RowTile& tile, int slot, const Snapshot& snapshot, CopyWalk& walk, std::int64_t count) {
  const std::int64_t feasible = tile.feasible_count(slot);
  const std::int64_t copies_each = copies_that_bound(count, feasible);
  std::vector<NodeKey> levels;
  if (copies_each == 1) {
    levels.reserve(static_cast<std::size_t>(feasible));
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
      if (const NodeKey key = tile.key(slot, i); key > 0) levels.push_back(key);
  } else {
    // Where little more fits than `count`, most copies are evaluated anyway.
    std::int64_t room = 0;
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
      if (tile.key(slot, i) > 0) room += walk.room(i, count);
    if (room / kRoomWorthBounding <= count) return 1;
    std::vector<RunPick> picks;
    for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
      if (tile.key(slot, i) > 0) walk.append(i, 1, copies_each, picks);
    for (const RunPick& pick : picks) levels.push_back(pick.order);
  }
  if (static_cast<std::int64_t>(levels.size()) < count) return 1;
  const auto nth = levels.begin() + (count - 1);
  std::nth_element(levels.begin(), nth, levels.end(), std::greater<>());
  return *nth;
}

/// Key bits that order picks by digit: enough of the hash at the end of a draw that few picks of `node_count` nodes
/// agree in all of them.
int first_sorted_bit(std::int32_t node_count) {
  constexpr int kHashBits = 32;
  constexpr int kSpareBits = 3;
  return std::max(0, kHashBits - kSpareBits - static_cast<int>(std::bit_width(static_cast<std::uint32_t>(node_count))));
}

/// Stable, best order first, by the bits from `first_bit` on.
void sort_by_digits(std::vector<RunPick>& picks, int first_bit) {
  constexpr int kDigitBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
  NodeKey all_bits = 0;
  for (const RunPick& pick : picks) all_bits |= pick.order ^ picks.front().order;
  std::vector<RunPick> sorted(picks.size());
  for (int shift = first_bit; shift < 63; shift += kDigitBits) {
    if ((all_bits >> shift & static_cast<NodeKey>(kDigits - 1)) == 0) continue;
    std::array<std::uint32_t, kDigits + 1> begin{};
    const auto digit = [shift](const RunPick& pick) {
      return kDigits - 1 - static_cast<std::size_t>(pick.order >> shift & static_cast<NodeKey>(kDigits - 1));
    };
    for (const RunPick& pick : picks) ++begin[digit(pick) + 1];
    for (std::size_t d = 0; d < kDigits; ++d) begin[d + 1] += begin[d];
    for (const RunPick& pick : picks) sorted[begin[digit(pick)]++] = pick;
    picks.swap(sorted);
  }
}

/// Best order first: of equal orders the first node in node order, then the earlier copy, as the picks were appended.
void sort_best_first(std::vector<RunPick>& picks, const Snapshot& snapshot) {
  const NodeOrder order = snapshot.node_order();
  const int first_bit = first_sorted_bit(snapshot.slot_count());
  sort_by_digits(picks, first_bit);
  const auto better = [&](const RunPick& a, const RunPick& b) {
    return a.order != b.order ? a.order > b.order : order.is_before(a.node, b.node);
  };
  for (auto begin = picks.begin(); begin != picks.end();) {
    auto end = begin + 1;
    bool sorted = true;
    for (; end != picks.end() && end->order >> first_bit == begin->order >> first_bit; ++end)
      sorted = sorted && !better(*end, end[-1]);
    if (!sorted) std::stable_sort(begin, end, better);
    begin = end;
  }
}

/// Cuts the picks where the rest depends on their effects: after the one that fills the last node with an extreme raw
/// score, and after one on a node whose further copies are not known.
void cut_where_unknown(const RowTile& tile, int slot, const Snapshot& snapshot, std::vector<RunPick>& picks) {
  auto holders = tile.maxima_holders(slot);
  const auto ends = [&](const RunPick& pick) {
    return pick.ends_run || (pick.last_copy && tile.loses_holder(slot, snapshot, pick.node, holders));
  };
  const auto at = std::find_if(picks.begin(), picks.end(), ends);
  if (at != picks.end()) picks.erase(at + 1, picks.end());
}

}  // namespace

std::vector<RunPick> select_run(const RowTile& tile, int slot, const Snapshot& snapshot, const PodClass& pod_class,
                                std::int64_t count) {
  if (tile.feasible_count(slot) == 0) return {};
  CopyWalk walk(tile, slot, snapshot, pod_class);
  const NodeKey threshold = threshold_of(tile, slot, snapshot, walk, count);
  std::vector<RunPick> picks;
  for (std::int32_t i = 0; i < snapshot.slot_count(); ++i)
    if (const NodeKey key = tile.key(slot, i); key >= threshold && key > 0) walk.append(i, threshold, count, picks);
  if (!picks.empty()) sort_best_first(picks, snapshot);
  if (static_cast<std::int64_t>(picks.size()) > count) picks.resize(static_cast<std::size_t>(count));
  cut_where_unknown(tile, slot, snapshot, picks);
  return picks;
}

}  // namespace berth
