// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "batching/device/views.h"
#include "batching/pod_class.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_layouts.h"
#include "host/engine/device/device_snapshot.h"

namespace berth {

/// The classes of a ClassTable in device memory. Added when a batch needs them, and kept.
class DeviceClassTable {
 public:
  DeviceClassTable(Accelerator& accelerator, const DeviceTuning& tuning);

  /// Whether a device can evaluate the class; otherwise the host places its pods one by one.
  static bool can_serve(const PodClass& pod_class, const CompiledProfile& profile);

  /// Adds the class, its layout, and its port set in `columns`.
  void add(std::int32_t pod_class, ClassTable& table, const Snapshot& snapshot, DeviceSnapshot& columns);
  std::int32_t layout_of(std::int32_t pod_class) const { return layout_of_class_[static_cast<std::size_t>(pod_class)]; }
  const DeviceLayout& layout(std::int32_t layout) const { return layouts_.on_host(layout); }

  /// Uploads what was added. Invalidates the pointers of earlier calls.
  DeviceClasses classes(const ClassTable& table, const DeviceSnapshot& columns);
  const DeviceLayout* layouts() { return layouts_.on_device(); }

  /// The most domains of a key of a soft constraint, for the size of DeviceScratch::seen.
  std::int64_t soft_domains_max() const { return soft_domains_max_; }

  /// Events of node objects changed nothing that classes were compiled from.
  bool can_follow(const TopologyCounts& counts) const;
  /// Call before follow(). Drops the classes that do not share the node side of their layout any more: a batch that
  /// needs them adds them again. @return those classes, whose rows are void
  std::vector<std::int32_t> drop_classes_of_other_sides(ClassTable& table);
  /// DeviceLayouts::follow() and rebuild(). @param snapshot  can_follow()
  void follow(ClassTable& table, const Snapshot& snapshot, NodeEventDelta& delta);
  void rebuild_layout(std::int32_t layout, ClassTable& table, const Snapshot& snapshot) {
    layouts_.rebuild(layout, table, snapshot);
  }
  std::int64_t layouts_rebuilt() const { return layouts_.rebuilt_count(); }

  /// Call when the number of slots changed, or a resource was added that classes may request.
  void clear();

 private:
  DeviceList add_reads(const std::vector<DeviceRead>& reads);
  void add_topology(const TopologyProgram& program, const TableReads& reads, bool by_node, const TopologyCounts& counts,
                    DeviceClass& device);
  void find_soft_domains_max(const TopologyCounts& counts);
  void add_requests(const PodClass& pod_class, const CompiledProfile& profile, DeviceClass& device);

  const DeviceTuning& tuning_;
  DeviceLayouts layouts_;
  std::vector<std::int32_t> layout_of_class_;  ///< [class] -1: not added
  std::vector<DeviceClass> classes_on_host_;   ///< [class]
  std::vector<DeviceRequest> requests_on_host_;
  std::vector<DeviceRead> reads_on_host_;
  std::vector<DeviceMove> moves_on_host_;
  std::set<std::int32_t> soft_columns_;    ///< of the keys of soft constraints
  std::set<std::int32_t> folded_columns_;  ///< with terms that are read by the node, since no domain has two
  std::int64_t soft_domains_max_ = 0;
  std::size_t first_changed_class_ = 0;  ///< those from here on are not on the device as they are here
  std::size_t uploaded_requests_ = 0;
  std::size_t uploaded_reads_ = 0;
  std::size_t uploaded_moves_ = 0;
  bool has_profiles_ = false;  ///< on the device
  DeviceArray<DeviceClass> classes_;
  DeviceArray<DeviceProfile> profiles_;
  DeviceArray<DeviceRequest> requests_;
  DeviceArray<DeviceRead> reads_;
  DeviceArray<DeviceMove> moves_;
};

}  // namespace berth
