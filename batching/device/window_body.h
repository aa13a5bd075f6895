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

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "batching/device/cell_selection.h"
#include "batching/device/commit_body.h"
#include "batching/device/row_tournament.h"
#include "batching/device/team.h"
#include "batching/device/views.h"
#include "batching/device/window_memory.h"

namespace berth {

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
template <class Team, class Memory>
class WindowCommit {
  using Solo = std::remove_const_t<decltype(std::declval<const Team&>().solo())>;

 public:
  BERTH_HD WindowCommit(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                        const DeviceWindow& window, const Memory& memory)
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
        read_ahead(first + i, memory_().pods[i]);
      team_.barrier();
      for (std::int32_t i = 0; i < part && !is_over; ++i) {
        look_at_touched(memory_().pods[i]);
        team_.barrier();
        if (team_.solo_index() == 0) take_step(first + i, memory_().pods[i]);
        team_.barrier();
        const WindowStep step = memory_().step;
        if (step.node >= 0) follow(step, memory_().pods[i]);
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
    for (std::int32_t m = solo_.index(); m < pod_class.moves.count; m += solo_.size())
      solo_.prefetch(state_.classes.moves + pod_class.moves.first + m);
    const bool counts = counts_feasible(pod_class, row, layout.cell_count, batch_.pod_count);
    const CellSelection<Solo, WindowRow> selection(solo_, state_, {layout, row.live, memory_().cells}, pod_class, 0);
    if (solo_.index() == 0) {
      ahead.cell_count = layout.cell_count;
      ahead.counts = counts;
      ahead.is_plain = selection.is_plain();
      if (ahead.is_plain) ahead.plain_addend = selection.plain_addend();
    }
    for (std::int32_t cell = 0; cell < layout.cell_count; ++cell) read_tops_ahead(layout, row_index, cell, ahead);
    solo_.barrier();
    read_tops_with_pod(pod_class, ahead);
  }
  /// The candidates as they would be with the pod.
  BERTH_HD void read_tops_with_pod(const DeviceClass& pod_class, WindowPod& ahead) const {
    const std::int32_t each = ahead.read_of_cell();
    for (std::int32_t r = solo_.index(); r < each * ahead.cell_count; r += solo_.size()) {
      const std::int32_t cell = r / each;
      if (r % each < ahead.top_counts[cell])
        ahead.with_pod.store(r, usual_node_with(ahead.tops[cell][r % each].node, pod_class));
    }
  }
  BERTH_HD UsualNode usual_node_with(std::int32_t node, const DeviceClass& pod_class) const {
    return usual_node(with_copies(state_, node, pod_class, 1), state_.classes.profiles[profile_].draw);
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
        WindowCell& seen = memory_().seen[c][group];
        if (solo_.index() == 0) seen = begin == 0 ? best : combine(seen, best);
      }
    }
  }
  /// One touched node. @return its cell, or -1
  BERTH_HD std::int32_t look_at(const WindowPod& ahead, std::int32_t t, WindowCell& here) const {
    const RowView row(state_, ahead.row);
    const std::int32_t node = memory_().touched_nodes[t];
    const std::int32_t cell = row.cell_of(node);
    if (cell < 0) return cell;
    NodeKey now = 0;
    if (!ahead.row.leaves_out || !is_in_node_set(ahead.row.left_out, node)) {
      const std::int32_t base = row.layout.base[node];
      const DeviceNode read{state_.columns, node};
      now = ahead.pod_class.profile == profile_
                ? evaluate_node(state_, ahead.pod_class, base, read, memory_().touched.load(t))
                : evaluate_node(state_, ahead.pod_class, base, read);
    }
    here = {now, node, t, -1, 0};
    if (ahead.counts) here.live_change = (now > 0 ? 1 : 0) - (row.keys[row.position_of(node)] > 0 ? 1 : 0);
    return cell;
  }

  BERTH_HD bool is_placed_in_part(std::int32_t node) const {
    bool is_placed = false;
    for (std::int32_t p = 0; p < placed_count_; ++p) is_placed = is_placed || memory_().placed[p] == node;
    return is_placed;
  }

  /// The best nodes of the cells at the pod's turn, to WindowMemory::cells. Some threads share a cell.
  /// @return whether the lists suffice; otherwise a node that is not listed may be better than all that were looked at
  BERTH_HD bool find_best_of_cells(const WindowPod& ahead) const {
    const CombineWindowCells combine{state_.columns.rank};
    const std::int32_t sharing = solo_.size() < kWindowCellsMax ? 1 : solo_.size() / kWindowCellsMax;
    const std::int32_t cells_at_once = solo_.size() / sharing;
    const std::int32_t looking = looking_count();
    bool suffice = true;
    for (std::int32_t begin = 0; begin < ahead.cell_count; begin += cells_at_once) {
      const std::int32_t cell = begin + solo_.index() / sharing;
      const std::int32_t own = solo_.index() % sharing;
      WindowCell best;
      std::int32_t top = WindowPod::kTops;
      if (cell < ahead.cell_count) {
        for (std::int32_t g = own; g < looking; g += sharing) best = combine(best, memory_().seen[cell][g]);
        for (std::int32_t i = own; i < ahead.top_counts[cell] && top == WindowPod::kTops; i += sharing)
          if (!is_placed_in_part(ahead.tops[cell][i].node)) top = i;
      }
      best = solo_.reduce_groups(best, sharing, combine);
      top = solo_.reduce_groups(top, sharing, Smaller());
      if (cell >= ahead.cell_count) continue;
      if (top < WindowPod::kTops)
        best = combine(best, {ahead.tops[cell][top].key, ahead.tops[cell][top].node, -1, top, 0});
      suffice = suffice && (ahead.cutoffs[cell] == 0 || best.key > ahead.cutoffs[cell]);
      if (own == 0) memory_().cells[cell] = best;
    }
    suffice = solo_.ballot(!suffice) == 0;
    solo_.barrier();
    return suffice;
  }
  struct Smaller {
    BERTH_HD std::int32_t operator()(std::int32_t a, std::int32_t b) const { return a < b ? a : b; }
  };

  /// The first solo team selects a node for the pod, and tells the others in WindowMemory::step.
  BERTH_HD void take_step(std::int32_t pod, const WindowPod& ahead) const {
    WindowStep step;
    step.is_last = true;
    if (find_best_of_cells(ahead)) {
      const DeviceClass& pod_class = ahead.pod_class;
      const DeviceOutcome outcome =
          outcome_of(choose(pod, ahead), pod_class, state_.classes.profiles[pod_class.profile]);
      step.is_answered = true;
      step.is_last = ends_behind(batch_, outcome);
      if (outcome.kind == DeviceOutcomeKind::kPlaced) place(outcome.node, ahead, step);
      if (solo_.index() == 0) batch_.outcomes[pod] = outcome;
    }
    if (solo_.index() == 0) memory_().step = step;
  }
  BERTH_HD DeviceChoice choose(std::int32_t pod, const WindowPod& ahead) const {
    const WindowRow row{state_.rows.layouts[ahead.row.layout], ahead.row.live, memory_().cells};
    if (ahead.is_plain) {
      const RowEntry top = row.top(0);
      return {row.live_of(0), top.key + ahead.plain_addend, top.position};
    }
    const Solo solo = solo_;
    return CellSelection<Solo, WindowRow>(solo, state_, row, ahead.pod_class, state_.scratch.first_mark + pod).select();
  }
  BERTH_HD void place(std::int32_t node, const WindowPod& ahead, WindowStep& step) const {
    step.node = node;
    for (std::int32_t c = 0; c < ahead.cell_count; ++c) {
      const WindowCell& cell = memory_().cells[c];
      if (cell.node != node) continue;
      step.touches = cell.touched < 0;
      step.touched = step.touches ? touched_count_ : cell.touched;
      if (step.touches && cell.top < ahead.read_of_cell()) step.read = c * ahead.read_of_cell() + cell.top;
    }
    if (!step.touches || solo_.index() != 0) return;
    memory_().placed[placed_count_] = node;
    memory_().touched_nodes[step.touched] = node;
    window_.touched_nodes[node / kNodesPerWord] |= std::uint32_t{1} << (node % kNodesPerWord);
  }

  /// Places the pod on the node of the step. The thread that looks at the node reads it with the pod, and its solo team
  /// writes to the columns.
  BERTH_HD void follow(const WindowStep& step, const WindowPod& ahead) {
    touched_count_ += step.touches ? 1 : 0;
    placed_count_ += step.touches ? 1 : 0;
    const std::int32_t reader = step.touched % team_.size();
    if (team_.index() == reader)
      memory_().touched.store(
          step.touched, step.read >= 0 ? ahead.with_pod.load(step.read) : usual_node_with(step.node, ahead.pod_class));
    if (team_.solo_index() != reader / solo_.size()) return;
    solo_.barrier();
    place_on_node(solo_, state_, ahead.pod_class, step.node);
    solo_.barrier();
  }

  const Team& team_;
  const Solo solo_;
  const DeviceState& state_;
  const DeviceBatch& batch_;
  const DeviceWindow& window_;
  Memory memory_;
  std::int32_t profile_;
  std::int32_t touched_count_ = 0;
  std::int32_t placed_count_ = 0;  ///< in the part
};

/// Places the pods of the batch in order, each as the serial algorithm would after all before it, until the lists do
/// not tell any more where the next pod goes.
/// @param memory  memory() is uninitialised, and read and written by all threads: the shared memory of a block
template <class Team, class Memory>
BERTH_HD void commit_window(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                            const DeviceWindow& window, const Memory& memory) {
  const std::int32_t committed = WindowCommit<Team, Memory>(team, state, batch, window, memory).run();
  if (team.index() == 0) *batch.committed_count = committed;
}

}  // namespace berth
