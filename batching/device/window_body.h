// SPDX-License-Identifier: Apache-2.0
#pragma once

// The body of the kernel that commits a window: a batch whose rows stay as they were before it. Only the nodes that its
// pods were placed on, the touched ones, can have other keys than the rows hold, so that each pod evaluates these again
// and takes the best of them and of the best untouched nodes of its row. The cost of a pod does not grow with the
// number of rows. The rows are refreshed before the next batch.

#include "batching/device/cell_selection.h"
#include "batching/device/commit_body.h"
#include "batching/device/row_tournament.h"
#include "batching/device/team.h"
#include "batching/device/views.h"

namespace berth {

/// What is known of one cell at a pod's turn.
struct WindowCell {
  NodeKey key;               ///< the best; 0: none is feasible
  std::int32_t node;         ///< that has it; -1 likewise
  std::int32_t live_change;  ///< feasible nodes, compared with the row
};

struct CombineWindowCells {
  const std::uint32_t* rank;  ///< DeviceColumns::rank
  BERTH_HD bool is_better(const WindowCell& a, const WindowCell& b) const {
    if (a.key != b.key || a.key == 0) return a.key > b.key;
    return rank[a.node] < rank[b.node];
  }
  BERTH_HD WindowCell operator()(const WindowCell& a, const WindowCell& b) const {
    const WindowCell& best = is_better(b, a) ? b : a;
    return {best.key, best.node, a.live_change + b.live_change};
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

/// Writes a touched node as window_node() reads it. @param index  in DeviceWindow::touched
BERTH_HD void store_window_node(const DeviceWindowNodes& nodes, std::int32_t index, const UsualNode& node) {
  const auto store = [&](int first, const UsualOffer& offer) {
    double* values = nodes.values + first * nodes.stride + index;
    values[0] = offer.allocatable.value;
    values[nodes.stride] = offer.allocatable.reciprocal;
    values[2 * nodes.stride] = offer.requested;
    values[3 * nodes.stride] = offer.in_use;
  };
  store(0, node.cpu);
  store(4, node.memory);
  nodes.draws[index] = node.draw.bits;
  nodes.seeds[index] = node.draw.seed;
  nodes.applies[index] = node.applies ? 1 : 0;
  nodes.has_room[index] = node.has_room ? 1 : 0;
}

BERTH_HD UsualNode window_node(const DeviceWindowNodes& nodes, std::int32_t index) {
  const auto load = [&](int first) {
    const double* values = nodes.values + first * nodes.stride + index;
    UsualOffer offer;
    offer.allocatable.value = values[0];
    offer.allocatable.reciprocal = values[nodes.stride];
    offer.requested = values[2 * nodes.stride];
    offer.in_use = values[3 * nodes.stride];
    return offer;
  };
  UsualNode node;
  node.cpu = load(0);
  node.memory = load(4);
  node.draw = {nodes.draws[index], nodes.seeds[index]};
  node.applies = nodes.applies[index] != 0;
  node.has_room = nodes.has_room[index] != 0;
  return node;
}

/// Evaluates the touched nodes again. @param pod_count  of the batch
/// @param profile  of DeviceWindow::nodes
/// @param cells  [kWindowCellsMax] what this thread has seen of each cell
BERTH_HD void look_at_touched(const Workers& workers, const DeviceState& state, const DeviceRow& device_row,
                              const DeviceWindow& window, std::int32_t pod_count, std::int32_t profile,
                              std::int32_t touched_count, WindowCell* cells) {
  const RowView row(state, device_row);
  const DeviceClass& pod_class = state.classes.classes[device_row.pod_class];
  const CombineWindowCells combine{state.columns.rank};
  const bool counts = counts_feasible(pod_class, device_row, row.layout.cell_count, pod_count);
  for (std::int32_t t = workers.index(); t < touched_count; t += workers.size()) {
    const std::int32_t node = window.touched[t];
    const std::int32_t cell = row.cell_of(node);
    if (cell < 0) continue;
    const NodeKey now = pod_class.profile == profile
                            ? key_of_node(state, device_row, node, window_node(window.nodes, t))
                            : key_of_node(state, device_row, node);
    std::int32_t change = 0;
    if (counts) change = (now > 0 ? 1 : 0) - (row.keys[row.position_of(node)] > 0 ? 1 : 0);
    cells[cell] = combine(cells[cell], {now, node, change});
  }
}

/// The best nodes that are not touched. @param row_index  of the batch
BERTH_HD void look_at_tops(const Workers& workers, const DeviceState& state, const DeviceWindow& window,
                           std::int32_t row_index, std::int32_t cell_count, WindowCell* cells) {
  const CombineWindowCells combine{state.columns.rank};
  for (std::int32_t cell = 0; cell < cell_count; ++cell) {
    const std::int64_t list = window.list_of(row_index, cell);
    const DeviceTop* tops = window.tops + list * window.tops_max;
    const std::int32_t count = window.lists[list].count;
    WindowCell best = cells[cell];
    for (std::int32_t i = workers.index(); i < count; i += workers.size()) {
      const DeviceTop top = tops[i];
      if (top.key >= best.key && !is_in_node_set(window.touched_nodes, top.node))
        best = combine(best, {top.key, top.node, 0});
    }
    cells[cell] = best;
  }
}

/// What this worker sees of the cells for a pod of the batch. @param cells  [kWindowCellsMax] overwritten
BERTH_HD void look(const Workers& workers, const DeviceState& state, const DeviceBatch& batch,
                   const DeviceWindow& window, std::int32_t pod, std::int32_t profile, std::int32_t touched_count,
                   WindowCell* cells) {
  const std::int32_t row_index = batch.row_of_pod[pod];
  const DeviceRow& row = state.rows.rows[row_index];
  const std::int32_t cell_count = state.rows.layouts[row.layout].cell_count;
  for (std::int32_t cell = 0; cell < cell_count; ++cell) cells[cell] = {0, -1, 0};
  if (workers.index() < 0) return;
  look_at_touched(workers, state, row, window, batch.pod_count, profile, touched_count, cells);
  look_at_tops(workers, state, window, row_index, cell_count, cells);
}

/// Reads the node that a placement changed again, where it is one of the touched nodes of this worker. @return whether
/// the worker has to look again for the pod: the node is one of its touched nodes or of its listed ones
BERTH_HD bool read_again(const Workers& workers, const DeviceState& state, const DeviceBatch& batch,
                         const DeviceWindow& window, std::int32_t pod, std::int32_t profile, std::int32_t touched_count,
                         std::int32_t node) {
  if (workers.index() < 0) return false;
  bool is_seen = false;
  for (std::int32_t t = workers.index(); t < touched_count; t += workers.size()) {
    if (window.touched[t] != node) continue;
    store_window_node(window.nodes, t, usual_node(state.columns, state.classes.profiles[profile].draw, node));
    is_seen = true;
  }
  const std::int32_t row_index = batch.row_of_pod[pod];
  const std::int32_t cell_count = state.rows.layouts[state.rows.rows[row_index].layout].cell_count;
  for (std::int32_t cell = 0; cell < cell_count; ++cell) {
    const std::int64_t list = window.list_of(row_index, cell);
    for (std::int32_t i = workers.index(); i < window.lists[list].count; i += workers.size())
      is_seen = is_seen || window.tops[list * window.tops_max + i].node == node;
  }
  return is_seen;
}

/// How a pod of a window went.
struct WindowStep {
  bool is_last = false;      ///< the window ends behind it
  bool is_answered = false;  ///< otherwise the lists do not tell where it goes
  bool touches = false;      ///< `node` was not touched before
  std::int32_t node = -1;    ///< where it was placed
};

/// A node that is not listed may be better than all that were looked at.
BERTH_HD bool lists_suffice(const DeviceWindow& window, std::int32_t row_index, std::int32_t cell_count,
                            const WindowCell* cells) {
  bool all = true;
  for (std::int32_t cell = 0; cell < cell_count; ++cell) {
    const NodeKey cutoff = window.lists[window.list_of(row_index, cell)].cutoff;
    all = all && (cutoff == 0 || cells[cell].key > cutoff);
  }
  return all;
}

/// Selects a node for the pod, and places it there. @param cells  of its row, over all threads
template <class Solo>
BERTH_HD WindowStep take_step(const Solo& solo, const DeviceState& state, const DeviceBatch& batch,
                              const DeviceWindow& window, std::int32_t pod, std::int32_t touched_count,
                              const WindowCell* cells) {
  const std::int32_t row_index = batch.row_of_pod[pod];
  const DeviceRow& row = state.rows.rows[row_index];
  const DeviceLayout& layout = state.rows.layouts[row.layout];
  WindowStep step;
  step.is_last = true;
  if (!lists_suffice(window, row_index, layout.cell_count, cells)) return step;
  const DeviceClass& pod_class = state.classes.classes[row.pod_class];
  const DeviceChoice choice = CellSelection<Solo, WindowRow>(solo, state, {layout, row.live, cells}, row.pod_class,
                                                             state.scratch.first_mark + pod)
                                  .select();
  const DeviceOutcome outcome = outcome_of(choice, pod_class, state.classes.profiles[pod_class.profile]);
  step.is_answered = true;
  step.is_last = ends_behind(batch, outcome);
  if (outcome.kind == DeviceOutcomeKind::kPlaced) {
    step.node = outcome.node;
    step.touches = !is_in_node_set(window.touched_nodes, outcome.node);
  }
  solo.barrier();  // all its threads have read what is about to change
  if (solo.index() == 0) {
    batch.outcomes[pod] = outcome;
    if (step.touches) {
      window.touched[touched_count] = outcome.node;
      window.touched_nodes[outcome.node / kNodesPerWord] |= std::uint32_t{1} << (outcome.node % kNodesPerWord);
    }
  }
  if (step.node >= 0) place_on_node(solo, state, pod_class, outcome.node);
  return step;
}

/// Places the pods of the batch in order, each as the serial algorithm would after all before it, until the lists do
/// not tell any more where the next pod goes. While one is selected and placed, the other threads look at the nodes for
/// the next one; those that looked at the node which the placement changed look again.
/// @param team  with memory that all its threads see alike: a block
template <class Team>
BERTH_HD void commit_window(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                            const DeviceWindow& window) {
  const std::int32_t profile = state.classes.classes[state.rows.rows[batch.row_of_pod[0]].pod_class].profile;
  const Workers workers = team.others();
  std::int32_t touched_count = 0;
  std::int32_t pod = 0;
  WindowCell cells[2][kWindowCellsMax];  // of the pod, and of the next one, by turns
  look(workers, state, batch, window, 0, profile, touched_count, cells[0]);
  for (bool is_last = false; !is_last && pod < batch.pod_count;) {
    const std::int32_t cell_count = state.rows.layouts[state.rows.rows[batch.row_of_pod[pod]].layout].cell_count;
    WindowCell* now = cells[pod % 2];
    WindowCell* next = cells[1 - pod % 2];
    const bool has_next = pod + 1 < batch.pod_count;
    team.gather(now, cell_count, CombineWindowCells{state.columns.rank});
    const WindowStep step =
        team.lead([&](const auto& solo) { return take_step(solo, state, batch, window, pod, touched_count, now); },
                  [&] {
                    if (has_next) look(workers, state, batch, window, pod + 1, profile, touched_count, next);
                  });
    touched_count += step.touches ? 1 : 0;
    is_last = step.is_last;
    pod += step.is_answered ? 1 : 0;
    if (is_last || !has_next) continue;
    const bool again =
        step.node >= 0 && read_again(workers, state, batch, window, pod, profile, touched_count, step.node);
    if (again || workers.index() < 0) look(workers, state, batch, window, pod, profile, touched_count, next);
  }
  if (team.index() == 0) *batch.committed_count = pod;
}

}  // namespace berth
