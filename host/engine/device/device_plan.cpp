// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_plan.h"

namespace berth {

std::uint64_t entries_in_order(std::uint64_t nodes) {
  std::uint64_t entries = nodes;
  for (std::uint64_t level = nodes; level > 1;) {
    level = (level + kDeviceArity - 1) / kDeviceArity;
    entries += level;
  }
  return entries;
}

DevicePlan plan_device(const DeviceShape& shape) {
  constexpr std::uint64_t kAmount = sizeof(std::int64_t);
  // Allocatable and requested; pod limit, two non-zero sums, pods; the name's hash; the rank and the node of a rank;
  // the cordon and the taint set.
  const std::uint64_t node_bytes = 2 * shape.resources * kAmount + 4 * kAmount + sizeof(std::uint64_t) +
                                   sizeof(std::uint32_t) + sizeof(std::int32_t) + sizeof(std::uint8_t) +
                                   sizeof(std::int32_t) + shape.port_sets +
                                   shape.topology_columns * sizeof(std::int32_t);
  DevicePlan plan;
  plan.column_bytes = shape.nodes * node_bytes + (shape.nodes + 1) * sizeof(double) +
                      shape.topology_counters * (kAmount + sizeof(std::uint8_t)) +
                      shape.topology_tables * (kAmount + sizeof(DeviceTable)) + shape.port_sets * shape.port_sets;
  plan.side_bytes = shape.node_sides * shape.nodes * sizeof(std::int32_t);
  const std::uint64_t entries = entries_in_order(shape.nodes);
  const std::uint64_t left_out_words = (shape.nodes + kNodesPerWord - 1) / kNodesPerWord;
  plan.row_bytes = shape.rows * (entries * sizeof(NodeKey) + (entries - shape.nodes + 1) * sizeof(std::int32_t) +
                                 left_out_words * sizeof(std::uint32_t) + sizeof(DeviceRow));
  plan.launch_bytes =
      shape.launch_pods * (sizeof(std::int32_t) + sizeof(DeviceOutcome)) + shape.rows * sizeof(std::int32_t);
  return plan;
}

}  // namespace berth
