// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cluster as columns. Layout and units, once for every column here: a column has slot_count() entries, one for each
// slot; a node keeps its slot for as long as it exists, and a slot without a node reads as 0 everywhere; cpu is in
// millicores, memory and ephemeral storage in bytes, other resources in their own unit; ids of absent things are 0.

#include <tsl/robin_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/cluster_change.h"
#include "host/cluster/guest_nodes.h"
#include "host/cluster/node_column.h"
#include "host/cluster/resource_columns.h"
#include "host/cluster/text_hash.h"
#include "host/cluster/topology_counts.h"
#include "host/cluster/value_ids.h"

namespace berth {

using Column = NodeColumn<std::int64_t>;

/// The values of one label key: per slot the id of its node's value, 0 where the key is absent.
struct LabelColumn {
  std::string key;
  std::vector<std::int32_t> value_id;  ///< [slot_count]; stays where it is until the number of slots changes
  ValueIds values;
};

/// The nodes that have an image.
struct ImageColumn {
  std::int64_t size_bytes = 0;
  std::vector<std::int32_t> nodes;   ///< slots, ascending
  std::int64_t nodes_elsewhere = 0;  ///< further ones, of a snapshot that has a part of a cluster: of_node()

  std::int64_t node_count() const { return static_cast<std::int64_t>(nodes.size()) + nodes_elsewhere; }
};

/// 100 times a larger amount wraps around. Sums of two amounts up to this do not.
inline constexpr std::int64_t kMayWrapAbove = INT64_MAX / 100;

/// The change of a node by a placement, by column.
struct ResourceDelta {
  std::vector<std::pair<std::int32_t, std::int64_t>> requested;  ///< (resource column, amount), amounts above 0
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
};

/// What pods take of a node besides resources. In one column, since each placement changes all of it.
struct NodeUse {
  std::int64_t non_zero_milli_cpu = 0;
  std::int64_t non_zero_memory_bytes = 0;
  std::int64_t pod_count = 0;
};

/// Where nodes stand in node order, by slot: Snapshot::rank().
class NodeOrder {
 public:
  explicit NodeOrder(std::span<const std::int32_t> ranks) : ranks_(ranks) {}
  /// Of nobody knows what: computing it costs more than most selections, of which few ask. @param is_asked  becomes
  /// true when the order is asked for, and what depends on it is wrong; must outlive the order
  static NodeOrder unknown(bool& is_asked) {
    NodeOrder order({});
    order.is_asked_ = &is_asked;
    return order;
  }
  bool is_before(std::int32_t node, std::int32_t other) const { return rank(node) < rank(other); }
  std::int32_t rank(std::int32_t node) const {
    if (is_asked_ == nullptr) return ranks_[static_cast<std::size_t>(node)];
    *is_asked_ = true;
    return node;
  }

 private:
  std::span<const std::int32_t> ranks_;
  bool* is_asked_ = nullptr;  ///< null: the order is known
};

/// Copying a Snapshot is cheap and gives an independent value: changing columns are in shared pages, the rest is behind
/// one pointer and copied at the first node event.
class Snapshot {
 public:
  /// Builds all columns except those of resources, which are requested by name: ensure_resource(). The nodes get their
  /// slots in the order of the cache, and no slot stays free.
  explicit Snapshot(const ClusterCache& cache) : Snapshot(cache, {}) {}
  /// The same where nodes have slots already. @param slots  [slot] a node, perhaps with an older object; null: free.
  /// A node that the cache does not have leaves its slot free; one that is not among them gets the lowest free slot.
  Snapshot(const ClusterCache& cache, std::span<const NodePtr> slots);

  /// A copy for a what-if: what only node events change is read from this snapshot, which must not change it while the
  /// copy is in use.
  Snapshot borrowed() const;
  /// One node of a cluster, in slot 0, as node sides read it: without amounts, and with the images of note_image().
  /// @param nodes_elsewhere  further nodes of the cluster
  static Snapshot of_node(NodePtr node, std::int64_t nodes_elsewhere);
  void note_image(std::string_view name, std::int64_t size_bytes, std::int64_t nodes_elsewhere);

  // Guests: nodes that came, changed or went in a borrowed() copy, and in its copies, alone. What is read by slot
  // follows them, except what only node sides read: taint sets, cordons, labels, images.

  const GuestNodes& guests() const { return guests_; }
  bool is_guest(std::int32_t slot) const { return !guests_.empty() && guests_.find(slot) != nullptr; }
  /// The slots of the engine are below this; nodes that came have those from here on.
  std::int32_t engine_slot_count() const { return static_cast<std::int32_t>(fixed_->nodes.size()); }
  /// Nodes added minus nodes removed.
  std::int32_t guest_count_change() const { return guests_more_; }
  /// find_node() of the engine: without guests.
  std::int32_t find_in_engine(std::string_view name) const {
    const auto at = fixed_->index_of.find(name);
    return at == fixed_->index_of.end() ? -1 : at->second;
  }
  /// The node comes, or its object is replaced. @return its slot
  std::int32_t set_guest(const NodePtr& node);
  /// The node goes. Take its pods off before.
  void remove_guest(std::int32_t slot);
  /// As update_order(), after a list of node events.
  void end_guest_events();
  /// Brings in_order() and rank() up to date. @param cache  of the engine
  void update_guest_order(const ClusterCache& cache);
  /// What guests offer, in the columns of resources that add_resources_of() has taken over since.
  void fill_columns_of_guests(std::uint64_t resources_built_before);
  /// A guest offers a resource that no node offered when a class requested it, so that it has no column.
  bool guest_lacks_column() const;
  /// Scores may wrap with what the node offers.
  static bool node_may_wrap(const Node& node);

  /// Takes over the columns of resources that `live` has and this copy of it lacks, with the amounts of now.
  void add_resources_of(const Snapshot& live);

  /// [slot] null: free. Without guests.
  std::span<const NodePtr> nodes_by_slot() const { return fixed_->nodes; }
  /// The slot that add_node() would give; -1: none is free.
  std::int32_t next_free_slot() const { return fixed_->free_slots.empty() ? -1 : fixed_->free_slots.back(); }
  /// For those who outlive this snapshot, which nobody reads any more.
  std::vector<NodePtr> leave_nodes() noexcept { return std::move(fixed_->nodes); }
  /// Of a snapshot of which nothing but nodes_by_slot() is read any more.
  void set_node_of_slot(std::int32_t slot, NodePtr node) noexcept {
    fixed_->nodes[static_cast<std::size_t>(slot)] = std::move(node);
  }

  // Node events. Data derived from columns has to be updated by its owner.

  /// Gives the node a free slot. @return -1 when no slot is free: call add_slots() before
  std::int32_t add_node(const NodeInfo& info, const ClusterCache& cache);
  /// The node's object was replaced. @param parts  in which it differs
  void change_node(std::int32_t slot, const NodeInfo& info, NodeParts parts, const ClusterCache& cache);
  void remove_node(std::int32_t slot, const ClusterCache& cache);
  /// Lengthens every column, which moves them. Topology columns and tables do not change.
  void add_slots(std::int32_t count);
  /// The pods of the node changed. Does nothing to topology tables.
  void change_pods(std::int32_t slot, const NodeInfo& info);
  /// The same where only these resources, beside cpu, memory and ephemeral storage, may have changed.
  void change_pods(std::int32_t slot, const NodeInfo& info, std::span<const std::string> resources);
  /// Takes over the node order of the cache, when that has changed. @return whether it has
  bool update_order(const ClusterCache& cache);

  std::int32_t slot_count() const { return slot_count_; }
  /// Slots that have a node.
  std::int32_t node_count() const { return static_cast<std::int32_t>(fixed_->index_of.size()) + guests_more_; }
  /// The nodes of the cluster: node_count(), and in of_node() those of the whole cluster.
  std::int64_t node_count_of_cluster() const { return node_count() + nodes_elsewhere_; }
  bool has_node(std::int32_t i) const { return object(i) != nullptr; }
  /// The slots of all nodes in node order: zone-interleaved, as kube-scheduler lists them. As of update_order().
  std::span<const std::int32_t> in_order() const { return guests_.empty() ? fixed_->order : guest_in_order_; }
  /// Position of a node in that order; -1 of a free slot.
  std::int32_t rank(std::int32_t i) const {
    return (guests_.empty() ? fixed_->rank : guest_rank_)[static_cast<std::size_t>(i)];
  }
  /// Changes with in_order().
  std::uint64_t order_version() const { return order_version_; }
  /// How often nodes that stayed changed places among themselves: with zones, when a node goes.
  std::uint64_t order_moves() const { return order_moves_; }
  /// Valid until nodes come or go.
  NodeOrder node_order() const { return NodeOrder(guests_.empty() ? fixed_->rank : guest_rank_); }
  const Node& node(std::int32_t i) const { return *object(i); }
  /// Empty for a slot without a node, and for what is no slot.
  std::string_view node_name(std::int32_t i) const {
    return i >= 0 && i < slot_count() && has_node(i) ? std::string_view(node(i).name) : std::string_view();
  }
  std::uint64_t node_hash(std::int32_t i) const {
    if (!guests_.empty())
      if (const GuestNode* guest = guests_.find(i)) return guest->name_hash;
    return fixed_->name_hash[static_cast<std::size_t>(i)];
  }
  /// -1 when no node has the name.
  std::int32_t find_node(std::string_view name) const;

  /// The column of a resource, built on first use. kNoColumn when no node offers it.
  std::int32_t ensure_resource(std::string_view name, const ClusterCache& cache);
  /// A node now offers a resource for which ensure_resource() found none.
  bool lacks_column() const { return lacks_column_; }
  std::int32_t resource_count() const { return static_cast<std::int32_t>(resources_.size()); }
  /// How many columns were ever built. A column that keep_resources() gave up is built again for another resource.
  std::uint64_t resources_built() const { return resources_built_; }
  /// The names of the resources whose columns were built since, in order. @param built  resources_built() then
  std::vector<std::string_view> resources_built_since(std::uint64_t built) const;
  /// The value of resources_built() with this column.
  std::uint64_t built_at(std::int32_t r) const { return resources_[static_cast<std::size_t>(r)].built_at; }
  /// Gives up the columns of other resources than cpu, memory, ephemeral storage and `names`: they read as 0. Of the
  /// resources that no node offered, only `names` are remembered.
  void keep_resources(const std::set<std::string, std::less<>>& names);
  /// kNoColumn when the resource has none.
  std::int32_t find_resource(std::string_view name) const;
  const std::string& resource_name(std::int32_t r) const { return resources_[static_cast<std::size_t>(r)].name; }

  std::int64_t allocatable(std::int32_t r, std::int32_t i) const {
    return resources_[static_cast<std::size_t>(r)].allocatable[i];
  }
  std::int64_t requested(std::int32_t r, std::int32_t i) const {
    return resources_[static_cast<std::size_t>(r)].requested[i];
  }
  /// Both of the slots from `first` on. @param amounts [out] as many as are wanted
  void copy_allocatable(std::int32_t r, std::int32_t first, std::span<std::int64_t> amounts) const {
    resources_[static_cast<std::size_t>(r)].allocatable.copy_from(first, amounts);
  }
  void copy_requested(std::int32_t r, std::int32_t first, std::span<std::int64_t> amounts) const {
    resources_[static_cast<std::size_t>(r)].requested.copy_from(first, amounts);
  }
  /// Calls use(first slot, allocatable, requested) for the runs of a resource column, for loops over all slots.
  template <class Use>
  void for_each_run(std::int32_t r, Use use) const {
    const Resource& resource = resources_[static_cast<std::size_t>(r)];
    for (std::int32_t first = 0; first < slot_count(); first += Column::kRunNodes) {
      const auto length = static_cast<std::size_t>(std::min(Column::kRunNodes, slot_count() - first));
      use(first, resource.allocatable.run(first).first(length), resource.requested.run(first).first(length));
    }
  }
  std::int64_t non_zero_milli_cpu(std::int32_t i) const { return use_[i].non_zero_milli_cpu; }
  std::int64_t non_zero_memory_bytes(std::int32_t i) const { return use_[i].non_zero_memory_bytes; }
  std::int64_t pod_count(std::int32_t i) const { return use_[i].pod_count; }
  const NodeUse& use(std::int32_t i) const { return use_[i]; }
  std::int64_t allowed_pods(std::int32_t i) const {
    if (!guests_.empty())
      if (const GuestNode* guest = guests_.find(i)) return guest->node != nullptr ? guest->node->allowed_pod_number : 0;
    return fixed_->allowed_pods[static_cast<std::size_t>(i)];
  }
  bool unschedulable(std::int32_t i) const { return fixed_->unschedulable[static_cast<std::size_t>(i)] != 0; }
  std::int32_t taint_set(std::int32_t i) const { return fixed_->taint_set[static_cast<std::size_t>(i)]; }
  /// By id; [0] is the empty set.
  std::span<const std::vector<Taint>> taint_sets() const { return fixed_->taint_sets; }
  const ValueIds& taint_set_ids() const { return fixed_->taint_set_ids; }
  /// Host ports in use on a node: sorted, one entry for each pod that has the port.
  const std::vector<HostPort>& used_ports(std::int32_t i) const { return used_ports_[i]; }
  std::vector<HostPort>& write_used_ports(std::int32_t i) { return used_ports_.write(i); }

  /// Whether some node has amounts, or had them by a placement, with which the int64 arithmetic of scores wraps around,
  /// as in Go: such scores may be out of range. When this and may_wrap() of a pod's amounts are false, no sum and no
  /// product wraps.
  bool scores_may_wrap() const { return wrapping_nodes_ > 0 || placement_may_wrap_; }
  static constexpr bool may_wrap(std::int64_t amount) { return amount < 0 || amount > kMayWrapAbove; }

  /// Built on first use and kept up to date.
  const LabelColumn& label_column(std::string_view key);
  /// nullptr when no node has the image.
  const ImageColumn* image(std::string_view name) const;
  /// Of some image, the node reports another size than the one that counts.
  bool reports_other_image_sizes(const Node& node) const;

  /// Counts per topology domain, maintained by the owner of the tables: no other function here changes them.
  const TopologyCounts& topology() const { return topology_; }
  TopologyCounts& write_topology() { return topology_; }

  /// Adds the amounts of equal pods, or takes them off (copies < 0); the caller handles ports.
  void apply(std::int32_t node, const ResourceDelta& delta, std::int32_t copies);

  /// The same of the given columns alone: for a column that was built after the pod was placed.
  void add_requested(std::int32_t node, const ResourceDelta& delta, std::int32_t copies = 1);

  std::uint64_t column_bytes() const;
  /// Of what no copy shares.
  std::uint64_t own_bytes() const;

 private:
  struct Resource {
    std::string name;  ///< empty: free
    Column allocatable;
    Column requested;
    std::uint64_t built_at = 0;
  };
  /// Data that only node events change; shared by copies.
  struct Fixed {
    std::vector<NodePtr> nodes;                                   ///< [slot] null: free
    std::unordered_map<std::string_view, std::int32_t> index_of;  ///< keys are the names in `nodes`
    std::vector<std::uint64_t> entry_id;                          ///< [slot] NodeInfo::id
    tsl::robin_map<std::uint64_t, std::int32_t> slot_of_entry;    ///< by NodeInfo::id
    std::vector<std::int32_t> free_slots;
    std::vector<std::int32_t> order;  ///< [rank] slot
    std::vector<std::int32_t> rank;   ///< [slot] -1: free
    std::vector<std::uint64_t> name_hash;
    std::vector<std::int64_t> allowed_pods;
    std::vector<std::uint8_t> unschedulable;
    std::vector<std::uint8_t> may_wrap;            ///< 1: the node's amounts may wrap in scores
    std::set<std::string, std::less<>> unoffered;  ///< resources that were requested when no node offered them
    std::vector<std::int32_t> taint_set;
    ValueIds taint_set_ids;
    std::vector<std::vector<Taint>> taint_sets;
    std::unordered_map<std::string, ImageColumn, NameHash, std::equal_to<>> images;
    std::unordered_map<std::string, LabelColumn> labels;
  };

  Snapshot() = default;
  Fixed& write_fixed();
  const Node* object(std::int32_t i) const {
    if (!guests_.empty())
      if (const GuestNode* guest = guests_.find(i)) return guest->node.get();
    return fixed_->nodes[static_cast<std::size_t>(i)].get();
  }
  std::int32_t slot_of_guest(const std::string& name);
  void put_guest(GuestNode guest);
  void grow_columns(std::int32_t slot_count);
  void note_entry(std::int32_t slot, const NodeInfo& info);
  /// find_node() without guests and without reading a name. @param info  of a node that has a slot
  std::int32_t slot_of(const NodeInfo& info) const { return fixed_->slot_of_entry.at(info.id); }
  /// Of lists of names that nodes share, by address: a load of nodes looks each name up once.
  using ImagesOfLists = tsl::robin_map<const void*, std::vector<ImageColumn*>>;
  void follow(std::int32_t slot, const NodeInfo& info, ImagesOfLists* known = nullptr);
  void write_allocatable(std::int32_t slot, const Node& before, const Node& node);
  void fill_allocatable(std::int32_t slot, const Node& before, const Node& node);
  void read_requested(std::size_t r, std::int32_t slot, const NodeInfo& info);
  void note_wrapping(std::int32_t slot, bool may_wrap);
  void fill_taints(std::int32_t slot, const std::vector<Taint>& taints);
  void fill_labels(std::int32_t slot, const LabelMap& labels);
  void add_images(std::int32_t slot, const Node& node, ImagesOfLists* known = nullptr);
  static void note_on(std::int32_t slot, ImageColumn& image);
  void drop_images(std::int32_t slot, const Node& node, const ClusterCache& cache);
  void read_image_sizes(const Node& node, const ClusterCache& cache);
  static std::int64_t amount_of(const ResourceAmounts& amounts, std::int32_t column, const std::string& name);

  std::shared_ptr<Fixed> fixed_;
  std::int32_t slot_count_ = 0;  ///< guests' slots included
  GuestNodes guests_;
  std::int32_t guests_more_ = 0;  ///< nodes added minus nodes removed
  GuestOrder guest_order_;
  bool is_guest_order_current_ = false;
  std::vector<std::int32_t> guest_in_order_;  ///< in_order() and rank() where there are guests
  std::vector<std::int32_t> guest_rank_;
  std::int64_t nodes_elsewhere_ = 0;  ///< of_node()
  std::vector<Resource> resources_;
  std::map<std::string, std::int32_t, std::less<>> column_of_resource_;
  NodeColumn<NodeUse> use_;
  NodeColumn<std::vector<HostPort>> used_ports_;
  TopologyCounts topology_;
  std::int32_t wrapping_nodes_ = 0;  ///< Fixed::may_wrap
  bool placement_may_wrap_ = false;
  bool lacks_column_ = false;
  std::uint64_t resources_built_ = 0;
  std::optional<std::uint64_t> order_generation_;  ///< of the cache; absent: the order is to be read again
  std::uint64_t order_version_ = 0;
  std::uint64_t order_moves_ = 0;
};

}  // namespace berth
