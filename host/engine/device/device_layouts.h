// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "batching/device/views.h"
#include "batching/node_cells.h"
#include "batching/pod_class.h"
#include "batching/table_reads.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_node_sides.h"
#include "host/engine/device/device_tuning.h"

namespace berth {

/// The arrays of a layout, before they travel: what the pointers of DeviceLayout point to.
struct LayoutArrays {
  std::vector<std::int32_t> cell_of, position_of, node_at, level_begin, base, domains;
  std::vector<std::int64_t> raws;
  std::vector<std::uint64_t> soft_labels;
};

/// Layouts of rows, shared by the classes whose nodes fall into the same cells. Where nothing but the key tells nodes
/// apart, which is the usual case, the device itself asks the nodes (DeviceNodeSides) and all of them are one cell;
/// cells are sorted on the host.
class DeviceLayouts {
 public:
  DeviceLayouts(Accelerator& accelerator, const DeviceTuning& tuning)
      : accelerator_(accelerator), tuning_(tuning), sides_(accelerator), layouts_(accelerator, "layouts of rows") {}

  /// How one class lies.
  struct Place {
    std::int32_t layout = 0;
    bool by_node = false;
  };
  /// Made on first demand.
  /// @param reads  of the class's topology program; null without one
  Place layout_of(std::int32_t pod_class, const TableReads* reads, ClassTable& table, const Snapshot& snapshot);

  const DeviceLayout& on_host(std::int32_t layout) const { return on_host_[static_cast<std::size_t>(layout)]; }
  /// In device memory, new ones included.
  const DeviceLayout* on_device();
  /// Node objects changed.
  void clear();

 private:
  std::int32_t send(DeviceLayout layout, const LayoutArrays& arrays, const std::int32_t* base);
  std::int32_t add_in_order(DeviceNodeSides::Answer answer, std::int32_t node_count);
  std::int32_t add(const NodeSideRow& side, const CellColumns& columns, bool by_node, const Snapshot& snapshot);

  Accelerator& accelerator_;
  const DeviceTuning& tuning_;
  DeviceNodeSides sides_;
  std::map<std::tuple<std::int32_t, CellColumns, bool>, Place> known_;  ///< by node side, and what else makes cells
  std::vector<DeviceLayout> on_host_;
  std::vector<DeviceArray<std::uint8_t>> storage_;
  std::vector<DeviceArray<std::int32_t>> bases_;
  DeviceArray<DeviceLayout> layouts_;
  std::size_t uploaded_ = 0;
};

/// A term that keeps the class off a node by the count of that node alone: part of the node's key.
bool is_folded_in(const TableRead& read, const TopologyCounts& counts);

}  // namespace berth
