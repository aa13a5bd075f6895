// SPDX-License-Identifier: Apache-2.0
#pragma once

// The body of the kernel that commits a window: a batch whose rows stay as they were before it. Only the nodes that its
// pods were placed on, the touched ones, can have other keys than the rows hold, so that each pod evaluates these again
// and takes the best of them and of the best untouched nodes of its row. The cost of a pod does not grow with the
// number of rows. The rows are refreshed before the next batch.
//
// Pods that agree on the best nodes cannot be placed side by side, so that the time from one pod to the next is what
// counts, and this is the latency of memory. What a pod needs is therefore read before its turn, for some pods together
// (WindowPod), and lies in the shared memory of a block, as do the touched nodes (WindowMemory).

#include <cstdint>
#include <type_traits>

#include "batching/device/cell_selection.h"
#include "batching/device/commit_body.h"
#include "batching/device/row_tournament.h"
#include "batching/device/team.h"
#include "batching/device/views.h"

namespace berth {

/// What is known of one cell at a pod's turn.
struct WindowCell {
  NodeKey key = 0;               ///< the best; 0: none is feasible
  std::int32_t node = -1;        ///< that has it; -1 likewise
  std::int32_t touched = -1;     ///< its number among the touched nodes; -1: it is none of them
  std::int32_t live_change = 0;  ///< feasible nodes, compared with the row
};

struct CombineWindowCells {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  BERTH_HD bool is_better(const WindowCell& a, const WindowCell& b) const {
    if (a.key != b.key || a.key == 0) return a.key > b.key;
    return rank[a.node] < rank[b.node];
  }
  BERTH_HD WindowCell operator()(const WindowCell& a, const WindowCell& b) const {
    const WindowCell& best = is_better(b, a) ? b : a;
    return {best.key, best.node, best.touched, a.live_change + b.live_change};
  }
};

/// The cells of a row at a pod's turn, as CellSelection reads them. A node is its own position.
struct WindowRow {
  const DeviceLayout& layout;
  const std::int32_t* live;  ///< of the row
  const WindowCell* cells;   ///< [layout.cell_count]

  BERTH_HD RowEntry top(std::int32_t cell) const { return {cells[cell].key, cells[cell].node}; }
  BERTH_HD std::int32_t node_at(std::int32_t position) const { return position; }
  /// Where counts_feasible() is false, not exact, but 0 where none is feasible, and above 1 where more are.
  BERTH_HD std::int32_t live_of(std::int32_t cell) const {
    return cells[cell].key > 0 ? live[cell] + cells[cell].live_change : 0;
  }
};

/// Whether the number of feasible nodes has to be exact: it is part of scores, or so small that the nodes which a
/// window may touch decide whether one is left, or two. A placement makes no node feasible: a cell without one stays
/// so.
/// @param pod_count  of the batch
BERTH_HD bool counts_feasible(const DeviceClass& pod_class, const DeviceRow& row, std::int32_t cell_count,
                              std::int32_t pod_count) {
  bool exact = pod_class.soft.count > 0;
  for (std::int32_t cell = 0; cell < cell_count; ++cell)
    exact = exact || (row.live[cell] > 0 && row.live[cell] < pod_count + 2);
  return exact;
}

/// The touched nodes as UsualNode by the draw rule of the window's first pod, side by side.
struct TouchedNodes {
  std::int32_t nodes[kWindowPodsMax];
  std::uint32_t seeds[kWindowPodsMax];
  double values[8][kWindowPodsMax];
  Draw draws[kWindowPodsMax];
  std::uint8_t applies[kWindowPodsMax];
  std::uint8_t has_room[kWindowPodsMax];

  BERTH_HD void store(std::int32_t index, const UsualNode& node) {
    store_offer(0, index, node.cpu);
    store_offer(4, index, node.memory);
    draws[index] = node.draw.bits;
    seeds[index] = node.draw.seed;
    applies[index] = node.applies ? 1 : 0;
    has_room[index] = node.has_room ? 1 : 0;
  }
  BERTH_HD UsualNode load(std::int32_t index) const {
    UsualNode node;
    node.cpu = load_offer(0, index);
    node.memory = load_offer(4, index);
    node.draw = {draws[index], seeds[index]};
    node.applies = applies[index] != 0;
    node.has_room = has_room[index] != 0;
    return node;
  }

 private:
  BERTH_HD void store_offer(int first, std::int32_t index, const UsualOffer& offer) {
    values[first][index] = offer.allocatable.value;
    values[first + 1][index] = offer.allocatable.reciprocal;
    values[first + 2][index] = offer.requested;
    values[first + 3][index] = offer.in_use;
  }
  BERTH_HD UsualOffer load_offer(int first, std::int32_t index) const {
    UsualOffer offer;
    offer.allocatable.value = values[first][index];
    offer.allocatable.reciprocal = values[first + 1][index];
    offer.requested = values[first + 2][index];
    offer.in_use = values[first + 3][index];
    return offer;
  }
};

/// What is read ahead of a pod's turn.
struct WindowPod {
  /// As many as pods before it may take until its turn, and one more.
  static constexpr std::int32_t kTops = kWindowPartMax + 1;
  std::int32_t row_index;  ///< of the batch
  std::int32_t cell_count;
  bool counts;  ///< counts_feasible()
  DeviceRow row;
  DeviceClass pod_class;
  NodeKey cutoffs[kWindowCellsMax];  ///< of the lists
  std::int32_t top_counts[kWindowCellsMax];
  DeviceTop tops[kWindowCellsMax][kTops];  ///< the best nodes of the lists that were not touched
};

/// How a pod of a window went.
struct WindowStep {
  bool is_last = false;      ///< the window ends behind it
  bool is_answered = false;  ///< otherwise the lists do not tell where it goes
  bool touches = false;      ///< `node` was not touched before
  std::int32_t node = -1;    ///< where it was placed
  std::int32_t touched = 0;  ///< its number among the touched nodes
};

/// Most solo teams of a team that commits a window.
inline constexpr int kWindowSolosMax = 32;

/// What the threads of the team share.
struct WindowMemory {
  TouchedNodes touched;
  WindowPod pods[kWindowPartMax];
  std::int32_t placed[kWindowPartMax];                 ///< nodes that were touched since `pods` were read
  WindowCell cells[kWindowCellsMax][kWindowSolosMax];  ///< what each solo team has seen of them
  WindowStep step;
};

/// The threads of a solo team together.
template <class Solo, class T>
BERTH_HD void copy_words(const Solo& solo, T& to, const T& from) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  auto* words = reinterpret_cast<std::uint32_t*>(&to);
  const auto* read = reinterpret_cast<const std::uint32_t*>(&from);
  for (std::size_t w = static_cast<std::size_t>(solo.index()); w < sizeof(T) / sizeof(std::uint32_t);
       w += static_cast<std::size_t>(solo.size()))
    words[w] = read[w];
}

BERTH_HD int count_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

/// Places the pods of a window. One object for each thread of the team.
template <class Team>
class WindowCommit {
  using Solo = std::remove_const_t<decltype(std::declval<const Team&>().solo())>;

 public:
  BERTH_HD WindowCommit(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                        const DeviceWindow& window, WindowMemory& memory)
      : team_(team),
        solo_(team.solo()),
        state_(state),
        batch_(batch),
        window_(window),
        memory_(memory),
        profile_(state.classes.classes[state.rows.rows[batch.row_of_pod[0]].pod_class].profile) {}

  /// @return the number of pods that have an outcome
  BERTH_HD std::int32_t run() {
    std::int32_t pod = 0;
    for (bool is_over = false; !is_over && pod < batch_.pod_count;) {
      const std::int32_t first = pod;
      const std::int32_t rest = batch_.pod_count - first;
      const std::int32_t part = rest < kWindowPartMax ? rest : kWindowPartMax;
      placed_count_ = 0;
      team_.barrier();  // nobody reads the part before any more
      for (std::int32_t i = team_.solo_index(); i < part; i += team_.solo_count())
        read_ahead(first + i, memory_.pods[i]);
      team_.barrier();
      for (std::int32_t i = 0; i < part && !is_over; ++i) {
        look_at_touched(memory_.pods[i]);
        team_.barrier();
        if (team_.solo_index() == 0) take_step(first + i, memory_.pods[i]);
        team_.barrier();
        const WindowStep step = memory_.step;
        if (step.node >= 0) follow(step, memory_.pods[i].pod_class);
        is_over = step.is_last;
        pod += step.is_answered ? 1 : 0;
      }
    }
    return pod;
  }

 private:
  /// The solo team reads what is known of the pod before its turn.
  BERTH_HD void read_ahead(std::int32_t pod, WindowPod& ahead) const {
    const std::int32_t row_index = batch_.row_of_pod[pod];
    const DeviceRow& row = state_.rows.rows[row_index];
    const DeviceLayout& layout = state_.rows.layouts[row.layout];
    const DeviceClass& pod_class = state_.classes.classes[row.pod_class];
    copy_words(solo_, ahead.row, row);
    copy_words(solo_, ahead.pod_class, pod_class);
    for (std::int32_t r = solo_.index(); r < pod_class.delta.count; r += solo_.size())
      solo_.prefetch(state_.classes.requests + pod_class.delta.first + r);
    const bool counts = counts_feasible(pod_class, row, layout.cell_count, batch_.pod_count);
    if (solo_.index() == 0) {
      ahead.row_index = row_index;
      ahead.cell_count = layout.cell_count;
      ahead.counts = counts;
    }
    for (std::int32_t cell = 0; cell < layout.cell_count; ++cell) read_tops_ahead(layout, row_index, cell, ahead);
  }

  BERTH_HD void read_tops_ahead(const DeviceLayout& layout, std::int32_t row_index, std::int32_t cell,
                                WindowPod& ahead) const {
    constexpr int kAtOnce = 4;  // loads that do not wait for each other
    const std::int64_t list = window_.list_of(row_index, cell);
    const DeviceTop* tops = window_.tops + list * window_.tops_max;
    const DeviceTopList of_cell = window_.lists[list];
    std::int32_t found = 0;
    for (std::int32_t begin = 0; begin < of_cell.count && found < WindowPod::kTops; begin += kAtOnce * solo_.size()) {
      DeviceTop read[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int32_t i = begin + k * solo_.size() + solo_.index();
        if (i < of_cell.count) read[k] = tops[i];
      }
      bool is_free[kAtOnce];
      for (int k = 0; k < kAtOnce; ++k)
        is_free[k] = read[k].node >= 0 && !is_in_node_set(window_.touched_nodes, read[k].node);
      for (int k = 0; k < kAtOnce; ++k) {
        const std::uint32_t free = solo_.ballot(is_free[k]);
        const std::int32_t at = found + count_bits(free & ((std::uint32_t{1} << solo_.index()) - 1));
        found += count_bits(free);
        if (!is_free[k] || at >= WindowPod::kTops) continue;
        ahead.tops[cell][at] = read[k];
        prefetch_node(layout, read[k].node);
      }
    }
    if (solo_.index() != 0) return;
    ahead.cutoffs[cell] = of_cell.cutoff;
    ahead.top_counts[cell] = found < WindowPod::kTops ? found : WindowPod::kTops;
  }
  BERTH_HD void prefetch_node(const DeviceLayout& layout, std::int32_t node) const {
    const DeviceColumns& columns = state_.columns;
    for (const std::int32_t column : {kCpuColumn, kMemoryColumn}) {
      solo_.prefetch(columns.allocatable + column * columns.stride + node);
      solo_.prefetch(columns.requested + column * columns.stride + node);
    }
    solo_.prefetch(columns.non_zero_milli_cpu + node);
    solo_.prefetch(columns.non_zero_memory_bytes + node);
    solo_.prefetch(columns.pod_count + node);
    solo_.prefetch(columns.allowed_pods + node);
    solo_.prefetch(columns.name_hash + node);
    solo_.prefetch(columns.rank + node);
    solo_.prefetch(layout.base + node);
    if (!layout.in_order) solo_.prefetch(layout.cell_of + node);
  }

  /// Solo teams that have touched nodes.
  BERTH_HD std::int32_t looking_count() const {
    const std::int32_t wanted = (touched_count_ + solo_.size() - 1) / solo_.size();
    return wanted < team_.solo_count() ? wanted : team_.solo_count();
  }

  /// Evaluates the touched nodes again, which the threads share.
  BERTH_HD void look_at_touched(const WindowPod& ahead) const {
    const std::int32_t group = team_.solo_index();
    if (group >= looking_count()) return;
    const CombineWindowCells combine{state_.columns.rank};
    for (std::int32_t begin = 0; begin + group * solo_.size() < touched_count_; begin += team_.size()) {
      const std::int32_t t = begin + team_.index();
      std::int32_t cell = -1;
      WindowCell here;
      if (t < touched_count_) cell = look_at(ahead, t, here);
      for (std::int32_t c = 0; c < ahead.cell_count; ++c) {
        WindowCell best = c == cell ? here : WindowCell{};
        solo_.gather(&best, 1, combine);
        WindowCell& seen = memory_.cells[c][group];
        if (solo_.index() == 0) seen = begin == 0 ? best : combine(seen, best);
      }
    }
  }
  /// One touched node. @return its cell, or -1
  BERTH_HD std::int32_t look_at(const WindowPod& ahead, std::int32_t t, WindowCell& here) const {
    const RowView row(state_, ahead.row);
    const std::int32_t node = memory_.touched.nodes[t];
    const std::int32_t cell = row.cell_of(node);
    if (cell < 0) return cell;
    NodeKey now = 0;
    if (!ahead.row.leaves_out || !is_in_node_set(ahead.row.left_out, node)) {
      const std::int32_t base = row.layout.base[node];
      const DeviceNode read{state_.columns, node};
      now = ahead.pod_class.profile == profile_
                ? evaluate_node(state_, ahead.pod_class, base, read, memory_.touched.load(t))
                : evaluate_node(state_, ahead.pod_class, base, read);
    }
    here = {now, node, t, 0};
    if (ahead.counts) here.live_change = (now > 0 ? 1 : 0) - (row.keys[row.position_of(node)] > 0 ? 1 : 0);
    return cell;
  }

  BERTH_HD bool is_placed_in_part(std::int32_t node) const {
    bool is_placed = false;
    for (std::int32_t p = 0; p < placed_count_; ++p) is_placed = is_placed || memory_.placed[p] == node;
    return is_placed;
  }

  /// The best node of a cell at the pod's turn.
  BERTH_HD WindowCell best_of_cell(const WindowPod& ahead, std::int32_t cell) const {
    const CombineWindowCells combine{state_.columns.rank};
    WindowCell best;
    for (std::int32_t g = solo_.index(); g < looking_count(); g += solo_.size())
      best = combine(best, memory_.cells[cell][g]);
    solo_.gather(&best, 1, combine);
    for (std::int32_t begin = 0; begin < ahead.top_counts[cell]; begin += solo_.size()) {
      const std::int32_t i = begin + solo_.index();
      const std::uint32_t free =
          solo_.ballot(i < ahead.top_counts[cell] && !is_placed_in_part(ahead.tops[cell][i].node));
      if (free == 0) continue;
      const DeviceTop& top = ahead.tops[cell][begin + count_bits((free & (0 - free)) - 1)];
      return combine(best, {top.key, top.node, -1, 0});
    }
    return best;
  }

  /// The first solo team selects a node for the pod, and tells the others in WindowMemory::step.
  BERTH_HD void take_step(std::int32_t pod, const WindowPod& ahead) const {
    const DeviceLayout& layout = state_.rows.layouts[ahead.row.layout];
    WindowCell cells[kWindowCellsMax];
    WindowStep step;
    bool suffice = true;  // otherwise a node that is not listed may be better than all that were looked at
    for (std::int32_t cell = 0; cell < ahead.cell_count; ++cell) {
      cells[cell] = best_of_cell(ahead, cell);
      suffice = suffice && (ahead.cutoffs[cell] == 0 || cells[cell].key > ahead.cutoffs[cell]);
    }
    step.is_last = true;
    if (suffice) {
      const DeviceClass& pod_class = ahead.pod_class;
      const DeviceChoice choice = CellSelection<Solo, WindowRow>(solo_, state_, {layout, ahead.row.live, cells},
                                                                 pod_class, state_.scratch.first_mark + pod)
                                      .select();
      const DeviceOutcome outcome = outcome_of(choice, pod_class, state_.classes.profiles[pod_class.profile]);
      step.is_answered = true;
      step.is_last = ends_behind(batch_, outcome);
      if (outcome.kind == DeviceOutcomeKind::kPlaced) place(outcome.node, ahead.cell_count, cells, step);
      if (solo_.index() == 0) batch_.outcomes[pod] = outcome;
    }
    if (solo_.index() == 0) memory_.step = step;
  }
  BERTH_HD void place(std::int32_t node, std::int32_t cell_count, const WindowCell* cells, WindowStep& step) const {
    step.node = node;
    step.touches = true;
    step.touched = touched_count_;
    for (std::int32_t cell = 0; cell < cell_count; ++cell) {
      if (cells[cell].node != node || cells[cell].touched < 0) continue;
      step.touches = false;
      step.touched = cells[cell].touched;
    }
    if (!step.touches || solo_.index() != 0) return;
    memory_.placed[placed_count_] = node;
    memory_.touched.nodes[step.touched] = node;
    window_.touched_nodes[node / kNodesPerWord] |= std::uint32_t{1} << (node % kNodesPerWord);
  }

  /// Places the pod on the node of the step. The thread that looks at the node reads it again, and its solo team writes
  /// to the columns.
  BERTH_HD void follow(const WindowStep& step, const DeviceClass& pod_class) {
    touched_count_ += step.touches ? 1 : 0;
    placed_count_ += step.touches ? 1 : 0;
    const std::int32_t reader = step.touched % team_.size();
    if (team_.index() == reader)
      memory_.touched.store(step.touched, usual_node(with_copies(state_, step.node, pod_class, 1),
                                                     state_.classes.profiles[profile_].draw));
    if (team_.solo_index() != reader / solo_.size()) return;
    solo_.barrier();
    place_on_node(solo_, state_, pod_class, step.node);
    solo_.barrier();
  }

  const Team& team_;
  const Solo solo_;
  const DeviceState& state_;
  const DeviceBatch& batch_;
  const DeviceWindow& window_;
  WindowMemory& memory_;
  std::int32_t profile_;
  std::int32_t touched_count_ = 0;
  std::int32_t placed_count_ = 0;  ///< in the part
};

/// Places the pods of the batch in order, each as the serial algorithm would after all before it, until the lists do
/// not tell any more where the next pod goes.
/// @param memory  uninitialised, read and written by all threads: the shared memory of a block
template <class Team>
BERTH_HD void commit_window(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                            const DeviceWindow& window, WindowMemory& memory) {
  const std::int32_t committed = WindowCommit<Team>(team, state, batch, window, memory).run();
  if (team.index() == 0) *batch.committed_count = committed;
}

}  // namespace berth
