// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "batching/device/views.h"
#include "batching/node_cells.h"
#include "batching/pod_class.h"
#include "batching/table_reads.h"
#include "host/engine/device/cell_places.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_node_sides.h"
#include "host/engine/device/device_tuning.h"
#include "host/engine/device/node_event_delta.h"

namespace berth {

/// The arrays of a layout on the host, before the upload that DeviceLayout points to.
struct LayoutArrays {
  std::vector<std::int32_t> cell_of, position_of, node_at, level_begin, base, domains;
  std::vector<std::int64_t> raws;
  std::vector<std::uint64_t> soft_labels;
};

/// Layouts of rows, shared by the classes with equal cells. Usually nodes differ in nothing but the key: then the
/// device evaluates the node side itself (DeviceNodeSides), and all nodes are one cell. Other cells are computed on the
/// host. A node whose object changes is evaluated on the host for each layout, and moves to another cell where there is
/// room.
class DeviceLayouts {
 public:
  DeviceLayouts(Accelerator& accelerator, const DeviceTuning& tuning)
      : accelerator_(accelerator), tuning_(tuning), sides_(accelerator), layouts_(accelerator, "layouts of rows") {}

  /// The layout of one class.
  struct Place {
    std::int32_t layout = 0;
    bool by_node = false;
  };
  /// Built on first use. Its number stays the same until clear().
  /// @param reads  of the class's topology program; null without one
  Place layout_of(std::int32_t pod_class, const TableReads* reads, ClassTable& table, const Snapshot& snapshot);

  const DeviceLayout& on_host(std::int32_t layout) const { return on_host_[static_cast<std::size_t>(layout)]; }
  std::int32_t node_side_of(std::int32_t layout) const { return sources_[static_cast<std::size_t>(layout)].node_side; }
  /// In device memory, new ones included.
  const DeviceLayout* on_device();

  /// Call before follow(). A layout without a class gives back its memory, and its number is not used again.
  /// @param class_of_layout  [layout] one of its classes; -1: none has it any more
  void keep(const std::vector<std::int32_t>& class_of_layout);
  std::int32_t count() const { return static_cast<std::int32_t>(sources_.size()); }
  /// Collects what events of node objects change in the columns and layouts here. After the delta was sent, call
  /// rebuild() for each of `to_rebuild`; after an error, clear().
  void follow(ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta);
  /// Lays out all nodes again. Rows of the layout are void.
  void rebuild(std::int32_t layout, ClassTable& table, const Snapshot& snapshot);
  std::int64_t rebuilt_count() const { return rebuilt_; }

  void clear();

 private:
  /// What a layout was made of, to follow events of nodes.
  struct Source {
    explicit Source(Accelerator& accelerator) : storage(accelerator, "a layout of rows") {}
    std::int32_t pod_class = -1;  ///< one of its classes; -1: none has the layout any more
    std::int32_t node_side = -1;  ///< ClassTable::node_side_number() of its classes
    CellColumns columns;
    bool needs_nodes = false;         ///< every node must be its own cell
    bool may_be_on_device = false;    ///< the device evaluates the node side if all nodes are one cell
    std::vector<ImageSpread> images;  ///< when it was laid out
    DeviceArray<std::uint8_t> storage;
    std::optional<DeviceArray<std::int32_t>> base;  ///< evaluated by the device
    std::optional<NodeCells::Cell> only_cell;       ///< of a layout in order with an accepted node
    std::optional<CellPlaces> places;               ///< of a layout with several cells
  };
  DeviceLayout lay(Source& source, ClassTable& table, const Snapshot& snapshot);
  DeviceLayout lay_in_order(Source& source, DeviceNodeSides::Answer answer, std::int32_t node_count);
  DeviceLayout lay_on_host(Source& source, const NodeSideRow& side, const Snapshot& snapshot);
  static DeviceLayout send(Source& source, DeviceLayout layout, const LayoutArrays& arrays);
  bool follow(std::int32_t layout, ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta);
  /// [position] the node that is there after the events so far, -1 where none is; of positions that changed.
  using NodeAt = std::map<std::int32_t, std::int32_t>;
  bool follow(std::int32_t layout, std::int32_t node, const NodeSideOfOne& side, const Snapshot& snapshot,
              NodeEventDelta& delta, NodeAt& node_at);
  bool move(std::int32_t layout, std::int32_t node, const NodeCells::Cell& cell, NodeEventDelta& delta,
            NodeAt& node_at);

  Accelerator& accelerator_;
  const DeviceTuning& tuning_;
  DeviceNodeSides sides_;
  /// The layout by node side and the other inputs of cells.
  std::map<std::tuple<std::int32_t, CellColumns, bool>, std::int32_t> known_;
  std::vector<DeviceLayout> on_host_;
  std::deque<Source> sources_;  ///< [layout]
  DeviceArray<DeviceLayout> layouts_;
  bool is_uploaded_ = false;  ///< layouts_ are those of on_host_
  std::int64_t rebuilt_ = 0;
};

/// A term that depends on the count of a single node and is part of the node's key.
bool is_folded_in(const TableRead& read, const TopologyCounts& counts);

}  // namespace berth
