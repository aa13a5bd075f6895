// SPDX-License-Identifier: Apache-2.0
// What preemption asks an OverlayFork: who stands on its nodes, and what evicting some of them would change.

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "batching/dry_run.h"
#include "batching/overlay_reading.h"
#include "batching/victims.h"

namespace berth {
namespace {

void in_this_thread(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
  look_between_dry_runs(0, count, current_interruption(), body);
}

}  // namespace

/// Runs ask(request) with the preemptors as the engine knows them, if the overlay can answer, and otherwise
/// ask_engine(request, engine) with the engine of the fork.
template <class Ask, class AskEngine>
auto OverlayFork::ask_about_victims(const DryRunRequest& request, Ask ask, AskEngine ask_engine) {
  check_known(request.preemptors);
  std::invoke_result_t<Ask, const DryRunRequest&> answer;
  const bool done = on_overlay([&](Reading& reading) {
    const std::optional<std::vector<PodToPlace>> preemptors = known_now(request.preemptors, reading);
    if (!preemptors || has_unknown_victims(request.lists)) return false;
    answer = ask(DryRunRequest{*preemptors, request.lists, request.runs});
    return true;
  });
  if (done) return answer;
  std::vector<VictimList> lists(request.lists.begin(), request.lists.end());
  for (VictimList& list : lists) list.node = in_engine({&list.node, 1}).front();
  return engine().ask_about_victims(request, lists, ask_engine);
}

DryRunResult OverlayFork::dry_run(const DryRunRequest& request) {
  return ask_about_victims(
      request,
      [&](const DryRunRequest& known) {
        VictimMemory memory;
        return berth::dry_run(known, state_->sides, state_->nominations, state_->snapshot, memory, in_this_thread);
      },
      [](const DryRunRequest& own, const Backend& engine) { return engine.dry_run(own); });
}

std::vector<Status> OverlayFork::statuses_without_victims(const DryRunRequest& request) {
  return ask_about_victims(
      request,
      [&](const DryRunRequest& known) {
        VictimMemory memory;
        return berth::statuses_without_victims(known, state_->sides, state_->nominations, state_->snapshot, memory,
                                               in_this_thread);
      },
      [](const DryRunRequest& own, const Backend& engine) { return engine.statuses_without_victims(own); });
}

std::vector<NodeIndex> OverlayFork::nodes_in_order() {
  std::vector<NodeIndex> nodes;
  const bool done = on_overlay([&](Reading&) {
    state_->snapshot.update_guest_order(source_->live->cluster.cache());
    std::ranges::transform(state_->snapshot.in_order(), std::back_inserter(nodes),
                           [](std::int32_t slot) { return NodeIndex{slot}; });
    return true;
  });
  if (done) return nodes;
  nodes = engine().nodes_in_order();
  for (NodeIndex& node : nodes) node = own_index(node);
  return nodes;
}

/// Of a pod that left the engine since the fork was opened, the engine may know the terms no more.
bool OverlayFork::has_unknown_victims(std::span<const VictimList> lists) {
  read_journal();
  const auto is_unknown = [&](const Victim& victim) { return state_->table.topology().brings_new_terms(*victim.pod); };
  return !changed_since_.empty() && std::ranges::any_of(lists, [&](const VictimList& list) {
    return std::ranges::any_of(list.victims, is_unknown);
  });
}

std::vector<PodPtr> OverlayFork::unchanged_pods_on(const std::string& node_name) const {
  const NodeInfo* const info = source_->live->cluster.cache().find_node(node_name);
  std::vector<PodPtr> pods;
  if (info == nullptr) return pods;
  std::ranges::copy_if(info->pods, std::back_inserter(pods), [&](const PodPtr& pod) {
    return changed_since_.empty() || !changed_since_.contains(pod->uid());
  });
  return pods;
}

/// Pods that changed in the engine since the fork was opened come behind the others of their node.
const PodsInOrder& OverlayFork::pods_in_order() {
  read_journal();
  const PodsInOrder::AsOpened as_opened_with{[&](const std::string& name) { return unchanged_pods_on(name); },
                                             [&](const std::string& uid) { return as_opened(uid).node_name; }};
  if (pods_in_order_ == nullptr || changed_in_order_ != changed_since_.size()) {
    auto pods = std::make_unique<PodsInOrder>();
    std::vector<std::pair<std::uint64_t, std::string>> changed;
    changed.reserve(changed_since_.size());
    for (const auto& [uid, position] : changed_since_) changed.emplace_back(position, uid);
    std::ranges::sort(changed);
    for (const auto& [position, uid] : changed)
      if (const Standing before = as_opened(uid); before.pod != nullptr)
        pods->stand(before.pod, before.node_name, as_opened_with);
    pods_in_order_ = std::move(pods);
    changed_in_order_ = changed_since_.size();
  }
  pods_in_order_->follow(history_.steps(), as_opened_with);
  return *pods_in_order_;
}

std::vector<PodPtr> OverlayFork::pods_below(NodeIndex node, std::int32_t priority) {
  std::vector<PodPtr> pods;
  const auto is_below = [&](const PodPtr& pod) { return pod->priority < priority; };
  const bool done = on_overlay([&](Reading&) {
    const std::string& name = state_->snapshot.node(node.value).name;
    const std::vector<PodPtr>* const known = pods_in_order().find(name);
    if (known != nullptr) {
      std::ranges::copy_if(*known, std::back_inserter(pods), is_below);
    } else {
      pods = unchanged_pods_on(name);
      std::erase_if(pods, std::not_fn(is_below));
    }
    return true;
  });
  return done ? pods : engine().pods_below(in_engine({&node, 1}).front(), priority);
}

}  // namespace berth
