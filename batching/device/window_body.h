// SPDX-License-Identifier: Apache-2.0
#pragma once

// The body of the kernel that commits a window: a batch whose rows stay as they were before it. Only the nodes that its
// pods were placed on, the touched ones, can have other keys than the rows hold, so that each pod evaluates these again
// and takes the best of them and of the best untouched nodes of its row. The cost of a pod does not grow with the
// number of rows. The rows are refreshed before the next batch.

#include "batching/device/cell_selection.h"
#include "batching/device/commit_body.h"
#include "batching/device/row_tournament.h"
#include "batching/device/views.h"

namespace berth {

/// What is known of one cell at a pod's turn.
struct WindowCell {
  NodeKey key = 0;               ///< the best; 0: none is feasible
  std::int32_t node = -1;        ///< that has it
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
  /// Where count_feasible() is false, not exact, but 0 where none is feasible, and above 1 where more are.
  BERTH_HD std::int32_t live_of(std::int32_t cell) const {
    return cells[cell].key > 0 ? live[cell] + cells[cell].live_change : 0;
  }
};

/// Whether the number of feasible nodes has to be exact: it is part of scores, or so small that the touched nodes
/// decide whether one is left, or two.
BERTH_HD bool count_feasible(const DeviceClass& pod_class, const DeviceRow& row, std::int32_t cell_count,
                             std::int32_t touched_count) {
  bool exact = pod_class.soft.count > 0;
  for (std::int32_t cell = 0; cell < cell_count; ++cell) exact = exact || row.live[cell] < touched_count + 2;
  return exact;
}

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

/// Evaluates the touched nodes again. @param profile  of DeviceWindow::nodes
/// @param cells  [kWindowCellsMax] what this thread has seen of each cell
template <class Team>
BERTH_HD void look_at_touched(const Team& team, const DeviceState& state, const DeviceRow& device_row,
                              const DeviceWindow& window, std::int32_t profile, std::int32_t touched_count,
                              WindowCell* cells) {
  const RowView row(state, device_row);
  const DeviceClass& pod_class = state.classes.classes[device_row.pod_class];
  const CombineWindowCells combine{state.columns.rank};
  const bool counts = count_feasible(pod_class, device_row, row.layout.cell_count, touched_count);
  for (std::int32_t t = team.index(); t < touched_count; t += team.size()) {
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

/// Reads a touched node again, by the thread that evaluates it.
template <class Team>
BERTH_HD void read_touched(const Team& team, const DeviceState& state, const DeviceWindow& window, std::int32_t profile,
                           std::int32_t touched_count, std::int32_t node) {
  for (std::int32_t t = team.index(); t < touched_count; t += team.size())
    if (window.touched[t] == node)
      store_window_node(window.nodes, t, usual_node(state.columns, state.classes.profiles[profile].draw, node));
}

/// The best nodes that are not touched. @param row_index  of the batch
template <class Team>
BERTH_HD void look_at_tops(const Team& team, const DeviceState& state, const DeviceWindow& window,
                           std::int32_t row_index, std::int32_t cell_count, WindowCell* cells) {
  const CombineWindowCells combine{state.columns.rank};
  for (std::int32_t cell = 0; cell < cell_count; ++cell) {
    const std::int64_t list = std::int64_t{row_index} * window.cells_max + cell;
    const DeviceTop* tops = window.tops + list * window.tops_max;
    const std::int32_t count = window.lists[list].count;
    for (std::int32_t i = team.index(); i < count; i += team.size())
      if (tops[i].key >= cells[cell].key && !is_in_node_set(window.touched_nodes, tops[i].node))
        cells[cell] = combine(cells[cell], {tops[i].key, tops[i].node, 0});
  }
}

/// The best of each cell over all threads. @return false when a node that is not listed may be better
template <class Team>
BERTH_HD bool complete_cells(const Team& team, const DeviceState& state, const DeviceWindow& window,
                             std::int32_t row_index, std::int32_t cell_count, WindowCell* cells) {
  bool all_known = true;
  for (std::int32_t cell = 0; cell < cell_count; ++cell) {
    cells[cell] = team.reduce(cells[cell], CombineWindowCells{state.columns.rank});
    const NodeKey cutoff = window.lists[std::int64_t{row_index} * window.cells_max + cell].cutoff;
    if (cutoff > 0 && cells[cell].key <= cutoff) all_known = false;
  }
  return all_known;
}

/// Places the pods of the batch in order, each as the serial algorithm would after all before it, until the lists do
/// not tell any more where the next pod goes. @param team  with memory that all its threads see alike: a block
template <class Team>
BERTH_HD void commit_window(const Team& team, const DeviceState& state, const DeviceBatch& batch,
                            const DeviceWindow& window) {
  std::int32_t touched_count = 0;
  std::int32_t pod = 0;
  const std::int32_t profile = state.classes.classes[state.rows.rows[batch.row_of_pod[0]].pod_class].profile;
  while (pod < batch.pod_count) {
    const std::int32_t row_index = batch.row_of_pod[pod];
    const DeviceRow& row = state.rows.rows[row_index];
    const DeviceLayout& layout = state.rows.layouts[row.layout];
    WindowCell cells[kWindowCellsMax];
    look_at_touched(team, state, row, window, profile, touched_count, cells);
    look_at_tops(team, state, window, row_index, layout.cell_count, cells);
    if (!complete_cells(team, state, window, row_index, layout.cell_count, cells)) break;
    const auto solo = team.solo();
    const DeviceClass& pod_class = state.classes.classes[row.pod_class];
    const DeviceChoice choice =
        CellSelection<std::remove_const_t<decltype(solo)>, WindowRow>(solo, state, {layout, row.live, cells},
                                                                      row.pod_class, state.scratch.first_mark + pod)
            .select();
    const DeviceOutcome outcome = outcome_of(choice, pod_class, state.classes.profiles[pod_class.profile]);
    const bool placed = outcome.kind == DeviceOutcomeKind::kPlaced;
    const bool touches = placed && !is_in_node_set(window.touched_nodes, outcome.node);
    team.barrier();  // all threads have read what is about to change
    if (team.index() == 0) {
      batch.outcomes[pod] = outcome;
      if (touches) {
        window.touched[touched_count] = outcome.node;
        window.touched_nodes[outcome.node / kNodesPerWord] |= std::uint32_t{1} << (outcome.node % kNodesPerWord);
      }
    }
    touched_count += touches ? 1 : 0;
    if (placed) {
      place_on_node(team, state, pod_class, outcome.node);
      team.barrier();
      read_touched(team, state, window, profile, touched_count, outcome.node);
    }
    ++pod;
    if (ends_behind(batch, outcome)) break;
  }
  if (team.index() == 0) *batch.committed_count = pod;
}

}  // namespace berth
