// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes the values of changed nodes and counters: one item per thread; no two items write the same address.

#include "batching/device/views.h"

namespace berth {

/// Items of a delta: its nodes, then its counters, then the totals of tables.
BERTH_HD std::int32_t delta_items(const DeviceDelta& delta) {
  return delta.node_count + delta.count_count + delta.table_count;
}

BERTH_HD void apply_delta_item(const DeviceState& state, const DeviceDelta& delta, std::int32_t item) {
  if (item >= delta.node_count + delta.count_count) {
    const std::int32_t table = item - delta.node_count - delta.count_count;
    state.counts.totals[table] = delta.totals[table];
    return;
  }
  if (item >= delta.node_count) {
    const std::int32_t i = item - delta.node_count;
    state.counts.counts[delta.count_at[i]] = delta.counts[i];
    return;
  }
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

}  // namespace berth
