// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs of equal pods: how many copies of a class one node takes before its level falls below a threshold, one node per
// thread. docs/architecture.md "Runs of equal pods" explains why the running minimum is the level. Only for classes of
// one cell without topology terms and host ports.

#include "batching/device/cell_selection.h"
#include "batching/device/row_tournament.h"
#include "batching/device/team.h"
#include "batching/device/views.h"
#include "batching/equal_runs.h"

namespace berth {

/// One copy of a run, in node order and then of copies.
struct DevicePick {
  NodeKey level = 0;  ///< the lowest key of the node up to this copy, without normalised scores
  std::int32_t node = -1;
  std::int32_t total = 0;  ///< of the copy, without normalised scores
  bool is_last = false;    ///< the node is full after it
};

/// The state before a run.
struct RunStart {
  std::int64_t feasible_count = 0;
  std::int64_t normalized_total = 0;  ///< the same for every node, since the row is one cell
};

BERTH_HD RunStart begin_run(const DeviceState& state, const DeviceRow& row) {
  const SequentialTeam team;
  const DeviceChoice choice = CellSelection<SequentialTeam>(team, state, row, 0).select();
  if (choice.feasible_count == 0) return {};
  return {choice.feasible_count, total_of(choice.key) - total_of(RowView(state, row).top(0).key)};
}

/// Walks the copies on one node and calls write(k, pick) for each whose level reaches `threshold`.
/// @param copies_max  at least 1
/// @return their number
template <class Write>
BERTH_HD std::int32_t walk_copies(const DeviceState& state, const DeviceRow& device_row, std::int32_t node,
                                  NodeKey threshold, std::int32_t copies_max, Write write) {
  const RowView row(state, device_row);
  const DeviceClass& pod_class = state.classes.classes[device_row.pod_class];
  NodeKey level = row.cell_of(node) < 0 ? 0 : row.keys[row.position_of(node)];
  if (level == 0 || level < threshold) return 0;
  DeviceNode read = with_copies(state, node, pod_class, 0);
  NodeKey key = level;
  std::int32_t copies = 0;
  for (;;) {
    const std::int64_t total = total_of(key);
    ++read.copies;
    const bool is_last = !load_accepts(state.classes, pod_class, read);
    write(copies, DevicePick{level, node, static_cast<std::int32_t>(total), is_last});
    ++copies;
    if (is_last || copies == copies_max) return copies;
    key = make_node_key(row.layout.base[node] + load_total(state.classes, pod_class, read),
                        draw_on(state.classes, pod_class, read));
    level = key < level ? key : level;
    if (level < threshold) return copies;
  }
}

/// Adds copies of a class to a node's columns and to the counters of its domains. One thread per node.
/// @param add(address, amount)  adds to a counter that other threads change concurrently
template <class Add>
BERTH_HD void place_copies(const DeviceState& state, const DeviceClass& pod_class, std::int32_t node,
                           std::int64_t copies, Add add) {
  const DeviceColumns& columns = state.columns;
  for (std::int32_t r = 0; r < pod_class.delta.count; ++r) {
    const DeviceRequest& added = state.classes.requests[pod_class.delta.first + r];
    std::int64_t& requested = columns.requested[added.column * columns.stride + node];
    requested = add_wrapping(requested, multiply(copies, added.amount));
  }
  columns.non_zero_milli_cpu[node] =
      add_wrapping(columns.non_zero_milli_cpu[node], multiply(copies, pod_class.delta_milli_cpu));
  columns.non_zero_memory_bytes[node] =
      add_wrapping(columns.non_zero_memory_bytes[node], multiply(copies, pod_class.delta_memory_bytes));
  columns.pod_count[node] += copies;
  for (std::int32_t m = pod_class.moves.first; m < pod_class.moves.first + pod_class.moves.count; ++m) {
    const DeviceMove& move = state.classes.moves[m];
    std::int64_t* count = moved_count(state.counts, move, node);
    if (count == nullptr) continue;
    add(count, copies * move.amount);
    add(state.counts.totals + move.table, copies * move.amount);
  }
}

}  // namespace berth
