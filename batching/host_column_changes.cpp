// SPDX-License-Identifier: Apache-2.0
// What makes columns of plugins on the host stale.

#include <algorithm>
#include <utility>

#include "batching/host_columns.h"

namespace berth {

void HostColumns::note_slot(Changes& changes, std::int32_t slot) const {
  changes.slots.push_back(slot);
  // A column further behind than `kept` slots is filled again as a whole, because asking every node costs less.
  const std::size_t kept = static_cast<std::size_t>(snapshot_.slot_count()) + kUnusedRefusals;
  if (changes.slots.size() < 2 * kept) return;
  changes.begin += changes.slots.size() - kept;
  changes.slots.erase(changes.slots.begin(), changes.slots.end() - static_cast<std::ptrdiff_t>(kept));
}

/// Columns that do not skip have missed more than there is.
void HostColumns::note_everything(Changes& changes) {
  changes.begin = changes.end() + 1;
  changes.slots.clear();
}

void HostColumns::note_domain(Changes& changes, std::int32_t slot, const std::string& topology_key) const {
  const auto domain = snapshot_.node(slot).labels.find(topology_key);
  if (!domain) return note_slot(changes, slot);
  for (std::int32_t other = 0; other < snapshot_.slot_count(); ++other)
    if (snapshot_.has_node(other) && snapshot_.node(other).labels.find(topology_key) == domain)
      note_slot(changes, other);
}

/// The built-in plugins read the names and the volumes of pods on nodes.
bool HostColumns::are_alike(const Pod& a, const Pod& b) const {
  return registered_.empty() && a.name == b.name && a.namespace_ == b.namespace_ && a.stored_uid == b.stored_uid &&
         use_same_claims(a, b);
}

void HostColumns::note_pod(const Pod& pod, std::int32_t slot) {
  if (columns_.empty() || !concern(pod)) return;  // without a column the pod's memory, mostly a cache miss, is not read
  const HostQuery query{pod, cluster_.cache(), nullptr, nullptr, users_of_claims()};
  for (std::size_t p = 0; p < plugins_.size(); ++p)
    if (plugins_[p]->concerns(pod)) note_reach(p, query, slot, false);
}

bool HostColumns::note_placed(const Pod& pod, const HostSide& side, std::int32_t slot) {
  if (columns_.empty() || !concern(pod)) return false;
  if (forgot_users_) know_user(pod);  // else it is known since it was signed
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!plugins_[p]->concerns(pod) || std::find(side.unread.begin(), side.unread.end(), p) != side.unread.end())
      continue;
    note_reach(p, {pod, cluster_.cache(), side.claims_of(p), nullptr, users_of_claims()}, slot, true);
  }
  placed_on_[slot].push_back(&pod);
  if (!has_volumes(pod)) return false;
  placed_.insert(&pod);
  return true;
}

/// @param reserves_later  note_reserved() says which volumes the pod takes
void HostColumns::note_reach(std::size_t plugin, const HostQuery& query, std::int32_t slot, bool reserves_later) {
  Changes& changes = changes_[plugin];
  const HostReach reach = plugins_[plugin]->reach(query, snapshot_.node(slot));
  switch (reach.kind) {
    case HostReach::Kind::kNothing:
      break;
    case HostReach::Kind::kNode:
      note_slot(changes, slot);
      break;
    case HostReach::Kind::kDomain:
      note_domain(changes, slot, reach.topology_key);
      break;
    case HostReach::Kind::kVolumes:
      if (reserves_later) {
        changes.awaits_taken = true;
      } else {
        note_everything(changes);
      }
      break;
    case HostReach::Kind::kEverything:
      note_everything(changes);
      break;
  }
}

void HostColumns::note_reserved(const VolumeDecisions& decisions) {
  if (decisions.matches.empty()) return;
  for (std::size_t p = 0; p < plugins_.size(); ++p) {
    if (!plugins_[p]->takes_volumes()) continue;
    ++changes_[p].taken;
    if (memories_[p] == nullptr) continue;  // no column is filled
    for (const std::string& name : memories_[p]->take(decisions, cluster_.cache(), several_wait_))
      if (const std::int32_t slot = snapshot_.find_node(name); slot >= 0) note_slot(changes_[p], slot);
  }
}

void HostColumns::forget_placed() {
  placed_on_.clear();
  placed_.clear();
  for (Changes& changes : changes_) changes.awaits_taken = false;
}

bool HostColumns::forget_placed(const Pod& pod, std::int32_t slot) {
  const auto placed = placed_on_.find(slot);
  if (placed != placed_on_.end()) std::erase(placed->second, &pod);
  return placed_.erase(&pod) > 0;
}

void HostColumns::note_node(std::int32_t slot, bool came_or_went, bool moves_pods) {
  if (moves_pods) return note_all();
  for (const std::unique_ptr<HostMemory>& memory : memories_)
    if (memory != nullptr) memory->note_nodes();
  for (Changes& changes : changes_) {
    note_slot(changes, slot);
    if (came_or_went) ++changes.node_events;
  }
}

void HostColumns::note_all() {
  for (Changes& changes : changes_) ++changes.generation;
  for (std::unique_ptr<HostMemory>& memory : memories_) memory = nullptr;
}

/// Where users of claims alone are concerned, and these are known, columns of claims without names stay: they are asked
/// again of the nodes with such users.
void HostColumns::note_storage(const StorageReach& reach) {
  if (reach.is_wide || !knows_users_) {
    note_all();
    if (reach.is_wide) ++signatures_version_;  // else no pod with volumes was signed since drop_unused()
    return;
  }
  bool is_used = false;
  for (const std::string& claim : reach.claims)
    for (const std::string& uid : users_.of(claim)) {
      is_used = true;
      const NodeInfo* const node = cluster_.cache().node_of_pod(uid);
      if (node == nullptr) continue;
      for (const std::unique_ptr<HostMemory>& memory : memories_)
        if (memory != nullptr) memory->forget(*node);
      const std::int32_t slot = snapshot_.find_node(node->name);
      for (std::size_t p = 0; p < plugins_.size() && slot >= 0; ++p)
        if (plugins_[p]->reads_handles()) note_slot(changes_[p], slot);
    }
  if (!is_used) return;
  ++names_;
  ++signatures_version_;
}

void HostColumns::drop_unused() {
  unions_.clear();
  // Pods that were compiled are signed again, and are users then; others may have gone.
  users_.clear();
  knows_users_ = false;
  forgot_users_ = false;
  ++names_;
  ++signatures_version_;
  std::erase_if(columns_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace berth
