// SPDX-License-Identifier: Apache-2.0
#include "batching/nominations.h"

#include <algorithm>

#include "batching/node_filter.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// The pods whose nomination the queue takes up when it sees them first: terminating ones too (they are skipped only
/// when they are popped), but no gated ones and none of other schedulers.
bool holds_nomination(const Pod& pod, const SchedulerConfig& config) {
  const PodRare& rare = pod.rare();
  return is_pending(pod) && !rare.nominated_node_name.empty() && rare.scheduling_gates.empty() &&
         config.find_profile(pod.spec->scheduler_name) != nullptr;
}

}  // namespace

Nominations::Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
                         ClassTable& table)
    : topology_(table.topology()) {
  for (const PodPtr& pod : objects.pods)
    if (pod->rare_fields != nullptr && holds_nomination(*pod, config)) restore(pod, table, snapshot);
}

void Nominations::restore(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot) {
  held_.push_back(pod);
  claim(pod, table, snapshot);
}

void Nominations::rebuild(ClassTable& table, const Snapshot& snapshot) {
  on_node_.clear();
  node_of_uid_.clear();
  for (const PodPtr& pod : held_) claim(pod, table, snapshot);
}

void Nominations::claim(const PodPtr& pod, ClassTable& table, const Snapshot& snapshot) {
  const std::int32_t node = snapshot.find_node(pod->rare().nominated_node_name);
  if (node < 0) return;
  topology_.note_terms(*pod);
  on_node_[node].push_back({pod, table.delta_of(*pod), wanted_host_ports(*pod->spec)});
  node_of_uid_[pod->uid()] = node;
}

std::int32_t Nominations::node_of(const Pod& pod) const {
  if (pod.rare_fields == nullptr) return -1;
  const auto at = node_of_uid_.find(pod.uid());
  return at == node_of_uid_.end() ? -1 : at->second;
}

bool Nominations::remove(const Pod& pod) {
  if (pod.rare_fields == nullptr || pod.rare().nominated_node_name.empty()) return false;
  if (std::erase_if(held_, [&](const PodPtr& held) { return held->uid() == pod.uid(); }) == 0) return false;
  const std::int32_t node = node_of(pod);
  if (node < 0) return true;
  node_of_uid_.erase(pod.uid());
  std::vector<Nominated>& here = on_node_[node];
  std::erase_if(here, [&](const Nominated& nominated) { return nominated.pod->uid() == pod.uid(); });
  if (here.empty()) on_node_.erase(node);
  return true;
}

bool Nominations::counts_against(const Pod& nominated, const Pod& pod) {
  return nominated.priority >= pod.priority && nominated.uid() != pod.uid();
}

std::vector<std::int32_t> Nominations::nodes_against(const Pod& pod) const {
  std::vector<std::int32_t> nodes;
  for (const auto& [node, here] : on_node_)
    if (std::any_of(here.begin(), here.end(), [&](const Nominated& n) { return counts_against(*n.pod, pod); }))
      nodes.push_back(node);
  return nodes;
}

std::vector<CountMove> Nominations::topology_moves(const Pod& pod, const PodClass& pod_class,
                                                   const std::vector<Nominated>& here, bool affinity_skips) const {
  std::vector<CountMove> moves;
  if (pod_class.topology == nullptr) return moves;
  for (const Nominated& nominated : here) {
    if (!counts_against(*nominated.pod, pod)) continue;
    const auto more = topology_.overlay(*nominated.pod, *pod_class.topology, !affinity_skips);
    moves.insert(moves.end(), more.begin(), more.end());
  }
  return moves;
}

/// The first pass: everybody nominated to the node who counts against the pod is there.
Status Nominations::filter_with_added_pods(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                           const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const {
  const std::vector<Nominated>& here = on_node_.at(node);
  const bool affinity_skips =
      pod_class.topology != nullptr && affinity_pre_filter_skips(*pod_class.topology, snapshot.topology());
  const std::vector<CountMove> moves = topology_moves(pod, pod_class, here, affinity_skips);
  const std::vector<HostPort> ports_before = snapshot.used_ports(node);
  const auto apply_all = [&](int sign) {
    for (const Nominated& nominated : here)
      if (counts_against(*nominated.pod, pod)) snapshot.apply(node, nominated.delta, sign);
    snapshot.write_topology().add_all(moves, node, sign);
  };
  apply_all(1);
  for (const Nominated& nominated : here)
    if (counts_against(*nominated.pod, pod)) {
      std::vector<HostPort>& used = snapshot.write_used_ports(node);
      used.insert(used.end(), nominated.ports.begin(), nominated.ports.end());
    }
  Status crowded = filter_node(pod_class, profile, row, snapshot, node, affinity_skips);
  apply_all(-1);
  if (snapshot.used_ports(node) != ports_before) snapshot.write_used_ports(node) = ports_before;
  return crowded;
}

Status Nominations::filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class,
                                               const CompiledProfile& profile, const NodeSideRow& row,
                                               Snapshot& snapshot, std::int32_t node) const {
  if (on_node_.contains(node)) {
    Status crowded = filter_with_added_pods(pod, pod_class, profile, row, snapshot, node);
    if (!crowded.ok()) return crowded;
  }
  return filter_node(pod_class, profile, row, snapshot, node);
}

Status Nominations::filter_own_nominated_node(const Pod& pod, const PodClass& pod_class, const CompiledProfile& profile,
                                              const NodeSideRow& row, Snapshot& snapshot, std::int32_t node) const {
  if (!row.is_outside_node_set(node)) return filter_with_nominated_pods(pod, pod_class, profile, row, snapshot, node);
  const NodeSideRow open_row = build_node_side_row(
      compile_node_side({*pod_class.spec, pod_class.node_name, NodeSet::kIgnored}, profile, snapshot), *pod_class.spec,
      profile, snapshot);
  return filter_with_nominated_pods(pod, pod_class, profile, open_row, snapshot, node);
}

void Nominations::refresh_deltas(ClassTable& table) {
  for (auto& [node, here] : on_node_)
    for (Nominated& nominated : here) nominated.delta = table.delta_of(*nominated.pod);
}

}  // namespace berth
