// SPDX-License-Identifier: Apache-2.0
// Changes of the cluster, as CommitState follows them.

#include <algorithm>
#include <cstddef>

#include "batching/commit_state.h"
#include "host/cluster/pod_footprint.h"
#include "host/objects/interruption.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

/// Slots that are added when none is free: few enough to cost little, enough that it seldom happens.
constexpr std::int32_t kSlotsAddedMin = 64;
constexpr std::int32_t kSlotsAddedShare = 8;

/// A call with fewer changes is not interrupted.
constexpr std::size_t kChangesBetweenLooks = 512;

/// Whether the change concerns more than pods and nominations.
bool concerns_forks(const ClusterChange& change, const EngineCluster& cluster) {
  if (const auto* upsert = std::get_if<NodeUpsert>(&change)) return !cluster.is_heartbeat(*upsert);
  return !std::holds_alternative<PodUpsert>(change) && !std::holds_alternative<PodRemoval>(change) &&
         !std::holds_alternative<NominationUpsert>(change);
}

/// Changes of so many pods and new nodes, and so many for each slot, are a load: opening the state again costs less
/// than to follow them one by one.
constexpr std::size_t kLoadMin = 4096;
constexpr std::size_t kLoadOfSlot = 4;

bool is_load(std::span<const ClusterChange> changes, const EngineCluster& cluster, std::int32_t slots) {
  const std::size_t least = std::max(kLoadMin, kLoadOfSlot * static_cast<std::size_t>(slots));
  if (changes.size() < least) return false;
  const auto is_followed = [&](const ClusterChange& change) {
    if (const auto* const upsert = std::get_if<NodeUpsert>(&change)) {
      const NodeInfo* const known = cluster.cache().find_node(upsert->node->name);
      return known == nullptr || known->node == nullptr;
    }
    return std::holds_alternative<PodUpsert>(change) || std::holds_alternative<PodRemoval>(change);
  };
  return static_cast<std::size_t>(std::count_if(changes.begin(), changes.end(), is_followed)) >= least;
}

/// Rules on numbers read the same of both where they stand on one node. A pod with host ports may free those of others
/// when it changes: docs/behaviour/plugins-node.md 9.
bool count_alike(const Pod& a, const Pod& b) {
  return surely_have_same_footprint(a, b) && a.terminating == b.terminating && a.namespace_ == b.namespace_ &&
         a.labels == b.labels && wanted_host_ports(*a.spec).empty();
}

}  // namespace

void CommitState::fold() {
  if (not_folded().empty()) return;
  const std::size_t first = folded_;
  derives_ = true;
  try {
    assume_placed();
    if (!is_void()) table.topology().take_over(std::span(answered).subspan(first));
  } catch (...) {
    set_void();  // which pods are folded is right in any case, and cannot be seen
    throw;
  }
}

/// Of fold() what the cluster knows of it.
void CommitState::assume_placed() {
  const std::span<const NodePtr> nodes = snapshot.nodes_by_slot();
  for (; folded_ < answered.size(); ++folded_) {
    const AnsweredPod& pod = answered[folded_];
    if (pod.node < 0) continue;
    const std::string& node_name = nodes[static_cast<std::size_t>(pod.node)]->name;
    const KeptPod& kept = kept_pods_[pod.handle];
    const Profile& profile = config.profiles[static_cast<std::size_t>(kept.profile)];
    VolumeDecisionsPtr decisions = table.hosts().reserve(*kept.pod, profile, table[pod.pod_class].host, node_name);
    if (decisions != nullptr || is_journal_full()) detach_forks();
    cluster.assume(kept.pod, node_name, decisions);
    if (own_table_ != nullptr && decisions != nullptr) table.hosts().note_reserved(*decisions);
  }
  if (own_table_ != nullptr) table.hosts().forget_placed();
}

void CommitState::follow_pod(const PodChange& change) {
  const bool is_one = change.before != nullptr && change.after != nullptr;
  const bool asks_hosts = !is_one || !table.hosts().are_alike(*change.before, *change.after);
  // Mostly its binding is confirmed, or its status changes: no row has to ask the node again.
  if (!asks_hosts && count_alike(*change.before, *change.after)) return;
  const Pod& changed = change.before != nullptr ? *change.before : *change.after;
  if (has_volumes(changed) && !is_one) table.topology().advance_epoch();
  const std::int32_t slot = snapshot.find_node(change.node);
  if (slot < 0) return;  // a ghost
  std::vector<std::string> resources;
  for (const PodPtr& pod : {change.before, change.after})
    if (pod != nullptr)
      for (const auto& [name, amount] : requested_on_node(*pod).scalars) resources.push_back(name);
  snapshot.change_pods(slot, *cluster.cache().find_node(change.node), resources);
  table.topology().change_pod(slot, change.before, change.after);
  if (asks_hosts)
    for (const PodPtr& pod : {change.before, change.after})
      if (pod != nullptr) note_for_hosts(*pod, slot);
  log.append({slot, -1, 0});
}

CommitState::RowsAfter CommitState::apply(std::span<const ClusterChange> changes) {
  RowsAfter rows;
  all_or_nothing([&] { apply_changes(changes, rows); });
  return rows;
}

void CommitState::apply_changes(std::span<const ClusterChange> changes, RowsAfter& rows) {
  fold();
  if (depth_ == 1 && is_load(changes, cluster, snapshot.slot_count())) {
    detach_forks();
    cluster.begin_load();
    set_void();
  }
  const std::uint64_t recompiled_before = table.recompile_count();
  const Interruption* const interruption = current_interruption();
  std::size_t begun = 0;
  for (const ClusterChange& change : changes) {
    if (begun++ % kChangesBetweenLooks == kChangesBetweenLooks - 1) check_interruption(interruption);
    if (cluster.journal()->has_readers() && (concerns_forks(change, cluster) || is_journal_full())) detach_forks();
    derive([&] { table.topology().begin_counting(); });
    const ClusterEffect effect = cluster.apply(change);
    const NominationChange nomination = change_nomination(effect);
    rows.any_change = rows.any_change || !effect.is_nothing();
    derive([&] {
      follow(effect, rows);
      follow(nomination);
      if (!effect.namespaces_changed) return;
      const bool counts_moved = table.topology().change_namespace(effect.name_space);
      nominations.change_namespace(effect.name_space, counts_moved);
      rows.counts_moved = counts_moved || rows.counts_moved;
    });
  }
  derive([&] {
    order_changed_ = snapshot.update_order(cluster.cache()) || order_changed_;
    rows.all_void = rows.all_void || table.recompile_count() != recompiled_before;
    if (rows.all_void || rows.groups_void || rows.counts_moved) reasons.clear();
    sweep_if_due(rows);
  });
}

bool CommitState::undo(const Pod& pod, const NominationUpsert* nomination) {
  bool is_undone = false;
  all_or_nothing([&] {
    fold();
    const std::optional<PodChange> change = forget(pod);
    is_undone = change.has_value();
    if (change) derive([&] { follow_pod(*change); });
    if (!is_undone || nomination == nullptr) return;
    ClusterEffect effect;
    effect.nomination = nomination->pod;
    effect.nominated_node = nomination->node_name;
    const NominationChange renominated = change_nomination(effect);
    derive([&] { follow(renominated); });
  });
  return is_undone;
}

void CommitState::follow(const ClusterEffect& effect, RowsAfter& rows) {
  change_nodes(effect, rows);
  for (const PodChange& pod : effect.pods) {
    follow_pod(pod);
    if (pod.before != nullptr && pod.after != nullptr && use_same_claims(*pod.before, *pod.after)) continue;
    if (pod.before != nullptr) table.hosts().forget_user(*pod.before);
    if (pod.after != nullptr) table.note_user(*pod.after);
  }
  if (effect.selectors_changed || effect.namespaces_changed) table.hosts().note_all();
  if (effect.storage_changed) table.note_storage(effect.storage);
  if (effect.selectors_changed) table.topology().change_selectors(effect.selectors);
}

CommitState::NominationChange CommitState::change_nomination(const ClusterEffect& effect) {
  NominationChange change;
  const std::string uid = effect.nomination != nullptr ? effect.nomination->uid() : effect.nomination_ended;
  if (uid.empty()) return change;
  // What is known from outside counts from now on, also after a rollback.
  if (!nomination_lost_.empty()) renominated_.emplace_back(uid, answered.size());
  change.ended = nominations.release(uid);
  if (effect.nomination != nullptr) {
    change.began = nominations.hold(effect.nomination, effect.nominated_node);
    derive([&] { table.know_user(*effect.nomination); });
  }
  return change;
}

void CommitState::follow(const NominationChange& change) {
  if (change.ended) nominations.give_up(*change.ended);
  if (change.began == nullptr) return;
  nominations.reserve(*change.began, table, snapshot);
  if (own_table_ != nullptr) table.distrust_shared_handles();
}

void CommitState::change_nodes(const ClusterEffect& effect, RowsAfter& rows) {
  using Event = ClusterEffect::Node;
  if (effect.node == Event::kNone || (effect.node == Event::kChanged && effect.parts.empty())) return;
  const NodeInfo* info = cluster.cache().find_node(effect.node_name);
  if (effect.node == Event::kAdded) return add_node(*info, rows);
  const std::int32_t slot = snapshot.find_node(effect.node_name);
  if (effect.node == Event::kRemoved) {
    note_slot(slot);
    nominations.leave_node(slot);
    note_node_for_hosts(slot, effect.node_name, NodeParts::all(), true);
    snapshot.remove_node(slot, cluster.cache());
    return follow_node(slot, NodeParts::all(), ClassTable::NodeEvent::kCameOrWent, rows);
  }
  snapshot.change_node(slot, *info, effect.parts, cluster.cache());
  note_node_for_hosts(slot, effect.node_name, effect.parts, false);
  follow_node(slot, effect.parts, ClassTable::NodeEvent::kChanged, rows);
}

void CommitState::note_node_for_hosts(std::int32_t slot, const std::string& name, NodeParts parts, bool came_or_went) {
  const NodeInfo* const info = cluster.cache().find_node(name);  // a ghost keeps its pods
  const bool moves_pods = info != nullptr && !info->pods.empty() && parts.contains(NodePart::kLabels);
  table.hosts().note_node(slot, came_or_went, moves_pods);
}

void CommitState::add_node(const NodeInfo& info, RowsAfter& rows) {
  const bool is_full = snapshot.next_free_slot() < 0;
  if (is_full) snapshot.add_slots(std::max(kSlotsAddedMin, snapshot.slot_count() / kSlotsAddedShare));
  note_slot(snapshot.next_free_slot());
  const std::int32_t slot = snapshot.add_node(info, cluster.cache());
  if (is_full) {
    recompile();
    rows.all_void = true;
  }
  note_node_for_hosts(slot, info.name, NodeParts::all(), true);
  follow_node(slot, NodeParts::all(), ClassTable::NodeEvent::kCameOrWent, rows);
  nominations.enter_node(slot, table, snapshot);
}

/// Everything that depends on the columns of a node that changed.
void CommitState::follow_node(std::int32_t slot, NodeParts parts, ClassTable::NodeEvent event, RowsAfter& rows) {
  const bool came_or_went = event == ClassTable::NodeEvent::kCameOrWent;
  const bool is_moved = table.topology().move_node(slot);
  if (came_or_went) table.topology().change_pods(slot);
  const std::uint64_t recompiled_before = table.recompile_count();
  table.change_node(slot, parts, event);
  // A resource has a column now that had none, which nominated pods may ask for.
  if (table.recompile_count() != recompiled_before) nominations.refresh_deltas(table);
  log.append({slot, -1, 0});
  rows.changed_nodes.push_back({slot, parts});
  rows.groups_void = rows.groups_void || is_moved || came_or_went || !parts.are_load();
}

/// The number of slots changed.
void CommitState::recompile() {
  table.recompile();
  table.topology().rebuild();
  nominations.rebuild(table, snapshot);
  keep_log(log_entries_min_);
}

}  // namespace berth
