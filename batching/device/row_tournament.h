// SPDX-License-Identifier: Apache-2.0
#pragma once

// The tournament over a row: entry e of level l + 1 holds the best key of kDeviceArity entries of level l of the same
// cell, and the position of the node that has it. Of equal keys the first node in node order wins.

#include "batching/device/node_evaluation.h"
#include "batching/device/views.h"

namespace berth {

struct RowEntry {
  NodeKey key = 0;
  std::int32_t position = -1;
};

/// One row with its layout: where entries are.
struct RowView {
  const DeviceLayout& layout;
  NodeKey* keys;              ///< [layout.level_offset[level_count]]
  std::int32_t* best;         ///< of the entries from level 1 up
  std::int32_t* live;         ///< [cell]; null for rows by_node
  const std::uint32_t* rank;  ///< DeviceColumns::rank

  BERTH_HD RowView(const DeviceState& state, const DeviceRow& row)
      : layout(state.rows.layouts[row.layout]),
        keys(row.keys),
        best(row.best),
        live(row.live),
        rank(state.columns.rank) {}

  /// The cell of a node, -1 where the class is never placed.
  BERTH_HD std::int32_t cell_of(std::int32_t node) const {
    if (layout.by_node) return node;
    return layout.in_order ? 0 : layout.cell_of[node];
  }
  BERTH_HD std::int32_t position_of(std::int32_t node) const {
    return layout.by_node || layout.in_order ? node : layout.position_of[node];
  }
  BERTH_HD std::int32_t node_at(std::int32_t position) const {
    return layout.by_node || layout.in_order ? position : layout.node_at[position];
  }
  /// First entry of a cell's part of a level.
  BERTH_HD std::int32_t begin(std::int32_t level, std::int32_t cell) const {
    return layout.level_begin[level * (layout.cell_count + 1) + cell];
  }
  BERTH_HD RowEntry entry(std::int32_t level, std::int64_t index) const {
    const std::int64_t at = layout.level_offset[level] + index;
    if (level == 0) return {keys[at], static_cast<std::int32_t>(index)};
    return {keys[at], best[at - layout.level_offset[1]]};
  }
  BERTH_HD void write(std::int32_t level, std::int64_t index, const RowEntry& entry) const {
    const std::int64_t at = layout.level_offset[level] + index;
    keys[at] = entry.key;
    if (level > 0) best[at - layout.level_offset[1]] = entry.position;
  }
  /// The best entry of a cell.
  BERTH_HD RowEntry top(std::int32_t cell) const { return entry(layout.level_count - 1, cell); }
  /// Feasible nodes of a cell, without topology rules.
  BERTH_HD std::int32_t live_of(std::int32_t cell) const {
    return layout.by_node ? (keys[cell] > 0 ? 1 : 0) : live[cell];
  }
};

BERTH_HD bool is_better(const RowView& row, const RowEntry& a, const RowEntry& b) {
  if (a.key != b.key || a.key == 0) return a.key > b.key;
  return row.rank[row.node_at(a.position)] < row.rank[row.node_at(b.position)];
}

/// The best of the children of entry `index` of level `level`, which lies in `cell`.
BERTH_HD RowEntry best_of_children(const RowView& row, std::int32_t level, std::int32_t cell, std::int32_t index) {
  const std::int32_t first = row.begin(level - 1, cell) + ((index - row.begin(level, cell)) << kDeviceArityLog2);
  const std::int32_t end = row.begin(level - 1, cell + 1);
  RowEntry best = row.entry(level - 1, first);
  for (std::int32_t child = first + 1; child < first + kDeviceArity && child < end; ++child) {
    const RowEntry other = row.entry(level - 1, child);
    if (is_better(row, other, best)) best = other;
  }
  return best;
}

/// Writes the key of a position, and updates the levels above until nothing changes. One thread per row at a time.
BERTH_HD void set_key(const RowView& row, std::int32_t cell, std::int32_t index, NodeKey now) {
  const NodeKey before = row.keys[index];
  if (now == before) return;
  row.write(0, index, {now, index});
  if (row.layout.by_node) return;
  row.live[cell] += (now > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
  for (std::int32_t level = 1; level < row.layout.level_count; ++level) {
    index = row.begin(level, cell) + ((index - row.begin(level - 1, cell)) >> kDeviceArityLog2);
    const RowEntry best = best_of_children(row, level, cell, index);
    const RowEntry old = row.entry(level, index);
    if (best.key == old.key && best.position == old.position) return;
    row.write(level, index, best);
  }
}

/// The key of a node that has a cell, with its copies; 0 where the row leaves it out.
/// @param usual  usual_node() of `read` by the draw rule of the row's profile
BERTH_HD NodeKey key_of_node(const DeviceState& state, const DeviceRow& row, const DeviceNode& read,
                             const UsualNode& usual) {
  if (row.leaves_out && is_in_node_set(row.left_out, read.node)) return 0;
  return evaluate_node(state, state.classes.classes[row.pod_class], state.rows.layouts[row.layout].base[read.node],
                       read, usual);
}
BERTH_HD NodeKey key_of_node(const DeviceState& state, const DeviceRow& row, const DeviceNode& read) {
  if (row.leaves_out && is_in_node_set(row.left_out, read.node)) return 0;
  return evaluate_node(state, state.classes.classes[row.pod_class], state.rows.layouts[row.layout].base[read.node],
                       read);
}

/// Re-evaluates a node. One thread per row at a time.
BERTH_HD void refresh_node(const DeviceState& state, const DeviceRow& device_row, std::int32_t node) {
  const RowView row(state, device_row);
  const std::int32_t cell = row.cell_of(node);
  if (cell >= 0) set_key(row, cell, row.position_of(node), key_of_node(state, device_row, {state.columns, node}));
}

/// The cell of entry `index` of a level, by binary search.
BERTH_HD std::int32_t cell_of_entry(const RowView& row, std::int32_t level, std::int32_t index) {
  std::int32_t low = 0;
  std::int32_t high = row.layout.cell_count - 1;
  while (low < high) {
    const std::int32_t middle = low + (high - low + 1) / 2;
    if (row.begin(level, middle) <= index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// One entry of a level above the nodes, from the level below.
BERTH_HD void build_entry(const RowView& row, std::int32_t level, std::int32_t index) {
  row.write(level, index, best_of_children(row, level, cell_of_entry(row, level, index), index));
}

/// Re-evaluates nodes. The team shares them: first all keys, then level by level the entries above them, so that the
/// work of one thread does not grow with the number of nodes. One team per row at a time.
/// @param nodes  [node_count] may contain a node twice
template <class Team>
BERTH_HD void refresh_nodes(const Team& team, const DeviceState& state, const DeviceRow& device_row,
                            const std::int32_t* nodes, std::int32_t node_count) {
  const RowView row(state, device_row);
  for (std::int32_t n = team.index(); n < node_count; n += team.size()) {
    const std::int32_t cell = row.cell_of(nodes[n]);
    if (cell < 0) continue;
    const NodeKey now = key_of_node(state, device_row, {state.columns, nodes[n]});
    const NodeKey before = team.exchange(row.keys + row.position_of(nodes[n]), now);
    if (!row.layout.by_node && (now > 0) != (before > 0)) team.add(row.live + cell, now > 0 ? 1 : -1);
  }
  for (std::int32_t level = 1; level < row.layout.level_count; ++level) {
    team.barrier();  // the level below is complete
    for (std::int32_t n = team.index(); n < node_count; n += team.size()) {
      const std::int32_t cell = row.cell_of(nodes[n]);
      if (cell < 0) continue;
      const std::int32_t in_cell = row.position_of(nodes[n]) - row.begin(0, cell);
      const std::int32_t index = row.begin(level, cell) + (in_cell >> (level * kDeviceArityLog2));
      const RowEntry best = best_of_children(row, level, cell, index);
      // Threads whose nodes share the entry write the same.
      const std::int64_t at = row.layout.level_offset[level] + index;
      team.exchange(row.keys + at, best.key);
      team.exchange(row.best + (at - row.layout.level_offset[1]), best.position);
    }
  }
}

/// The node at a position has moved to another cell. One thread per row at a time.
BERTH_HD void vacate(const RowView& row, std::int32_t position) {
  set_key(row, cell_of_entry(row, 0, position), position, 0);
}

/// In a row that is built: a free position is never feasible.
BERTH_HD void clear_if_free(const RowView& row, std::int32_t position) {
  if (row.layout.node_at[position] < 0) row.keys[position] = 0;
}

}  // namespace berth
