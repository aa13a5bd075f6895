// SPDX-License-Identifier: Apache-2.0
// The guests of a snapshot: nodes that came, changed or went in a what-if alone. And the snapshot of one node.

#include <utility>

#include "host/cluster/name_hash.h"
#include "host/cluster/snapshot.h"

namespace berth {

Snapshot Snapshot::of_node(NodePtr node, std::int64_t nodes_elsewhere) {
  Snapshot snapshot;
  snapshot.fixed_ = std::make_shared<Fixed>();
  snapshot.nodes_elsewhere_ = nodes_elsewhere;
  snapshot.slot_count_ = 1;
  Fixed& fixed = *snapshot.fixed_;
  fixed.index_of.emplace(node->name, 0);
  fixed.order = fixed.rank = {0};
  fixed.name_hash = {node_name_hash(node->name)};
  fixed.allowed_pods = {node->allowed_pod_number};
  fixed.unschedulable = {static_cast<std::uint8_t>(node->unschedulable ? 1 : 0)};
  fixed.may_wrap = {0};
  fixed.taint_set = {0};
  fixed.taint_sets.emplace_back();
  snapshot.fill_taints(0, node->taints);
  fixed.nodes.push_back(std::move(node));
  return snapshot;
}

void Snapshot::note_image(std::string_view name, std::int64_t size_bytes, std::int64_t nodes_elsewhere) {
  write_fixed().images[std::string(name)] = {size_bytes, {0}, nodes_elsewhere};
}

/// That of the engine's node of the name, whether it went or not; one beyond the engine's slots for a new name.
std::int32_t Snapshot::slot_of_guest(const std::string& name) {
  if (const GuestNode* known = guests_.find(name)) return known->slot;
  const std::int32_t of_engine = find_in_engine(name);
  return of_engine >= 0 ? of_engine : slot_count_;
}

void Snapshot::put_guest(GuestNode guest) {
  static const Node kNone;
  const std::int32_t slot = guest.slot;
  if (slot == slot_count_) {
    ++slot_count_;
    grow_columns(slot_count_);
    // Not a node of the engine, nor known before: nothing is there yet.
    guests_.set({slot, guest.name, nullptr, guest.name_hash});
  }
  const Node* before = object(slot);
  guests_more_ += (guest.node != nullptr ? 1 : 0) - (before != nullptr ? 1 : 0);
  write_allocatable(slot, before != nullptr ? *before : kNone, guest.node != nullptr ? *guest.node : kNone);
  guest_order_.note(slot, guest.node != nullptr ? std::optional(zone_key(*guest.node)) : std::nullopt);
  guests_.set(std::move(guest));
  is_guest_order_current_ = false;
}

std::int32_t Snapshot::set_guest(const NodePtr& node) {
  const std::int32_t slot = slot_of_guest(node->name);
  put_guest({slot, node->name, node, node_name_hash(node->name)});
  return slot;
}

void Snapshot::remove_guest(std::int32_t slot) {
  const std::string name(node_name(slot));
  put_guest({slot, name, nullptr, node_name_hash(name)});
}

void Snapshot::end_guest_events() { guest_order_.end_of_list(); }

void Snapshot::update_guest_order(const ClusterCache& cache) {
  if (guests_.empty() || is_guest_order_current_) return;
  std::vector<GuestOrder::Zone> zones;
  for (const ClusterCache::NodesOfZone& zone : cache.nodes_by_zone()) {
    zones.push_back({std::string(zone.zone_key), {}});
    for (const NodeInfo* info : zone.nodes) zones.back().slots.push_back(slot_of(*info));
  }
  guest_in_order_ = guest_order_.after_events(std::move(zones), fixed_->order);
  guest_rank_.assign(static_cast<std::size_t>(slot_count_), -1);
  for (std::size_t rank = 0; rank < guest_in_order_.size(); ++rank)
    guest_rank_[static_cast<std::size_t>(guest_in_order_[rank])] = static_cast<std::int32_t>(rank);
  is_guest_order_current_ = true;
}

void Snapshot::fill_columns_of_guests(std::uint64_t resources_built_before) {
  grow_columns(slot_count_);
  for (const GuestNode& guest : guests_.all())
    for (Resource& resource : resources_)
      if (resource.built_at > resources_built_before)
        resource.allocatable.write(guest.slot) =
            guest.node != nullptr ? guest.node->allocatable.scalar(resource.name) : 0;
}

bool Snapshot::guest_lacks_column() const {
  for (const GuestNode& guest : guests_.all()) {
    if (guest.node == nullptr) continue;
    for (const auto& [name, amount] : guest.node->allocatable.scalars)
      if (amount > 0 && fixed_->unoffered.contains(name)) return true;
  }
  return false;
}

}  // namespace berth
