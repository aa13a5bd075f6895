// SPDX-License-Identifier: Apache-2.0
// The pods of an OverlayFork: where they stood at the opening, and where they stand now.

#include <algorithm>
#include <optional>
#include <utility>

#include "batching/overlay_reading.h"
#include "host/cluster/pod_footprint.h"
#include "host/objects/pod_state.h"

namespace berth {

void OverlayFork::read_journal() {
  const PodJournal& journal = *source_->journal;
  for (; journal_seen_ < journal.end(); ++journal_seen_)
    changed_since_.try_emplace(journal[journal_seen_].uid, journal_seen_);
}

/// Of the engine, or the copy that it left.
const ClusterCache& OverlayFork::cache_of_source() const {
  return source_->live != nullptr ? source_->live->cluster.cache() : *source_->cache;
}

OverlayFork::Standing OverlayFork::in_source(const std::string& uid) const {
  const std::optional<ClusterCache::PodPlace> place = cache_of_source().find_pod(uid);
  if (!place) return {};
  return {place->pod, place->node->name, place->is_assumed};
}

OverlayFork::Standing OverlayFork::as_opened(const std::string& uid) {
  read_journal();
  const auto changed = changed_since_.find(uid);
  if (changed == changed_since_.end()) return in_source(uid);
  const PodBefore& before = (*source_->journal)[changed->second];
  return {before.pod, before.node_name, before.is_assumed};
}

/// Valid until own_pods_ changes. @param opened [out] where it is, unless it is among them: threads would have to agree
/// on one more owner of the pod
const OverlayFork::Standing& OverlayFork::standing_of(const std::string& uid, Standing& opened) {
  const auto own = own_pods_.find(uid);
  if (own != own_pods_.end()) return own->second;
  opened = as_opened(uid);
  return opened;
}

/// Whether the pod stands on a node now: node_of_pod() of a journal that was read.
bool OverlayFork::stands(const std::string& uid) const {
  if (const auto own = own_pods_.find(uid); own != own_pods_.end()) return !own->second.node_name.empty();
  const auto changed = changed_since_.find(uid);
  if (changed != changed_since_.end()) return !(*source_->journal)[changed->second].node_name.empty();
  return cache_of_source().node_of_pod(uid) != nullptr;
}

/// What pods of the changes count in the topology tables becomes known. @return false when an own engine is needed
bool OverlayFork::ensure_moves(std::span<const ClusterChange> changes, Reading& reading) {
  TopologyIndex& topology = state_->table.topology();
  std::vector<PodPtr> unknown;
  bool brings_new_terms = false;
  const bool nodes_may_come = std::any_of(changes.begin(), changes.end(), [](const ClusterChange& change) {
    return std::holds_alternative<NodeUpsert>(change);
  });
  const auto look_at = [&](const PodPtr& pod, std::string_view node_name) {
    if (pod == nullptr || (!nodes_may_come && state_->snapshot.find_node(node_name) < 0)) return;
    brings_new_terms = brings_new_terms || topology.brings_new_terms(*pod);
    if (!topology.known_moves(*pod)) unknown.push_back(pod);
  };
  for (const ClusterChange& change : changes) {
    const auto* node = std::get_if<NodeUpsert>(&change);
    const auto* removal = std::get_if<NodeRemoval>(&change);
    if (node != nullptr || removal != nullptr) {  // its pods count elsewhere, or nowhere, afterwards
      const std::string& name = node != nullptr ? node->node->name : removal->name;
      for (const PodPtr& pod : pods_on(name, When::kNow)) look_at(pod, name);
      continue;
    }
    if (const auto* nomination = std::get_if<NominationUpsert>(&change)) {
      look_at(nomination->pod, nomination->node_name);
      continue;
    }
    const auto* upsert = std::get_if<PodUpsert>(&change);
    if (upsert != nullptr) look_at(upsert->pod, upsert->pod->node_name);
    Standing opened;
    const Standing& standing =
        standing_of(upsert != nullptr ? upsert->pod->uid() : std::get<PodRemoval>(change).uid, opened);
    look_at(standing.pod, standing.node_name);
  }
  if (brings_new_terms) return false;
  if (unknown.empty()) return true;
  learn_moves(unknown, reading);
  return reading.is_live() && follow_new_columns(reading) && ensure_moves(changes, reading);
}

void OverlayFork::learn_moves(std::span<const PodPtr> unknown, Reading& reading) {
  reading.alone([&] {
    const InterruptionScope to_the_end(nullptr);
    for (const PodPtr& pod : unknown) state_->table.topology().moves_on_node(*pod);
  });
}

void OverlayFork::know(std::span<const PodPtr> pods) {
  on_overlay([&](Reading& reading) {
    const TopologyIndex& topology = state_->table.topology();
    std::vector<PodPtr> unknown;
    for (const PodPtr& pod : pods) {
      if (topology.brings_new_terms(*pod)) return true;  // the calls to come need an engine of their own
      if (!topology.known_moves(*pod)) unknown.push_back(pod);
    }
    if (!unknown.empty()) learn_moves(unknown, reading);
    return true;
  });
}

void OverlayFork::apply(std::span<const ClusterChange> changes) {
  check_fork_changes(changes);
  ForkStep step = std::vector<ClusterChange>(changes.begin(), changes.end());
  history_.make_room(1);
  const bool done =
      on_overlay([&](Reading& reading) { return ensure_moves(changes, reading) && follow_as_one(changes); });
  if (!done) engine().engine().apply(changes);
  history_.add(std::move(step));
  self_->note_change();
}

/// All of the changes, or none: then the next call, or this one, opens an engine.
bool OverlayFork::follow_as_one(std::span<const ClusterChange> changes) {
  state_->begin_call();
  try {
    if (follow(changes)) {
      state_->keep_call();
      return true;
    }
  } catch (...) {
    state_->take_back_call(true);
    throw;
  }
  state_->take_back_call(true);
  return false;
}

/// Of a pod.
void OverlayFork::apply_one(const ClusterChange& change) {
  if (const auto* nomination = std::get_if<NominationUpsert>(&change))
    return state_->nominations.set(nomination->pod, nomination->node_name, state_->table, state_->snapshot);
  const auto* upsert = std::get_if<PodUpsert>(&change);
  const std::string uid = upsert != nullptr ? upsert->pod->uid() : std::get<PodRemoval>(change).uid;
  leave(uid);
  if (upsert != nullptr && is_on_node(*upsert->pod)) stand(upsert->pod);
  state_->nominations.remove(uid);
}

void OverlayFork::leave(const std::string& uid) {
  Standing opened;
  const Standing& standing = standing_of(uid, opened);
  if (standing.pod == nullptr) return;
  change_node(standing, -1);
  own_pods_[uid] = {};
}

void OverlayFork::stand(const PodPtr& pod) {
  Standing& standing = own_pods_[pod->uid()];
  standing = {pod, pod->node_name, false};
  may_stray_ = may_stray_ || state_->snapshot.find_node(pod->node_name) < 0;
  change_node(standing, 1);
}

/// Pods on nodes without an object count nowhere.
void OverlayFork::change_node(const Standing& standing, int sign) {
  Snapshot& snapshot = state_->snapshot;
  const std::int32_t slot = snapshot.find_node(standing.node_name);
  if (slot < 0) return;
  const Pod& pod = *standing.pod;
  snapshot.apply(slot, state_->table.delta_of(pod), sign);
  if (const std::vector<HostPort> ports = wanted_host_ports(*pod.spec); !ports.empty())
    sign > 0 ? add_ports(snapshot.write_used_ports(slot), ports) : free_ports(snapshot.write_used_ports(slot), ports);
  snapshot.write_topology().add_all(*state_->table.topology().known_moves(pod), slot, sign);
  state_->log.append({slot, -1, 0});
  touched_.insert(slot);
}

}  // namespace berth
