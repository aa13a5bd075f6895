// SPDX-License-Identifier: Apache-2.0
#include "batching/nominations.h"

#include <algorithm>

#include "batching/node_filter.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// The pods whose nomination the queue records when they are added: terminating ones too (they are skipped when they
/// are popped), but not gated ones or those of other schedulers.
bool may_be_nominated(const Pod& pod, const SchedulerConfig& config) {
  return is_pending(pod) && pod.rare().scheduling_gates.empty() &&
         config.find_profile(pod.spec->scheduler_name) != nullptr;
}

}  // namespace

Nominations::Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
                         ClassTable& table)
    : config_(config), topology_(table.topology()) {
  for (const PodPtr& pod : objects.pods)
    if (pod->rare_fields != nullptr) set(pod, pod->rare().nominated_node_name, table, snapshot);
}

void Nominations::set(const PodPtr& pod, const std::string& node_name, ClassTable& table, const Snapshot& snapshot) {
  remove(*pod);
  if (node_name.empty() || !may_be_nominated(*pod, config_)) return;
  held_.push_back({pod, node_name});
  claim(held_.back(), table, snapshot);
}

void Nominations::rebuild(ClassTable& table, const Snapshot& snapshot) {
  on_node_.clear();
  node_of_uid_.clear();
  for (const Held& held : held_) claim(held, table, snapshot);
}

void Nominations::claim(const Held& held, ClassTable& table, const Snapshot& snapshot) {
  const std::int32_t slot = snapshot.find_node(held.node_name);
  if (slot < 0) return;
  topology_.note_terms(*held.pod);
  on_node_[slot].push_back({held.pod, table.delta_of(*held.pod), wanted_host_ports(*held.pod->spec)});
  node_of_uid_[held.pod->uid()] = slot;
}

void Nominations::enter_node(std::int32_t slot, ClassTable& table, const Snapshot& snapshot) {
  for (const Held& held : held_)
    if (held.node_name == snapshot.node(slot).name && !node_of_uid_.contains(held.pod->uid()))
      claim(held, table, snapshot);
}

void Nominations::leave_node(std::int32_t slot) {
  const auto here = on_node_.find(slot);
  if (here == on_node_.end()) return;
  for (const Nominated& nominated : here->second) node_of_uid_.erase(nominated.pod->uid());
  on_node_.erase(here);
}

std::int32_t Nominations::node_of(const Pod& pod) const {
  if (node_of_uid_.empty()) return -1;
  const auto at = node_of_uid_.find(pod.uid());
  return at == node_of_uid_.end() ? -1 : at->second;
}

std::optional<std::string> Nominations::remove(std::string_view uid) {
  const auto held = std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.pod->uid() == uid; });
  if (held == held_.end()) return std::nullopt;
  std::string node_name = std::move(held->node_name);
  held_.erase(held);
  const auto claimed = node_of_uid_.find(uid);
  if (claimed == node_of_uid_.end()) return node_name;
  std::vector<Nominated>& here = on_node_[claimed->second];
  std::erase_if(here, [&](const Nominated& nominated) { return nominated.pod->uid() == uid; });
  if (here.empty()) on_node_.erase(claimed->second);
  node_of_uid_.erase(claimed);
  return node_name;
}

std::vector<NominationUpsert> Nominations::all() const {
  std::vector<NominationUpsert> all;
  for (const Held& held : held_) all.push_back({held.pod, held.node_name});
  return all;
}

bool Nominations::counts_against(const Pod& nominated, const Pod& pod) {
  return nominated.priority >= pod.priority && nominated.uid() != pod.uid();
}

bool Nominations::any_against(const Pod& pod, std::int32_t node) const {
  const auto here = on_node_.find(node);
  return here != on_node_.end() && std::any_of(here->second.begin(), here->second.end(),
                                               [&](const Nominated& n) { return counts_against(*n.pod, pod); });
}

std::vector<std::int32_t> Nominations::nodes_against(const Pod& pod) const {
  std::vector<std::int32_t> nodes;
  for (const auto& [node, here] : on_node_)
    if (any_against(pod, node)) nodes.push_back(node);
  return nodes;
}

void Nominations::add_against(const Pod& pod, const PodClass& pod_class, bool affinity_skips,
                              NodeOverlay& overlay) const {
  for (const Nominated& nominated : on_node_.at(overlay.node())) {
    if (!counts_against(*nominated.pod, pod)) continue;
    std::vector<CountMove> moves;
    if (pod_class.topology != nullptr) moves = topology_.effect(*nominated.pod, *pod_class.topology, !affinity_skips);
    overlay.add({nominated.delta, nominated.ports, moves});
  }
}

std::optional<Nominations::CrowdedNode> Nominations::crowded(const Pod& pod, const PodClass& pod_class,
                                                             const Snapshot& snapshot, std::int32_t node) const {
  if (!any_against(pod, node)) return std::nullopt;
  CrowdedNode crowded{NodeOverlay(snapshot), affinity_pre_filter_skips(pod_class, snapshot)};
  crowded.overlay.read_for(pod_class);
  crowded.overlay.reset(node);
  add_against(pod, pod_class, crowded.affinity_skips, crowded.overlay);
  return crowded;
}

Status Nominations::filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class,
                                               const CompiledProfile& profile, const NodeSideRow& row,
                                               const Snapshot& snapshot, std::int32_t node) const {
  if (const auto first = crowded(pod, pod_class, snapshot, node)) {
    Status status = filter_node(pod_class, profile, row, first->overlay, first->affinity_skips);
    if (!status.ok()) return status;
  }
  return filter_node(pod_class, profile, row, snapshot, node);
}

NodeVerdict Nominations::judge_with_nominated_pods(const Pod& pod, const PodClass& pod_class,
                                                   const CompiledProfile& profile, const NodeSideRow& row,
                                                   const Snapshot& snapshot, std::int32_t node) const {
  if (const auto first = crowded(pod, pod_class, snapshot, node)) {
    const NodeVerdict verdict = judge_node(pod_class, profile, row, first->overlay, first->affinity_skips);
    if (!verdict.accepts()) return verdict;
  }
  return judge_node(pod_class, profile, row, snapshot, node);
}

void Nominations::refresh_deltas(ClassTable& table) {
  for (auto& [node, here] : on_node_)
    for (Nominated& nominated : here) nominated.delta = table.delta_of(*nominated.pod);
}

}  // namespace berth
