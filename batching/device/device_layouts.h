// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "batching/device/device_array.h"
#include "batching/device/device_tuning.h"
#include "batching/device/views.h"
#include "batching/node_cells.h"
#include "batching/pod_class.h"
#include "batching/table_reads.h"

namespace berth {

/// Layouts of rows, shared by the classes whose nodes fall into the same cells.
class DeviceLayouts {
 public:
  DeviceLayouts(Accelerator& accelerator, const DeviceTuning& tuning)
      : accelerator_(accelerator), tuning_(tuning), layouts_(accelerator, "layouts of rows") {}

  /// How one class lies.
  struct Place {
    std::int32_t layout = 0;
    bool by_node = false;
  };
  /// Made on first demand; that reads the class's node side.
  /// @param reads  of the class's topology program; null without one
  Place layout_of(std::int32_t pod_class, const TableReads* reads, ClassTable& table, const Snapshot& snapshot);

  const DeviceLayout& on_host(std::int32_t layout) const { return on_host_[static_cast<std::size_t>(layout)]; }
  /// In device memory, new ones included.
  const DeviceLayout* on_device();
  /// Node objects changed.
  void clear();
  std::uint64_t bytes() const;

 private:
  std::int32_t add(const NodeSideRow& side, const CompiledProfile& profile, const CellColumns& columns, bool by_node,
                   const Snapshot& snapshot);

  Accelerator& accelerator_;
  const DeviceTuning& tuning_;
  std::map<std::tuple<const NodeSideRow*, CellColumns, bool>, Place> known_;
  std::vector<DeviceLayout> on_host_;
  std::vector<DeviceArray<std::uint8_t>> storage_;
  DeviceArray<DeviceLayout> layouts_;
  std::size_t uploaded_ = 0;
};

/// A term that keeps the class off a node by the count of that node alone: part of the node's key.
bool is_folded_in(const TableRead& read, const TopologyCounts& counts);

}  // namespace berth
