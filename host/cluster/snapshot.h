// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cluster as columns. Layout and units, once for every column here: a column has node_count() entries in snapshot
// order (zone-interleaved, as kube-scheduler lists nodes); cpu is in millicores, memory and ephemeral storage in bytes,
// other resources in their own unit; interned ids of absent things are 0.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/pages.h"
#include "host/cluster/resource_columns.h"
#include "host/cluster/topology_counts.h"

namespace berth {

/// One numeric column in pages.
class Column {
 public:
  Column() = default;
  explicit Column(std::int32_t node_count)
      : pages_(static_cast<std::size_t>((node_count + kPageNodes - 1) / kPageNodes), kPageNodes, 0) {}

  std::int64_t operator[](std::int32_t node) const {
    return pages_.read(static_cast<std::size_t>(node >> kPageNodesLog2))[node & (kPageNodes - 1)];
  }
  std::int64_t& write(std::int32_t node) {
    return pages_.write(static_cast<std::size_t>(node >> kPageNodesLog2))[node & (kPageNodes - 1)];
  }
  std::uint64_t bytes() const { return pages_.bytes(); }
  const Pages<std::int64_t>& pages() const { return pages_; }

 private:
  Pages<std::int64_t> pages_;
};

/// The values of one label key: per node the id of its value, 0 where the key is absent.
struct LabelColumn {
  std::string key;
  std::vector<std::int32_t> value_id;  ///< [node_count]
  std::vector<std::string> values;     ///< by id; [0] is unused
};

/// The nodes that have an image.
struct ImageColumn {
  std::int64_t size_bytes = 0;
  std::vector<std::int32_t> nodes;  ///< ascending
};

/// 100 times a larger amount wraps around. Sums of two amounts up to this do not.
inline constexpr std::int64_t kMayWrapAbove = INT64_MAX / 100;

/// The change of a node by a placement, by column.
struct ResourceDelta {
  std::vector<std::pair<std::int32_t, std::int64_t>> requested;  ///< (resource column, amount), amounts above 0
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
};

/// Copying a Snapshot is cheap and gives an independent value: changing columns are in shared pages, the rest is behind
/// one pointer that node events replace.
class Snapshot {
 public:
  /// Builds all columns except those of resources, which are requested by name: ensure_resource().
  explicit Snapshot(const ClusterCache& cache);

  /// The result of update().
  struct Update {
    bool nodes_changed = false;         ///< node objects or their order: everything derived from them is void
    std::vector<std::int32_t> touched;  ///< nodes of which only the pods changed
  };
  /// Rewrites the nodes that changed in the cache since the last update; the order is rebuilt only when a node was
  /// added or removed. Placements applied here that the cache now has are overwritten with the same amounts.
  Update update(const ClusterCache& cache);

  std::int32_t node_count() const { return static_cast<std::int32_t>(fixed_->nodes.size()); }
  const Node& node(std::int32_t i) const { return *fixed_->nodes[static_cast<std::size_t>(i)]; }
  std::uint64_t node_hash(std::int32_t i) const { return fixed_->name_hash[static_cast<std::size_t>(i)]; }
  /// -1 when no node has the name.
  std::int32_t find_node(std::string_view name) const;

  /// The column of a resource, built on first use. kNoColumn when no node offers it.
  std::int32_t ensure_resource(std::string_view name, const ClusterCache& cache);
  std::int32_t resource_count() const { return static_cast<std::int32_t>(resources_.size()); }
  const std::string& resource_name(std::int32_t r) const { return resources_[static_cast<std::size_t>(r)].name; }

  std::int64_t allocatable(std::int32_t r, std::int32_t i) const {
    return resources_[static_cast<std::size_t>(r)].allocatable[i];
  }
  std::int64_t requested(std::int32_t r, std::int32_t i) const {
    return resources_[static_cast<std::size_t>(r)].requested[i];
  }
  std::int64_t non_zero_milli_cpu(std::int32_t i) const { return non_zero_milli_cpu_[i]; }
  std::int64_t non_zero_memory_bytes(std::int32_t i) const { return non_zero_memory_bytes_[i]; }
  std::int64_t pod_count(std::int32_t i) const { return pod_count_[i]; }
  std::int64_t allowed_pods(std::int32_t i) const { return fixed_->allowed_pods[static_cast<std::size_t>(i)]; }
  bool unschedulable(std::int32_t i) const { return fixed_->unschedulable[static_cast<std::size_t>(i)] != 0; }
  std::int32_t taint_set(std::int32_t i) const { return fixed_->taint_set[static_cast<std::size_t>(i)]; }
  std::span<const std::vector<Taint>> taint_sets() const { return fixed_->taint_sets; }
  /// Sorted host ports in use on a node.
  const std::vector<HostPort>& used_ports(std::int32_t i) const {
    return used_ports_.read(static_cast<std::size_t>(i >> kPageNodesLog2))[i & (kPageNodes - 1)];
  }
  std::vector<HostPort>& write_used_ports(std::int32_t i) {
    return used_ports_.write(static_cast<std::size_t>(i >> kPageNodesLog2))[i & (kPageNodes - 1)];
  }

  /// Whether some node has or had amounts with which the int64 arithmetic of scores wraps around, as in Go: such scores
  /// may be out of range. When this and may_wrap() of a pod's amounts are false, no sum and no product wraps.
  bool scores_may_wrap() const { return scores_may_wrap_; }
  static constexpr bool may_wrap(std::int64_t amount) { return amount < 0 || amount > kMayWrapAbove; }

  /// Built on first use and kept until node objects change.
  const LabelColumn& label_column(std::string_view key);
  /// nullptr when no node has the image.
  const ImageColumn* image(std::string_view name) const;

  /// Counts per topology domain, maintained by the owner of the tables: update() and apply() do not change them.
  const TopologyCounts& topology() const { return topology_; }
  TopologyCounts& write_topology() { return topology_; }

  /// Adds (sign = 1) or subtracts (sign = -1) one pod's amounts; the caller handles ports.
  void apply(std::int32_t node, const ResourceDelta& delta, int sign);

  /// Changes only the given columns: for a column that was built after the pod was placed.
  void add_requested(std::int32_t node, const ResourceDelta& delta);

  std::uint64_t column_bytes() const;

 private:
  struct Resource {
    std::string name;
    Column allocatable;
    Column requested;
  };
  /// Data that only node events change; shared by copies.
  struct Fixed {
    std::vector<NodePtr> nodes;
    std::unordered_map<std::string_view, std::int32_t> index_of;
    std::vector<std::uint64_t> name_hash;
    std::vector<std::int64_t> allowed_pods;
    std::vector<std::uint8_t> unschedulable;
    std::vector<std::int32_t> taint_set;
    std::vector<std::vector<Taint>> taint_sets;
    std::unordered_map<std::string, ImageColumn> images;
    std::unordered_map<std::string, LabelColumn> labels;
  };

  void rebuild(const ClusterCache& cache);
  void rebuild_fixed(const ClusterCache& cache);
  void fill_node(std::int32_t i, const NodeInfo& info);
  static std::int64_t amount_of(const ResourceAmounts& amounts, std::int32_t column, const std::string& name);

  std::shared_ptr<Fixed> fixed_;
  std::vector<Resource> resources_;
  Column non_zero_milli_cpu_;
  Column non_zero_memory_bytes_;
  Column pod_count_;
  Pages<std::vector<HostPort>> used_ports_;
  TopologyCounts topology_;
  bool scores_may_wrap_ = false;
  std::uint64_t generation_ = 0;
  std::uint64_t order_generation_ = 0;
};

}  // namespace berth
