// SPDX-License-Identifier: Apache-2.0
// What CommitState does between batches: prepared pods, what nobody needs any more, forks, and changes of the cluster.

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "batching/answer_changes.h"
#include "batching/commit_state.h"
#include "batching/evaluation.h"
#include "batching/overlay_fork.h"
#include "batching/verdicts.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

/// Slots that are added when none is free: few enough to cost little, enough that it seldom happens.
constexpr std::int32_t kSlotsAddedMin = 64;
constexpr std::int32_t kSlotsAddedShare = 8;

}  // namespace

// Prepared pods

void CommitState::keep(PodToPlace& pod) {
  if (pod.handle > 0 && pod.handle <= kept_pods_.size() && kept_pods_[pod.handle - 1].pod == pod.pod) return;
  if (free_handles_.empty()) {
    // Room for every handle is reserved here, so that releasing a pod allocates nothing.
    if (free_handles_.capacity() <= kept_pods_.size()) free_handles_.reserve(2 * kept_pods_.size() + 16);
    kept_pods_.emplace_back();
    pod.handle = static_cast<std::uint32_t>(kept_pods_.size());
  } else {
    pod.handle = free_handles_.back();
    free_handles_.pop_back();
  }
  kept_pods_[pod.handle - 1].pod = pod.pod;
  kept_pods_[pod.handle - 1].kept_in = call_;
  ++kept_in_call_;
}

void CommitState::let_go(PodToPlace& pod) noexcept {
  if (pod.handle == 0) return;
  KeptPod& kept = kept_pods_[pod.handle - 1];
  forget_prepared(kept);
  kept = {};
  free_handles_.push_back(pod.handle);
  pod.handle = 0;
  pod.class_index = -1;
}

void CommitState::compile(std::span<PodToPlace> pods) {
  try {
    all_or_nothing([&] { compile_now(pods); });
  } catch (...) {
    forget_handles(pods);
    throw;
  }
}

/// Handles that do not exist after a call that failed.
void CommitState::forget_handles(std::span<PodToPlace> pods) const noexcept {
  for (PodToPlace& pod : pods)
    if (pod.handle > 0 && (pod.handle > kept_pods_.size() || kept_pods_[pod.handle - 1].pod != pod.pod)) {
      pod.handle = 0;
      pod.class_index = -1;
    }
}

void CommitState::compile_now(std::span<PodToPlace> pods) {
  for (PodToPlace& pod : pods) keep(pod);
  const std::uint64_t columns = snapshot.resources_built();
  derives_ = true;
  table.compile(pods, not_folded());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    KeptPod& kept = kept_pods_[pods[i].handle - 1];
    kept.profile = pods[i].profile;
    kept.kind = table.kinds()[i];
    kept.class_index = pods[i].class_index;
    kept.compiled_at = pods[i].compiled_at;
  }
  if (snapshot.resources_built() == columns) return;
  nominations.refresh_deltas(table);
  // A new column contains the pods of the cluster; those placed since are in `answered` alone.
  for (const AnsweredPod& pod : not_folded()) {
    if (pod.node < 0) continue;
    ResourceDelta added;
    for (const auto& [column, amount] : table[pod.pod_class].delta.requested)
      if (snapshot.built_at(column) > columns) added.requested.emplace_back(column, amount);
    if (!added.requested.empty()) snapshot.add_requested(pod.node, added);
  }
}

void CommitState::refill(std::span<const PodToPlace> pods) {
  if (table.hosts().empty()) return;
  all_or_nothing([&] {
    std::vector<PodToPlace> renewed;
    const auto current = with_current_classes(pods, renewed);
    fold();  // plugins read placements in the cluster
    for (const PodToPlace& pod : current)
      if (pod.class_index >= 0) table.hosts().refill(table[pod.class_index].host);
  });
}

void CommitState::write_host_stats(BackendStats& stats) const {
  stats.host_columns = earlier.host_columns + table.hosts().stats().columns_filled;
  stats.host_nodes = earlier.host_nodes + table.hosts().stats().nodes_asked;
  stats.host_pods = host_pods;
  stats.host_stops = host_stops;
}

CommitState::RowsAfter CommitState::release(std::span<PodToPlace> pods) {
  settle();  // placements of these pods are known by their handles until then
  for (PodToPlace& pod : pods) let_go(pod);
  RowsAfter rows;
  derive([&] { sweep_if_due(rows); });
  return rows;
}

/// Frees compiled classes and profiles that are not in use any more, so that memory depends on the cluster and not on
/// its history.
void CommitState::sweep_if_due(RowsAfter& rows) {
  if (!table.is_sweep_due()) return;
  detach_forks();  // which read what has a number
  ClassTable::InUse in_use;
  std::vector<PodToPlace> prepared;
  for (std::size_t k = 0; k < kept_pods_.size(); ++k) {
    const KeptPod& kept = kept_pods_[k];
    if (kept.pod == nullptr) continue;
    in_use.topology.kinds.push_back(kept.kind);
    if (!kept.is_prepared) continue;
    prepared.push_back({kept.pod, kept.profile});
    prepared.back().handle = static_cast<std::uint32_t>(k + 1);
  }
  for (const AnsweredPod& pod : answered) in_use.classes.push_back(pod.pod_class);
  nominations.for_each_claimed([&](const Pod& pod) { in_use.topology.nominated.push_back(&pod); });
  for (const PodToPlace& pod : prepared) forget_prepared(kept_pods_[pod.handle - 1]);
  rows.dropped_classes = table.sweep(in_use);
  for (const std::int32_t pod_class : rows.dropped_classes) nomination_answers.forget(pod_class);
  rows.swept = true;
  reasons.clear();
  failure_of_class_.clear();
  nominations.refresh_deltas(table);
  compile(prepared);
  for (const PodToPlace& pod : prepared) note_prepared(pod);
}

std::span<const PodToPlace> CommitState::with_current_classes(std::span<const PodToPlace> pods,
                                                              std::vector<PodToPlace>& renewed) {
  if (std::none_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return table.is_stale(pod); })) return pods;
  renewed.assign(pods.begin(), pods.end());
  compile(renewed);
  return renewed;
}

void CommitState::prepare(std::span<PodToPlace> pods) {
  try {
    all_or_nothing([&] {
      compile_now(pods);
      refill(pods);
      for (const PodToPlace& pod : pods) {
        note_prepared(pod);
        if (pod.class_index < 0) continue;
        // The other one is for the node that the pod is nominated to, now or later.
        KeptPod& kept = kept_pods_[pod.handle - 1];
        kept.reads_open_side = table.node_side(pod.class_index).node_set() != nullptr;
        if (kept.reads_open_side) table.node_side(pod.class_index, NodeSet::kIgnored);
      }
      for (const PodToPlace& pod : pods) kept_pods_[pod.handle - 1].is_prepared = true;
    });
  } catch (...) {
    forget_handles(pods);
    throw;
  }
}

void CommitState::note_prepared(const PodToPlace& pod) {
  KeptPod& kept = kept_pods_[pod.handle - 1];
  forget_prepared(kept);
  if (pod.class_index < 0) return;
  ++prepared_pods_of_class_[pod.class_index];
  kept.prepared_class = pod.class_index;
}

void CommitState::forget_prepared(KeptPod& kept) {
  if (kept.prepared_class < 0) return;
  const auto at = prepared_pods_of_class_.find(kept.prepared_class);
  if (--at->second == 0) prepared_pods_of_class_.erase(at);
  kept.prepared_class = -1;
}

PodToPlace CommitState::current(const PodToPlace& pod) const {
  PodToPlace now = pod;
  if (!table.is_stale(pod) || pod.handle == 0 || pod.handle > kept_pods_.size()) return now;
  const KeptPod& kept = kept_pods_[pod.handle - 1];
  if (kept.pod != pod.pod || !kept.is_prepared) return now;
  now.class_index = kept.class_index;
  now.compiled_at = kept.compiled_at;
  return now;
}

bool CommitState::is_outdated(const PodToPlace& pod) const {
  if (pod.handle == 0 || pod.handle > kept_pods_.size()) return false;
  const KeptPod& kept = kept_pods_[pod.handle - 1];
  if (kept.pod != pod.pod || !kept.is_prepared) return false;
  const PodToPlace now = current(pod);
  if (table.is_stale(now)) return true;
  if (now.class_index >= 0 && !table.host_is_current(now.class_index)) return true;
  const auto is_missing = [&](NodeSet node_set) { return table.built_node_side(now.class_index, node_set) == nullptr; };
  return now.class_index >= 0 &&
         (is_missing(NodeSet::kNarrows) || (kept.reads_open_side && is_missing(NodeSet::kIgnored)));
}

void CommitState::keep_prepared(std::span<const PodToPlace> pods) {
  const auto needs_it = [&](const PodToPlace& pod) { return is_outdated(pod); };
  {
    const auto reading = shared();
    if (std::none_of(pods.begin(), pods.end(), needs_it)) return;
  }
  const Exclusive alone = exclusive();
  std::vector<PodToPlace> again;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(again), needs_it);
  prepare(again);
}

PodVerdicts CommitState::verdicts(const PodToPlace& pod) const {
  return verdicts_of_pod(current(pod), table, nominations, snapshot);
}

PodVerdicts CommitState::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return verdicts_of_pod_on(current(pod), nodes, table, nominations, snapshot);
}

AnswerChanges CommitState::answer_changes(const PodToPlace& pod, AnswerBasis& basis) const {
  return berth::answer_changes(current(pod), basis, {table, nominations, snapshot, log, reopened_});
}

std::vector<PodToPlace> CommitState::current(std::span<const PodToPlace> pods) const {
  std::vector<PodToPlace> now;
  now.reserve(pods.size());
  for (const PodToPlace& pod : pods) now.push_back(current(pod));
  return now;
}

DryRunResult CommitState::dry_run(const DryRunRequest& request, const ForBlocks& for_blocks) const {
  dry_runs_.fetch_add(static_cast<std::int64_t>(request.runs.size()), std::memory_order_relaxed);
  const std::vector<PodToPlace> preemptors = current(request.preemptors);
  const VictimMemoryOfCall memory(*this);
  return berth::dry_run({preemptors, request.lists, request.runs}, table, nominations, snapshot, memory.get(),
                        for_blocks);
}

std::vector<Status> CommitState::statuses_without_victims(const DryRunRequest& request,
                                                          const ForBlocks& for_blocks) const {
  const std::vector<PodToPlace> preemptors = current(request.preemptors);
  const VictimMemoryOfCall memory(*this);
  return berth::statuses_without_victims({preemptors, request.lists, request.runs}, table, nominations, snapshot,
                                         memory.get(), for_blocks);
}

Evaluation CommitState::evaluate(const PodToPlace& pod) {
  Evaluation evaluation;
  all_or_nothing([&] {
    PodToPlace compiled = pod;
    compile_now({&compiled, 1});
    refill({&compiled, 1});
    evaluation = evaluate_compiled(compiled);
    if (compiled.handle != pod.handle) let_go(compiled);  // it was kept for this call only
  });
  return evaluation;
}

Evaluation CommitState::evaluate_compiled(const PodToPlace& pod) {
  return evaluate_pod(pod, sides, nominations, snapshot);
}

/// At once, since a batch may be larger than all before it; at least twice as much, since many may be small.
void CommitState::make_room_for_answers(std::size_t pod_count) {
  if (answered.capacity() - answered.size() < pod_count)
    answered.reserve(std::max(answered.size() + pod_count, 2 * answered.capacity()));
}

bool CommitState::begin_cycle(std::size_t pod_count) {
  make_room_for_answers(pod_count);
  return std::exchange(order_changed_, false) && engine.tie_break == TieBreak::kFirst;
}

// Forks

std::unique_ptr<Fork> CommitState::open_fork(std::shared_ptr<const ForkParent> parent) {
  if (!not_folded().empty()) {
    const Exclusive alone = exclusive();
    fold();
  }
  return std::make_unique<OverlayFork>(fork_source_, std::move(parent));
}

void CommitState::note_guests() {
  guests.clear();
  reasons.clear();
  nomination_answers.forget_all();
}

std::vector<std::int32_t> CommitState::prepared_classes() const {
  std::vector<std::int32_t> classes;
  classes.reserve(prepared_pods_of_class_.size());
  for (const auto& [pod_class, pod_count] : prepared_pods_of_class_) classes.push_back(pod_class);
  return classes;
}

namespace {

/// Whether the change concerns more than pods and nominations.
bool concerns_forks(const ClusterChange& change, const EngineCluster& cluster) {
  if (const auto* upsert = std::get_if<NodeUpsert>(&change)) return !cluster.is_heartbeat(*upsert);
  return !std::holds_alternative<PodUpsert>(change) && !std::holds_alternative<PodRemoval>(change) &&
         !std::holds_alternative<NominationUpsert>(change);
}

}  // namespace

// When the cluster changes

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
    if (pod.node >= 0) cluster.assume(kept_pod(pod), nodes[static_cast<std::size_t>(pod.node)]->name);
  }
}

void CommitState::follow_pod(const PodChange& change) {
  const std::int32_t slot = snapshot.find_node(change.node);
  if (slot < 0) return;  // a ghost
  std::vector<std::string> resources;
  for (const PodPtr& pod : {change.before, change.after})
    if (pod != nullptr)
      for (const auto& [name, amount] : requested_on_node(*pod).scalars) resources.push_back(name);
  snapshot.change_pods(slot, *cluster.cache().find_node(change.node), resources);
  table.topology().change_pod(slot, change.before, change.after);
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
  const std::uint64_t recompiled_before = table.recompile_count();
  for (const ClusterChange& change : changes) {
    if (cluster.journal()->has_readers() && concerns_forks(change, cluster)) detach_forks();
    derive([&] { table.topology().begin_counting(); });
    const ClusterEffect effect = cluster.apply(change);
    const NominationChange nomination = change_nomination(effect);
    rows.any_change = rows.any_change || !effect.is_nothing();
    derive([&] {
      follow(effect, rows);
      follow(nomination);
      if (!effect.namespaces_changed || !table.change_namespace(effect.name_space)) return;
      nominations.rebuild(table, snapshot);
      rows.all_void = true;
    });
  }
  derive([&] {
    order_changed_ = snapshot.update_order(cluster.cache()) || order_changed_;
    rows.all_void = rows.all_void || table.recompile_count() != recompiled_before;
    if (rows.all_void || rows.groups_void) reasons.clear();
    sweep_if_due(rows);
  });
}

void CommitState::follow(const ClusterEffect& effect, RowsAfter& rows) {
  change_nodes(effect, rows);
  for (const PodChange& pod : effect.pods) follow_pod(pod);
  if (effect.selectors_changed || effect.namespaces_changed) table.hosts().note_all();
  if (effect.selectors_changed) table.topology().change_selectors(effect.name_space);
}

CommitState::NominationChange CommitState::change_nomination(const ClusterEffect& effect) {
  NominationChange change;
  const std::string uid = effect.nomination != nullptr ? effect.nomination->uid() : effect.nomination_ended;
  if (uid.empty()) return change;
  // What is known from outside counts from now on, also after a rollback.
  if (!nomination_lost_.empty()) renominated_.emplace_back(uid, answered.size());
  change.ended = nominations.let_go(uid);
  if (effect.nomination != nullptr) change.began = nominations.hold(effect.nomination, effect.nominated_node);
  return change;
}

void CommitState::follow(const NominationChange& change) {
  if (change.ended) nominations.give_up(*change.ended);
  if (change.began != nullptr) nominations.reserve(*change.began, table, snapshot);
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
  table.change_node(slot, parts, event);
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
