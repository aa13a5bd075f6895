// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "batching/commit_log.h"
#include "batching/device/views.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/node_event_delta.h"
#include "plugins/pod_topology_spread/domain_weights.h"

namespace berth {

/// The columns and counters of a snapshot in device memory. After the first upload only changed nodes and counters are
/// sent, in one transfer per update. New columns, tables and port sets are appended.
class DeviceSnapshot {
 public:
  explicit DeviceSnapshot(Accelerator& accelerator);

  /// The number of a set of wanted host ports; equal sets share one. Its column exists after the next update().
  std::int32_t port_set(const std::vector<HostPort>& ports);

  /// Uploads what is new, and the changes of the log since position().
  /// @throws DeviceOutOfMemory  call again, or clear()
  void update(const Snapshot& snapshot, const CommitLog& log);
  /// The same after events of node objects, which are in the log. Adds what they changed here to the delta, and sends
  /// all of it in one transfer. @param snapshot  has_room_for() it. @throws DeviceOutOfMemory  call clear()
  void update(const Snapshot& snapshot, const CommitLog& log, NodeEventDelta& delta);
  /// Writes into a copy of the columns and counters what they are at some nodes of a what-if.
  /// @param copy  columns and counts of the shape that this has  @param of  a fork of the snapshot of the latest
  /// update()
  /// @param nodes  each once: all that differ
  void write_nodes(const DeviceState& copy, const Snapshot& of, const std::vector<std::int32_t>& nodes);
  /// There is room for the domains that node events have made.
  bool has_room_for(const TopologyCounts& counts) const;
  /// The counters of a table with so many domains: room for domains that come later.
  static std::uint64_t counter_room(std::int32_t domain_count) {
    return static_cast<std::uint64_t>(domain_count) + static_cast<std::uint64_t>(domain_count) / kSpareDomainsShare +
           kSpareDomains;
  }
  /// How often everything was uploaded.
  std::int64_t full_uploads() const { return full_uploads_; }
  /// The device has made the changes up to this position itself.
  void skip_to(std::uint64_t position) { position_ = position; }
  /// Position in the log to which the device is current.
  std::uint64_t position() const { return position_; }
  /// A table that is on the device has given its number to another one: call clear() before update().
  bool has_replaced_table(const TopologyCounts& counts) const;
  /// Nothing is on the device yet: the next update() uploads everything.
  bool is_empty() const { return is_empty_; }
  /// Call when the number of slots changed, or nobody knows what is on the device: the next update() uploads
  /// everything.
  void clear();

  DeviceColumns columns() const;
  DeviceCounts counts() const;
  const std::uint8_t* port_conflicts() const { return port_conflicts_.data(); }
  std::int32_t port_set_count() const { return static_cast<std::int32_t>(port_sets_.size()); }

  // Sizes of the columns that placements change, for ForkStates, which copies them.
  std::uint64_t node_count() const { return node_count_; }
  std::uint64_t resource_count() const { return resource_count_; }
  std::uint64_t counter_count() const { return counter_count_; }
  std::uint64_t table_count() const { return tables_on_host_.size(); }

 private:
  void upload_nodes(const Snapshot& snapshot);
  void add_resources(const Snapshot& snapshot);
  void add_columns(const TopologyCounts& counts);
  std::int32_t mask_of(const NodeMask& mask);
  void add_tables(const TopologyCounts& counts);
  void add_port_sets(const Snapshot& snapshot);
  struct ChangedCounters {
    std::vector<std::int64_t> at;  ///< positions in DeviceCounts::counts
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> totals;  ///< [table]
  };
  ChangedCounters counters_of(const std::vector<std::int32_t>& nodes, const NodeEventDelta& events,
                              const TopologyCounts& counts) const;
  std::vector<std::int32_t> domains_of(const std::vector<std::int32_t>& nodes, const NodeEventDelta& events,
                                       std::int32_t column, const TopologyCounts& counts) const;
  void upload_counters(std::int32_t t, const DeviceTable& table, const TopologyCounts& counts);
  DeviceTable describe_table(std::int32_t table, const TopologyCounts& counts);
  void add_new(const Snapshot& snapshot);
  void follow_masks(const TopologyCounts& counts);
  void patch_amounts(const Snapshot& snapshot, NodeEventDelta& delta) const;
  void patch_tables(const TopologyCounts& counts, NodeEventDelta& delta);
  void patch_domains(const TopologyCounts& counts, NodeEventDelta& delta);
  void send_delta(const Snapshot& snapshot, const CommitLog& log, NodeEventDelta& events);
  void send_nodes(const DeviceState& state, const Snapshot& snapshot, const std::vector<std::int32_t>& nodes,
                  const ChangedCounters& changed, const NodeEventDelta& events);
  static constexpr std::uint64_t kSpareDomains = 16;
  static constexpr std::uint64_t kSpareDomainsShare = 4;

  Accelerator& accelerator_;
  bool is_empty_ = true;
  std::uint64_t position_ = 0;
  std::uint64_t node_count_ = 0;
  std::uint64_t resource_count_ = 0;
  std::uint64_t column_count_ = 0;
  std::uint64_t counter_count_ = 0;
  DomainWeights weights_;
  std::map<std::vector<HostPort>, std::int32_t> port_set_of_;
  std::vector<std::vector<HostPort>> port_sets_;
  std::uint64_t uploaded_port_sets_ = 0;
  std::uint64_t order_version_ = 0;  ///< Snapshot::order_version()
  std::int64_t full_uploads_ = 0;
  std::vector<std::vector<std::int32_t>> domains_on_host_;  ///< [column][node] as on the device
  std::vector<std::uint64_t> room_of_table_;                ///< [table] counters
  std::vector<NodeMask> masks_on_host_;
  std::vector<DeviceTable> tables_on_host_;
  std::uint64_t tables_added_ = 0;  ///< TopologyCounts::tables_added() with these

  DeviceArray<std::int64_t> allocatable_, requested_, allowed_pods_, non_zero_milli_cpu_, non_zero_memory_bytes_,
      pod_count_;
  DeviceArray<std::uint64_t> name_hash_;
  DeviceArray<std::uint32_t> rank_;
  DeviceArray<std::int32_t> in_order_;
  DeviceArray<std::uint8_t> port_taken_, port_conflicts_;
  DeviceArray<std::int32_t> domain_of_;
  DeviceArray<std::uint8_t> masks_, exists_;
  DeviceArray<DeviceTable> tables_;
  DeviceArray<double> weight_of_size_;
  DeviceArray<std::int64_t> counts_, totals_;
  DeviceArray<std::uint8_t> delta_;
};

}  // namespace berth
