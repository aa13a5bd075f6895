// SPDX-License-Identifier: Apache-2.0
// What events of the cluster change of a TopologyIndex.

#include <algorithm>
#include <iterator>
#include <utility>

#include "batching/topology_index.h"

namespace berth {
namespace {

/// Of a pod. Empty where default spreading reads no controller of it.
std::string controller_in_cluster(const std::string& name_space, const std::vector<OwnerReference>* owners) {
  const std::string key = controller_key(owners);
  return key.empty() ? key : name_space + "/" + key;
}

/// Changed workloads that are remembered one by one; with more of them all pods are compiled again.
constexpr std::size_t kWorkloadChangesMax = 4096;

/// `moves` less `subtracted`; each has a table once, ascending.
std::vector<CountMove> difference_of(const std::vector<CountMove>& moves, const std::vector<CountMove>& subtracted) {
  std::vector<CountMove> difference;
  auto less = subtracted.begin();
  const auto add = [&](std::int32_t table, std::int32_t amount) {
    if (amount != 0) difference.push_back({table, amount});
  };
  for (const CountMove& move : moves) {
    for (; less != subtracted.end() && less->table < move.table; ++less) add(less->table, -less->amount);
    const bool in_both = less != subtracted.end() && less->table == move.table;
    add(move.table, in_both ? move.amount - less->amount : move.amount);
    if (in_both) ++less;
  }
  for (; less != subtracted.end(); ++less) add(less->table, -less->amount);
  return difference;
}

}  // namespace

void TopologyIndex::take_over(std::span<const AnsweredPod> placed) {
  if (!counts_) return;  // count_new() will read the cluster
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) join(counted(*pod.pod), pod.node);
}

void TopologyIndex::change_pod(std::int32_t slot, const PodPtr& before, const PodPtr& after) {
  if (after != nullptr) note_terms(*after);
  if (!counts_) return count_new({});
  // First the one that comes, so that the pod set of a pod that stays what it was does not go.
  std::vector<CountMove> come;
  if (after != nullptr) come = moves_of_pod_set(join(counted(*after), slot));
  std::vector<CountMove> gone;
  if (before != nullptr) gone = leave(counted(*before), slot);
  if (come == gone) return;  // no table is written, so that its version stays
  TopologyCounts& counts = snapshot_.write_topology();
  counts.add_all(come, slot, 1);
  counts.add_all(gone, slot, -1);
}

void TopologyIndex::change_pods(std::int32_t slot) {
  const bool was_counted = counts_;
  add_counts_of(slot, -1);
  for (const PodPtr& pod : pods_on(slot)) note_terms(*pod);
  if (!was_counted) return count_new({});  // which reads the pods of all nodes, if there is anything to count
  while (!pod_sets_on_[static_cast<std::size_t>(slot)].empty()) remove_place(slot, 0);
  for (const PodPtr& pod : pods_on(slot)) join(counted(*pod), slot);
  add_counts_of(slot, 1);
}

bool TopologyIndex::move_node(std::int32_t slot) {
  if (!queries_.is_moved(slot)) return false;  // columns stay when the last term goes
  add_counts_of(slot, -1);
  queries_.move_node(slot);
  add_counts_of(slot, 1);
  return true;
}

void TopologyIndex::change_selectors(const SelectorChange& change) {
  if (!change.workload_kind.empty() && !is_read_by_default_spreading(change.workload_kind)) return;
  const bool had_none = default_selectors_.none();
  default_selectors_.change_namespace(change.name_space, objects_in(change.name_space, cluster_.objects().selecting));
  ++epochs_before_;
  if (had_none || workload_changed_at_.size() >= kWorkloadChangesMax) {
    selectors_in_namespace_.erase(change.name_space);
    return void_all();
  }
  note_change(change);
}

/// Pods that were compiled until now are to be compiled again.
void TopologyIndex::void_all() {
  all_changed_at_ = epoch();
  selectors_changed_at_.clear();
  workload_changed_at_.clear();
}

void TopologyIndex::note_change(const SelectorChange& change) {
  const std::uint64_t now = epoch();
  std::string workload;
  if (!change.workload_kind.empty()) {
    workload = change.name_space + "/" + workload_key(change.workload_kind, change.workload_name);
    workload_changed_at_[workload] = now;
  }
  selectors_changed_at_.resize(static_cast<std::size_t>(queries_.identity_end()));
  for (const LabelMap& selector : change.service_selectors)
    for (const std::int32_t identity : queries_.identities_in(change.name_space))
      if (is_selected(queries_.labels_of(identity), selector))
        selectors_changed_at_[static_cast<std::size_t>(identity)] = now;
  const auto known = selectors_in_namespace_.find(change.name_space);
  if (known == selectors_in_namespace_.end()) return;
  std::erase_if(known->second, [&](const auto& entry) {
    const auto& [key, selector] = entry;
    return selectors_changed_at_[static_cast<std::size_t>(key.first)] == now ||
           (!workload.empty() && controller_in_cluster(change.name_space, selector.owners.get()) == workload);
  });
}

bool TopologyIndex::is_current(const Pod& pod, const CompiledPod& compiled) const {
  if (compiled.compiled_at == epoch()) return true;
  if (compiled.compiled_at < all_changed_at_) return false;
  if (compiled.kind == kNoKind) return !concerns(pod, compiled.profile);
  if (compiled.kind_version != version_of_kind(compiled.kind)) return false;
  const auto identity = static_cast<std::size_t>(kinds_[compiled.kind].key.identity);
  if (identity < selectors_changed_at_.size() && selectors_changed_at_[identity] > compiled.compiled_at) return false;
  if (workload_changed_at_.empty() || pod.owners == nullptr) return true;
  const auto workload = workload_changed_at_.find(controller_in_cluster(pod.namespace_, pod.owners.get()));
  return workload == workload_changed_at_.end() || workload->second <= compiled.compiled_at;
}

bool TopologyIndex::change_namespace(const std::string& name) {
  const std::vector<Namespace>& all = cluster_.objects().namespaces;
  // Of several objects with one name the last counts, as in namespace_labels().
  const auto at = std::find_if(all.rbegin(), all.rend(), [&](const Namespace& known) { return known.name == name; });
  std::vector<std::int32_t> of_namespace;
  for (const std::int32_t identity : queries_.identities_in(name))
    if (const auto i = static_cast<std::size_t>(identity); i < pod_sets_of_identity_.size())
      of_namespace.insert(of_namespace.end(), pod_sets_of_identity_[i].begin(), pod_sets_of_identity_[i].end());
  for (const std::int32_t pod_set : of_namespace) moves_of_pod_set(pod_set);  // as they are counted
  queries_.change_namespace(name, at == all.rend() ? nullptr : &at->labels);
  ++epochs_before_;
  bool any_moved = false;
  for (const std::int32_t pod_set : of_namespace) any_moved = count_again(pod_set) || any_moved;
  return any_moved;
}

/// What the pods match changed after moves_of_pod_set(). @return whether a count did
bool TopologyIndex::count_again(std::int32_t index) {
  PodSet& pod_set = pod_sets_[index];
  if (pod_set.version == queries_.version(pod_set.pod.identity)) return false;
  const std::vector<CountMove> before = std::move(pod_set.moves);
  const std::vector<CountMove> difference = difference_of(moves_of_pod_set(index), before);
  for (const auto& [slot, position] : pod_set.places)
    snapshot_.write_topology().add_all(
        difference, slot, pod_sets_on_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(position)].count);
  return !difference.empty();
}

void TopologyIndex::rebuild() {
  if (counts_) pod_sets_on_.resize(static_cast<std::size_t>(snapshot_.slot_count()));
  queries_.rebuild();
  if (counts_) count_all();
}

TopologyCounts TopologyIndex::recount(std::span<const AnsweredPod> placed) {
  TopologyCounts counts = snapshot_.topology().zeroed();
  const auto add = [&](const Pod& pod, std::int32_t node) { counts.add_all(moves_of(counted(pod)), node, 1); };
  for (const NodeInfo* info : cluster_.cache().nodes())
    for (const PodPtr& pod : info->pods) add(*pod, snapshot_.find_node(info->name));
  for (const AnsweredPod& pod : placed)
    if (pod.node >= 0) add(*pod.pod, pod.node);
  return counts;
}

}  // namespace berth
