// SPDX-License-Identifier: Apache-2.0
// Pods that CommitState knows by a handle: compiled, prepared and released, and the sweep of classes that no pod uses.

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "batching/commit_state.h"
#include "batching/unknown_pod.h"

namespace berth {

void CommitState::compile(std::span<PodToPlace> pods) {
  try {
    all_or_nothing([&] { compile_now(pods); });
  } catch (...) {
    kept_pods_.forget_handles(pods);
    throw;
  }
}

void CommitState::compile_now(std::span<PodToPlace> pods) {
  for (PodToPlace& pod : pods) kept_pods_.keep(pod);
  const std::uint64_t columns = snapshot.resources_built();
  derives_ = true;
  table.compile(pods, not_folded());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    KeptPod& kept = kept_pods_[pods[i].handle];
    kept.profile = pods[i].profile;
    kept.kind = table.kinds()[i];
    kept.kind_version = table.topology().version_of_kind(kept.kind);
    table.take_over_node_sides(kept.class_index, pods[i].class_index);
    kept.class_index = pods[i].class_index;
    kept.compiled_at = pods[i].compiled_at;
    kept.signed_at = table.signed_at()[i];
    kept.signed_as_placed = table.hosts().is_placed(*pods[i].pod);
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
  if (std::none_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return table.hosts().concern(*pod.pod); }))
    return;
  all_or_nothing([&] {
    std::vector<PodToPlace> renewed;
    fold();  // plugins read placements in the cluster
    std::uint64_t signed_at = 0;
    do {
      signed_at = table.hosts().signatures_version();
      for (const PodToPlace& pod : with_current_classes(pods, renewed))
        if (pod.class_index >= 0) table.refill_hosts(pod.class_index);
    } while (signed_at != table.hosts().signatures_version());
  });
}

/// What plugins on the host read of the pod changes when it has a node.
void CommitState::note_placed(const PodToPlace& pod, std::int32_t node) {
  if (own_table_ != nullptr && table.hosts().note_placed(*pod.pod, table[pod.class_index].host, node))
    table.topology().advance_epoch();
}

/// Pods that are nominated when the engine is opened may use claims, too.
void CommitState::know_nominated() {
  for (const NominationUpsert& nomination : nominations.all()) table.know_user(*nomination.pod);
  if (!nominations.empty()) table.distrust_shared_handles();
}

void CommitState::write_host_stats(BackendStats& stats) const {
  stats.host_columns = earlier.host_columns + table.hosts().stats().columns_filled;
  stats.host_nodes = earlier.host_nodes + table.hosts().stats().nodes_asked;
  stats.host_pods = host_pods;
  stats.host_stops = host_stops;
}

CommitState::RowsAfter CommitState::release(std::span<PodToPlace> pods) {
  settle();  // placements of these pods are known by their handles until then
  for (PodToPlace& pod : pods) kept_pods_.release(pod);
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
  kept_pods_.for_each([&](std::uint32_t handle, const KeptPod& kept) {
    in_use.topology.kinds.push_back(kept.kind);
    if (!kept.is_prepared) return;
    prepared.push_back({kept.pod, kept.profile});
    prepared.back().handle = handle;
  });
  for (const AnsweredPod& pod : answered) in_use.classes.push_back(pod.pod_class);
  nominations.for_each_claimed([&](const Pod& pod) { in_use.topology.nominated.push_back(&pod); });
  for (const PodToPlace& pod : prepared) kept_pods_.forget_prepared(pod.handle);
  rows.dropped_classes = table.sweep(in_use);
  know_nominated();
  for (const std::int32_t pod_class : rows.dropped_classes) nomination_answers.forget(pod_class);
  rows.swept = true;
  reasons.clear();
  classes_in_batch_.clear();
  nominations.refresh_deltas(table);
  compile(prepared);
  for (const PodToPlace& pod : prepared) kept_pods_.note_prepared(pod);
}

/// Compiling such a pod here would give it a handle that its owner does not get and cannot release.
void CommitState::check_compiled(std::span<const PodToPlace> pods) const {
  for (const PodToPlace& pod : pods)
    if (!kept_pods_.has_handle(pod)) throw_not_compiled(*pod.pod);
}

std::span<const PodToPlace> CommitState::with_current_classes(std::span<const PodToPlace> pods,
                                                              std::vector<PodToPlace>& renewed) {
  check_compiled(pods);
  if (std::none_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return table.is_stale(pod); })) return pods;
  renewed.assign(pods.begin(), pods.end());
  make_current(renewed);
  return renewed;
}

void CommitState::make_current(std::span<PodToPlace> pods) {
  std::vector<PodToPlace> again;
  std::vector<std::size_t> positions;
  // What a stale pod brings may concern those that were compiled before.
  do {
    again.clear();
    positions.clear();
    for (std::size_t i = 0; i < pods.size(); ++i) {
      if (!table.is_stale(pods[i])) continue;
      pods[i] = current(pods[i]);
      if (!table.is_stale(pods[i])) {
        kept_pods_[pods[i].handle].compiled_at = pods[i].compiled_at;  // so that nobody looks again
        continue;
      }
      again.push_back(pods[i]);
      positions.push_back(i);
    }
    if (!again.empty()) compile(again);
    for (std::size_t k = 0; k < again.size(); ++k) pods[positions[k]] = again[k];
  } while (!again.empty());
}

void CommitState::prepare(std::span<PodToPlace> pods) {
  try {
    all_or_nothing([&] {
      compile_now(pods);
      refill(pods);
      for (PodToPlace& pod : pods) {
        pod = current(pod);
        kept_pods_.note_prepared(pod);
        if (pod.class_index < 0) continue;
        // The other one is for the node that the pod is nominated to, now or later.
        KeptPod& kept = kept_pods_[pod.handle];
        kept.reads_open_side = table.node_side(pod.class_index).node_set() != nullptr;
        if (kept.reads_open_side) table.node_side(pod.class_index, NodeSet::kIgnored);
      }
      for (const PodToPlace& pod : pods) kept_pods_[pod.handle].is_prepared = true;
    });
  } catch (...) {
    kept_pods_.forget_handles(pods);
    throw;
  }
}

PodToPlace CommitState::current(const PodToPlace& pod) const {
  PodToPlace now = pod;
  if (!table.is_stale(pod)) return now;
  const KeptPod* const kept = kept_pods_.find(pod);
  if (kept == nullptr || kept->profile != pod.profile) return now;
  now.class_index = kept->class_index;
  now.compiled_at = kept->compiled_at;
  const TopologyIndex::CompiledPod compiled{kept->kind, kept->profile, kept->kind_version, kept->compiled_at};
  if (table.topology().is_current(*kept->pod, compiled) &&
      table.is_signed_alike(*kept->pod, kept->signed_at, kept->signed_as_placed))
    now.compiled_at = table.topology().epoch();
  return now;
}

void CommitState::check_prepared(const PodToPlace& pod) const {
  const KeptPod* const kept = kept_pods_.find(pod);
  if (kept == nullptr || !kept->is_prepared) throw_not_prepared(*pod.pod);
}

std::vector<PodToPlace> CommitState::prepared(std::span<const PodToPlace> pods) const {
  std::vector<PodToPlace> now;
  now.reserve(pods.size());
  for (const PodToPlace& pod : pods) {
    check_prepared(pod);
    now.push_back(current(pod));
  }
  return now;
}

bool CommitState::is_outdated(const PodToPlace& pod) const {
  const KeptPod* const kept = kept_pods_.find(pod);
  if (kept == nullptr || !kept->is_prepared) return false;
  const PodToPlace now = current(pod);
  if (table.is_stale(now)) return true;
  if (now.class_index >= 0 && !table.host_is_current(now.class_index)) return true;
  const auto is_missing = [&](NodeSet node_set) { return table.built_node_side(now.class_index, node_set) == nullptr; };
  return now.class_index >= 0 &&
         (is_missing(NodeSet::kNarrows) || (kept->reads_open_side && is_missing(NodeSet::kIgnored)));
}

bool CommitState::any_outdated(std::span<const PodToPlace> pods) const {
  return std::any_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return is_outdated(pod); });
}

void CommitState::keep_prepared(std::span<const PodToPlace> pods) {
  constexpr int kRounds = 8;  // what one pod brings may concern the others, seldom more than once
  for (int round = 0; round < kRounds; ++round) {
    std::vector<PodToPlace> again;
    std::copy_if(pods.begin(), pods.end(), std::back_inserter(again),
                 [&](const PodToPlace& pod) { return is_outdated(pod); });
    if (again.empty()) return;
    prepare(again);
  }
}

}  // namespace berth
