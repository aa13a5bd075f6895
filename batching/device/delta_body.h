// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes the values of changed nodes and counters: one item per thread; no two items write the same address.

#include "batching/device/row_tournament.h"
#include "batching/device/views.h"

namespace berth {

/// Items of a delta: its nodes, its counters, the totals of tables, its patches, and the rows with vacancies.
BERTH_HD std::int32_t delta_items(const DeviceDelta& delta) {
  return delta.node_count + delta.count_count + delta.table_count + delta.patch_count + delta.vacancy_count;
}

BERTH_HD void write_patch(const DevicePatch& patch) {
  if (patch.bytes == 1) {
    *static_cast<std::uint8_t*>(patch.at) = static_cast<std::uint8_t>(patch.value);
  } else if (patch.bytes == 4) {
    *static_cast<std::uint32_t*>(patch.at) = static_cast<std::uint32_t>(patch.value);
  } else {
    *static_cast<std::uint64_t*>(patch.at) = patch.value;
  }
}

BERTH_HD void write_node(const DeviceState& state, const DeviceDelta& delta, std::int32_t item) {
  const DeviceColumns& columns = state.columns;
  const std::int32_t node = delta.nodes[item];
  for (std::int32_t r = 0; r < delta.resource_count; ++r)
    columns.requested[r * columns.stride + node] =
        delta.requested[static_cast<std::int64_t>(r) * delta.node_count + item];
  for (std::int32_t s = 0; s < delta.port_set_count; ++s)
    columns.port_taken[s * columns.stride + node] =
        delta.port_taken[static_cast<std::int64_t>(s) * delta.node_count + item];
  columns.non_zero_milli_cpu[node] = delta.non_zero_milli_cpu[item];
  columns.non_zero_memory_bytes[node] = delta.non_zero_memory_bytes[item];
  columns.pod_count[node] = delta.pod_count[item];
}

BERTH_HD void apply_delta_item(const DeviceState& state, const DeviceDelta& delta, std::int32_t item) {
  if (item < delta.node_count) return write_node(state, delta, item);
  item -= delta.node_count;
  if (item < delta.count_count) {
    state.counts.counts[delta.count_at[item]] = delta.counts[item];
    return;
  }
  item -= delta.count_count;
  if (item < delta.table_count) {
    state.counts.totals[item] = delta.totals[item];
    return;
  }
  item -= delta.table_count;
  if (item < delta.patch_count) return write_patch(delta.patches[item]);
  const DeviceVacancy& vacancy = delta.vacancies[item - delta.patch_count];
  const RowView row(state, vacancy.row);
  for (std::int32_t v = vacancy.first; v < vacancy.first + vacancy.count; ++v) vacate(row, delta.vacated[v]);
}

}  // namespace berth
