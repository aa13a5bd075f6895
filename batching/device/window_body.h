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
  BERTH_HD std::int32_t live_of(std::int32_t cell) const { return live[cell] + cells[cell].live_change; }
};

/// Evaluates the touched nodes again. @param cells  [kWindowCellsMax] what this thread has seen of each cell
template <class Team>
BERTH_HD void look_at_touched(const Team& team, const DeviceState& state, const DeviceRow& device_row,
                              const DeviceWindow& window, std::int32_t touched_count, WindowCell* cells) {
  const RowView row(state, device_row);
  const CombineWindowCells combine{state.columns.rank};
  for (std::int32_t t = team.index(); t < touched_count; t += team.size()) {
    const std::int32_t node = window.touched[t];
    const std::int32_t cell = row.cell_of(node);
    if (cell < 0) continue;
    const NodeKey before = row.keys[row.position_of(node)];
    const NodeKey now = key_of_node(state, device_row, node);
    cells[cell] = combine(cells[cell], {now, node, (now > 0 ? 1 : 0) - (before > 0 ? 1 : 0)});
  }
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
  while (pod < batch.pod_count) {
    const std::int32_t row_index = batch.row_of_pod[pod];
    const DeviceRow& row = state.rows.rows[row_index];
    const DeviceLayout& layout = state.rows.layouts[row.layout];
    WindowCell cells[kWindowCellsMax];
    look_at_touched(team, state, row, window, touched_count, cells);
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
    }
    ++pod;
    if (ends_behind(batch, outcome)) break;
  }
  if (team.index() == 0) *batch.committed_count = pod;
}

}  // namespace berth
