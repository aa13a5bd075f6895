// SPDX-License-Identifier: Apache-2.0
#include "batching/nominations.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "batching/node_filter.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// Changed nodes that are remembered one by one; with more of them every answer is asked for again.
constexpr std::size_t kChangesKept = 4096;

bool is_same_pod(const Pod& a, const Pod& b) {
  // uid() returns a copy, and makes a text of its own where none is stored.
  if (a.stored_uid.empty() != b.stored_uid.empty()) return a.uid() == b.uid();
  return a.stored_uid.empty() ? a.name == b.name && a.namespace_ == b.namespace_ : a.stored_uid == b.stored_uid;
}

/// The pods whose nomination the queue records when they are added: terminating ones too (they are skipped when they
/// are popped), but not gated ones or those of other schedulers.
bool may_be_nominated(const Pod& pod, const SchedulerConfig& config) {
  return is_pending(pod) && pod.rare().scheduling_gates.empty() &&
         config.find_profile(pod.spec->scheduler_name) != nullptr;
}

/// Those of `held` that `is_meant`, in the order in which they were nominated.
template <class HeldOfUid, class IsMeant>
auto in_order(HeldOfUid& held, IsMeant is_meant) {
  std::vector<decltype(&held.begin()->second)> ordered;
  for (auto& [uid, nomination] : held)
    if (is_meant(nomination)) ordered.push_back(&nomination);
  std::sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return a->order < b->order; });
  return ordered;
}

constexpr auto kAll = [](const NominationHeld& /*held*/) { return true; };

}  // namespace

Nominations::Nominations(const ClusterObjects& objects, const SchedulerConfig& config, const Snapshot& snapshot,
                         ClassTable& table)
    : config_(config), topology_(table.topology()) {
  for (const PodPtr& pod : objects.pods)
    if (pod->rare_fields != nullptr) set(pod, pod->rare().nominated_node_name, table, snapshot);
}

Nominations::Nominations(std::span<const NominationUpsert> all, const SchedulerConfig& config, const Snapshot& snapshot,
                         ClassTable& table)
    : config_(config), topology_(table.topology()) {
  for (const NominationUpsert& nomination : all) set(nomination.pod, nomination.node_name, table, snapshot);
}

// The model

/// A nomination came, or went.
class Nominations::HeldChanged : public UndoStep {
 public:
  explicit HeldChanged(Nominations& nominations) : nominations_(nominations) {}
  void undo() noexcept override {
    if (!gone.empty()) nominations_.held_.insert(std::move(gone));  // has the room that it had before
    if (came != nullptr) nominations_.held_.erase(nominations_.held_.find(came->first));
  }
  HeldOfUid::node_type gone;
  HeldOfUid::value_type* came = nullptr;

 private:
  Nominations& nominations_;
};

void Nominations::keep() noexcept {
  steps_.finish_all();
  is_noting_ = false;
}

void Nominations::take_back() noexcept {
  steps_.undo_all();
  is_noting_ = false;
}

std::optional<NominationHeld> Nominations::release(std::string_view uid) {
  const auto found = held_.find(uid);
  if (found == held_.end()) return std::nullopt;
  std::optional<NominationHeld> held = found->second;
  HeldChanged* const step = is_noting_ ? &steps_.add<HeldChanged>(*this) : nullptr;
  HeldOfUid::node_type gone = held_.extract(found);
  if (step != nullptr) step->gone = std::move(gone);
  return held;
}

NominationHeld* Nominations::hold(const PodPtr& pod, const std::string& node_name) {
  if (node_name.empty() || !may_be_nominated(*pod, config_)) return nullptr;
  HeldChanged* const step = is_noting_ ? &steps_.add<HeldChanged>(*this) : nullptr;
  HeldOfUid::value_type& came = *held_.try_emplace(pod->uid(), Held{pod, node_name, -1, ++last_order_}).first;
  if (step != nullptr) step->came = &came;
  return &came.second;
}

void Nominations::set(const PodPtr& pod, const std::string& node_name, ClassTable& table, const Snapshot& snapshot) {
  remove(*pod);
  if (Held* const held = hold(pod, node_name)) claim(*held, table, snapshot);
}

std::optional<std::string> Nominations::remove(std::string_view uid) {
  std::optional<NominationHeld> held = release(uid);
  if (!held) return std::nullopt;
  give_up(*held);
  return std::move(held->node_name);
}

// What follows from it

void Nominations::give_up(const NominationHeld& held) {
  if (held.slot < 0) return;
  std::erase_if(on_node_[static_cast<std::size_t>(held.slot)],
                [&](const Nominated& nominated) { return nominated.pod == held.pod; });
  note_change(*held.pod, held.slot, -1);
}

void Nominations::rebuild(ClassTable& table, const Snapshot& snapshot) {
  on_node_.clear();
  at_priority_.clear();
  for (Held* const held : in_order(held_, kAll)) {
    held->slot = -1;
    claim(*held, table, snapshot);
  }
  change_all();
}

void Nominations::change_all() {
  ++generation_;
  changed_nodes_.clear();
}

/// A pod is nominated to the node (change 1), or not any more (-1).
void Nominations::note_change(const Pod& pod, std::int32_t slot, std::int64_t change) {
  const auto at = at_priority_.try_emplace(pod.priority, 0).first;
  at->second += change;
  if (at->second == 0) at_priority_.erase(at);
  note_changed_node(slot);
}

void Nominations::note_changed_node(std::int32_t slot) {
  changed_nodes_.push_back(slot);
  if (changed_nodes_.size() > kChangesKept) change_all();
}

void Nominations::change_namespace(std::string_view name, bool counts_moved) {
  if (counts_moved) return change_all();
  for (const auto& [uid, held] : held_)
    if (held.slot >= 0 && held.pod->namespace_ == name) note_changed_node(held.slot);
}

void Nominations::claim(Held& held, ClassTable& table, const Snapshot& snapshot) {
  const std::int32_t slot = snapshot.find_node(held.node_name);
  if (slot < 0) return;
  topology_.note_terms(*held.pod);
  const auto at = static_cast<std::size_t>(slot);
  if (at >= on_node_.size()) on_node_.resize(at + 1);
  on_node_[at].push_back({held.pod, table.delta_of(*held.pod), wanted_host_ports(*held.pod->spec)});
  held.slot = slot;
  note_change(*held.pod, slot, 1);
}

void Nominations::enter_node(std::int32_t slot, ClassTable& table, const Snapshot& snapshot) {
  const std::string_view name = snapshot.node(slot).name;
  for (Held* const held : in_order(held_, [&](const Held& h) { return h.slot < 0 && h.node_name == name; }))
    claim(*held, table, snapshot);
}

void Nominations::leave_node(std::int32_t slot) {
  if (!is_nominated(slot)) return;
  for (const Nominated& nominated : std::exchange(on_node_[static_cast<std::size_t>(slot)], {})) {
    held_.find(nominated.pod->uid())->second.slot = -1;
    note_change(*nominated.pod, slot, -1);
  }
}

bool Nominations::any_to(std::string_view node_name) const {
  return std::any_of(held_.begin(), held_.end(), [&](const auto& held) { return held.second.node_name == node_name; });
}

std::int32_t Nominations::node_of(const Pod& pod) const {
  if (held_.empty()) return -1;
  const auto at = held_.find(pod.uid());
  return at == held_.end() ? -1 : at->second.slot;
}

std::vector<NominationUpsert> Nominations::all() const {
  std::vector<NominationUpsert> all;
  all.reserve(held_.size());
  for (const Held* const held : in_order(held_, kAll)) all.push_back({held->pod, held->node_name});
  return all;
}

bool Nominations::counts_against(const Pod& nominated, const Pod& pod) {
  return nominated.priority >= pod.priority && !is_same_pod(nominated, pod);
}

bool Nominations::any_against(const Pod& pod, std::int32_t node) const {
  const std::span<const Nominated> here = on(node);
  return std::any_of(here.begin(), here.end(), [&](const Nominated& n) { return counts_against(*n.pod, pod); });
}

bool Nominations::any_against(const Pod& pod) const {
  const auto from = at_priority_.lower_bound(pod.priority);
  if (from == at_priority_.end()) return false;
  const auto own = held_.find(pod.uid());
  const bool is_one_of_them = own != held_.end() && own->second.slot >= 0 && own->second.pod->priority >= pod.priority;
  return from->second > (is_one_of_them ? 1 : 0) || std::next(from) != at_priority_.end();
}

std::vector<std::int32_t> Nominations::nominated_nodes() const {
  std::vector<std::int32_t> nodes;
  for (const auto& [uid, held] : held_)
    if (held.slot >= 0) nodes.push_back(held.slot);
  return nodes;
}

std::optional<std::int32_t> Nominations::lowest_against(std::int32_t priority) const {
  const auto from = at_priority_.lower_bound(priority);
  return from == at_priority_.end() ? std::nullopt : std::optional(from->first);
}

Nominations::ReservedLoad Nominations::reserved_on(std::int32_t node, std::int32_t from_priority) const {
  ReservedLoad reserved;
  for (const Nominated& nominated : on(node)) {
    if (nominated.pod->priority < from_priority) continue;
    ++reserved.pods;
    for (const auto& [column, amount] : nominated.delta.requested) {
      if (column == kCpuColumn) reserved.milli_cpu = add_wrapping(reserved.milli_cpu, amount);
      if (column == kMemoryColumn) reserved.memory_bytes = add_wrapping(reserved.memory_bytes, amount);
    }
  }
  return reserved;
}

bool Nominations::tell_apart(std::int32_t priority, std::int32_t other) const {
  return at_priority_.lower_bound(priority) != at_priority_.lower_bound(other);
}

void Nominations::add_against(const Pod& pod, const PodClass& pod_class, bool affinity_skips,
                              NodeOverlay& overlay) const {
  for_each_against(pod, overlay.node(), [&](const Nominated& nominated) {
    std::vector<CountMove> moves;
    if (pod_class.topology != nullptr && pod_class.topology->filters())
      moves = topology_.effect(*nominated.pod, *pod_class.topology, !affinity_skips);
    overlay.add({nominated.delta, nominated.ports, moves, nominated.pod.get()});
  });
}

bool Nominations::add_loads_against(const Pod& pod, NodeOverlay& overlay) const {
  bool any = false;
  for_each_against(pod, overlay.node(), [&](const Nominated& nominated) {
    overlay.add({nominated.delta, nominated.ports, {}});
    any = true;
  });
  return any;
}

bool Nominations::change_counts(const PodClass& pod_class, std::int32_t node) const {
  const std::span<const Nominated> here = on(node);
  return std::any_of(here.begin(), here.end(),
                     [&](const Nominated& nominated) { return changes_counts(pod_class, *nominated.pod); });
}

bool Nominations::changes_counts(const PodClass& pod_class, const Pod& nominated) const {
  return pod_class.topology != nullptr && pod_class.topology->filters() &&
         !topology_.effect(nominated, *pod_class.topology, true).empty();
}

Nominations::CrowdedNode Nominations::crowded_node(const PodClass& pod_class, const Snapshot& snapshot) const {
  CrowdedNode crowded{NodeOverlay(snapshot), affinity_pre_filter_skips(pod_class, snapshot)};
  crowded.overlay.read_for(pod_class);
  return crowded;
}

bool Nominations::crowd(const Pod& pod, const PodClass& pod_class, std::int32_t node, CrowdedNode& crowded) const {
  if (!any_against(pod, node)) return false;
  crowded.overlay.reset(node);
  add_against(pod, pod_class, crowded.affinity_skips, crowded.overlay);
  return true;
}

Status Nominations::filter_with_nominated_pods(const Pod& pod, const PodClass& pod_class,
                                               const CompiledProfile& profile, const NodeSideView& row,
                                               const Snapshot& snapshot, std::int32_t node) const {
  if (any_against(pod, node)) {
    CrowdedNode crowded = crowded_node(pod_class, snapshot);
    crowd(pod, pod_class, node, crowded);
    Status status = filter_node(pod_class, profile, row, crowded.overlay, crowded.affinity_skips);
    if (!status.ok()) return status;
  }
  return filter_node(pod_class, profile, row, snapshot, node);
}

NodeVerdict Nominations::verdict_with_nominated_pods(const Pod& pod, const PodClass& pod_class,
                                                     const CompiledProfile& profile, const NodeSideView& row,
                                                     const Snapshot& snapshot, std::int32_t node,
                                                     CrowdedNode& crowded) const {
  if (crowd(pod, pod_class, node, crowded)) {
    const NodeVerdict verdict = verdict_of_node(pod_class, profile, row, crowded.overlay, crowded.affinity_skips);
    if (!verdict.accepts()) return verdict;
  }
  return verdict_of_node(pod_class, profile, row, snapshot, node);
}

void Nominations::refresh_deltas(ClassTable& table) {
  for (std::vector<Nominated>& here : on_node_)
    for (Nominated& nominated : here) nominated.delta = table.delta_of(*nominated.pod);
  change_all();
}

}  // namespace berth
