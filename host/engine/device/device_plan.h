// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "batching/device/views.h"

namespace berth {

/// The sizes of a cluster and a batch.
struct DeviceShape {
  std::uint64_t nodes = 0;
  std::uint64_t resources = 3;          ///< cpu, memory and ephemeral storage are always there
  std::uint64_t port_sets = 0;          ///< different lists of wanted host ports
  std::uint64_t topology_columns = 0;   ///< different topology keys
  std::uint64_t topology_tables = 0;    ///< one per query or term, key and set of nodes that count
  std::uint64_t topology_counters = 0;  ///< of all tables: DeviceSnapshot::counter_room()
  std::uint64_t node_sides = 1;         ///< classes with different node sides
  std::uint64_t rows = 0;               ///< rows in device memory at the same time
  std::uint64_t launch_pods = 0;        ///< pods per launch
};

/// Bytes of device memory that a shape needs.
struct DevicePlan {
  std::uint64_t column_bytes = 0;  ///< columns and counters
  std::uint64_t side_bytes = 0;    ///< node sides of classes, laid out in order
  std::uint64_t row_bytes = 0;
  std::uint64_t launch_bytes = 0;  ///< pods and outcomes
  std::uint64_t total() const { return column_bytes + side_bytes + row_bytes + launch_bytes; }
};

DevicePlan plan_device(const DeviceShape& shape);

/// Entries of a row whose nodes are one cell, all levels together.
std::uint64_t entries_in_order(std::uint64_t nodes);

}  // namespace berth
