// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a device selects before it commits a window, on the host.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "batching/device/row_tournament.h"
#include "batching/device/views.h"

namespace berth::test {

/// Writes the lists of the rows of the batch.
inline void fill_window_lists(const DeviceState& state, const DeviceBatch& batch, const DeviceWindow& window) {
  for (std::int32_t r = 0; r < batch.row_count; ++r) {
    const RowView row(state, state.rows.rows[r]);
    if (row.layout.by_node) continue;
    for (std::int32_t cell = 0; cell < row.layout.cell_count; ++cell) {
      std::vector<DeviceTop> feasible;
      for (std::int32_t p = row.begin(0, cell); p < row.begin(0, cell + 1); ++p)
        if (row.keys[p] > 0) feasible.push_back({row.keys[p], row.node_at(p)});
      const auto rank = [&](const DeviceTop& top) { return state.columns.rank[top.node]; };
      std::sort(feasible.begin(), feasible.end(), [&](const DeviceTop& a, const DeviceTop& b) {
        return a.key != b.key ? a.key > b.key : rank(a) < rank(b);
      });
      const std::int64_t list = window.list_of(r, cell);
      const auto tops_max = static_cast<std::size_t>(window.tops_max);
      DeviceTopList& of_cell = window.lists[list];
      of_cell = {0, feasible.size() > tops_max ? feasible[tops_max].key : 0};
      for (const DeviceTop& top : feasible)
        if (top.key > of_cell.cutoff) window.tops[list * window.tops_max + of_cell.count++] = top;
    }
  }
}

}  // namespace berth::test
