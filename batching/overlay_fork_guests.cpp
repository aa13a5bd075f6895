// SPDX-License-Identifier: Apache-2.0
// The guests of an OverlayFork: nodes that come, change and go in the fork alone.

#include <algorithm>
#include <utility>

#include "batching/overlay_fork.h"
#include "host/cluster/pod_footprint.h"

namespace berth {

/// Of some pod's class, on nodes that are no guests.
bool OverlayFork::guests_change_scores(std::span<const PodToPlace> pods) {
  return !state_->snapshot.guests().empty() && std::any_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) {
    return pod.class_index >= 0 && state_->guests.change_image_scores(pod.class_index);
  });
}

/// Scores that may wrap are computed node by node, over all of them.
bool OverlayFork::can_be_guest(const Node& node) const {
  return !state_->snapshot.scores_may_wrap() && !Snapshot::node_may_wrap(node) &&
         state_->snapshot.guests().all().size() < kGuestsMax;
}

/// @return false when an own engine is needed; some of the changes may have been applied then
bool OverlayFork::follow(std::span<const ClusterChange> changes) {
  bool any_node = false;
  for (const ClusterChange& change : changes) {
    const auto* upsert = std::get_if<NodeUpsert>(&change);
    const auto* removal = std::get_if<NodeRemoval>(&change);
    any_node = any_node || upsert != nullptr || removal != nullptr;
    if (upsert != nullptr) {
      if (!follow(*upsert)) return false;
    } else if (removal != nullptr) {
      if (!follow(*removal)) return false;
    } else {
      apply_one(change);
    }
  }
  if (!any_node) return true;
  accepting_.clear();
  state_->snapshot.end_guest_events();
  state_->note_guests();
  return !state_->snapshot.guest_lacks_column();
}

bool OverlayFork::follow(const NodeUpsert& upsert) {
  if (!can_be_guest(*upsert.node)) return false;
  const std::int32_t slot = state_->snapshot.find_node(upsert.node->name);
  return slot < 0 ? come(upsert.node) : change(slot, upsert);
}

/// The engine knows no terms of pods that are nominated to a node that it does not have, and a cache keeps the ports of
/// pods in an order that does not follow from them.
bool OverlayFork::come(const NodePtr& node) {
  if (state_->nominations.any_to(node->name)) return false;
  const std::vector<PodPtr> pods = pods_on(node->name, When::kNow);
  const bool any_port =
      std::any_of(pods.begin(), pods.end(), [](const PodPtr& pod) { return !wanted_host_ports(*pod->spec).empty(); });
  const auto moves = moves_of_all(pods);
  if (any_port || !moves) return false;
  Snapshot& snapshot = state_->snapshot;
  const std::int32_t slot = snapshot.set_guest(node);
  names_[slot] = node->name;
  lay_guest(slot, node);
  for (const PodPtr& pod : pods) snapshot.apply(slot, state_->table.delta_of(*pod), 1);
  snapshot.write_topology().add_all(*moves, slot, 1);
  note_guest(slot);
  return true;
}

bool OverlayFork::change(std::int32_t slot, const NodeUpsert& upsert) {
  Snapshot& snapshot = state_->snapshot;
  const NodeParts parts = differing_parts(fingerprint_of(snapshot.node(slot)), upsert.fingerprint);
  if (parts.empty()) return !snapshot.reports_other_image_sizes(*upsert.node);
  snapshot.set_guest(upsert.node);
  note_guest(slot);
  if (!parts.contains(NodePart::kLabels) && !parts.contains(NodePart::kTaints)) return true;
  const auto moves = moves_of_all(pods_on(upsert.node->name, When::kNow));
  if (!moves) return false;
  snapshot.write_topology().add_all(*moves, slot, -1);
  lay_guest(slot, upsert.node);
  snapshot.write_topology().add_all(*moves, slot, 1);
  return true;
}

bool OverlayFork::follow(const NodeRemoval& removal) {
  Snapshot& snapshot = state_->snapshot;
  const std::int32_t slot = snapshot.find_node(removal.name);
  if (slot < 0) return true;
  if (!can_be_guest(snapshot.node(slot))) return false;
  const std::vector<PodPtr> pods = pods_on(removal.name, When::kNow);
  const auto moves = moves_of_all(pods);
  if (!moves) return false;
  may_stray_ = may_stray_ || !pods.empty();
  state_->nominations.leave_node(slot);
  snapshot.write_topology().add_all(*moves, slot, -1);
  for (const PodPtr& pod : pods) snapshot.apply(slot, state_->table.delta_of(*pod), -1);
  snapshot.write_used_ports(slot).clear();
  snapshot.remove_guest(slot);
  lay_guest(slot, nullptr);
  note_guest(slot);
  return true;
}

/// Its counts are 0 in all tables. @param node  null: it went
void OverlayFork::lay_guest(std::int32_t slot, const NodePtr& node) {
  const TopologyIndex& topology = state_->table.topology();
  GuestPlace place;
  if (node == nullptr) {
    place = topology.place_of_guest(slot, nullptr, guest_domains_);
  } else {
    Snapshot alone = Snapshot::of_node(node, 0);
    place = topology.place_of_guest(slot, &alone, guest_domains_);
  }
  state_->snapshot.write_topology().set_guest(std::move(place));
}

void OverlayFork::note_guest(std::int32_t slot) {
  state_->log.append({slot, -1, 0});
  touched_.insert(slot);
}

std::vector<PodPtr> OverlayFork::pods_on(const std::string& node_name, When when) {
  const bool now = when == When::kNow;
  const std::int32_t slot = now ? state_->snapshot.find_node(node_name) : -1;
  if (slot >= 0 && state_->snapshot.pod_count(slot) == 0) return {};
  read_journal();
  const auto is_elsewhere = [&](const Pod& pod) {
    if (changed_since_.empty() && (!now || own_pods_.empty())) return false;
    const std::string uid = pod.uid();
    return changed_since_.contains(uid) || (now && own_pods_.contains(uid));
  };
  std::vector<PodPtr> pods;
  if (const NodeInfo* info = source_->live->cluster.cache().find_node(node_name))
    std::copy_if(info->pods.begin(), info->pods.end(), std::back_inserter(pods),
                 [&](const PodPtr& pod) { return !is_elsewhere(*pod); });
  const auto add = [&](const Standing& standing) {
    if (standing.pod != nullptr && standing.node_name == node_name) pods.push_back(standing.pod);
  };
  for (const auto& [uid, position] : changed_since_)
    if (!now || !own_pods_.contains(uid)) add(as_opened(uid));
  if (now && (may_stray_ || slot >= 0))
    for (const auto& [uid, standing] : own_pods_) add(standing);
  return pods;
}

/// nullopt: the engine does not know what a pod counts.
std::optional<std::vector<CountMove>> OverlayFork::moves_of_all(std::span<const PodPtr> pods) const {
  std::vector<CountMove> all;
  for (const PodPtr& pod : pods) {
    const std::optional<std::vector<CountMove>> moves = state_->table.topology().known_moves(*pod);
    if (!moves) return std::nullopt;
    all.insert(all.end(), moves->begin(), moves->end());
  }
  return all;
}

/// Guests in columns and tables that the engine has compiled since, which have its pods where they stood when the fork
/// was opened. @param guests  where guests lay in the columns and tables from before
void OverlayFork::count_guests_in_new(const std::vector<GuestPlace>& guests, const Known& known) {
  Snapshot& own = state_->snapshot;
  own.fill_columns_of_guests(known.resources_built);
  const auto count = [&](const GuestNode& guest, int sign) {
    for (const PodPtr& pod : pods_on(guest.name, When::kAsOpened))
      count_in_new({pod, guest.name, false}, guest.slot, sign, known);
  };
  for (const GuestNode& guest : own.guests().all())
    if (guest.slot < own.engine_slot_count()) count(guest, -1);
  for (const GuestPlace& place : guests) lay_guest(place.slot, own.guests().find(place.slot)->node);
  for (const GuestNode& guest : own.guests().all())
    if (guest.node != nullptr) count(guest, 1);
}

}  // namespace berth
