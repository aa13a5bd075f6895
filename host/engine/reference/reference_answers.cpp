// SPDX-License-Identifier: Apache-2.0
// What ReferenceBackend answers without placing anything: evaluations, verdicts and dry runs.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "host/engine/reference/node_position.h"
#include "host/engine/reference/reference_backend.h"
#include "host/engine/reference/score_table.h"
#include "host/framework/unsupported.h"

namespace berth {

using reference::NodeState;
using reference::PreFilterResult;
using reference::Request;
using reference::Search;
using reference::to_index;
using reference::to_position;

// Evaluations

namespace {

Evaluation failed(std::string error) {
  Evaluation evaluation;
  evaluation.error = std::move(error);
  return evaluation;
}

NodeStatus outside_node_set(const PreFilterResult& pre, const std::string& node_name) {
  return {{StatusCode::kUnschedulableAndUnresolvable, pre.plugin_without(node_name), {}}, true};
}

void fill_scores(const reference::ScoreTable& table, const std::vector<std::size_t>& feasible, Evaluation& evaluation) {
  const std::int64_t highest = *std::max_element(table.totals.begin(), table.totals.end());
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    NodeEvaluation& node = evaluation.nodes[feasible[i]];
    for (const reference::PluginColumn& column : table.columns) {
      node.scores.push_back({column.plugin, column.raw[i], column.normalized[i], column.weight});
    }
    node.total = table.totals[i];
    if (node.total == highest) evaluation.best.push_back(node.node);
  }
}

}  // namespace

Evaluation ReferenceBackend::evaluate(const PodToPlace& pod) const {
  known_pods_->check_prepared({&pod, 1});
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (nodes_.empty()) return {{}, {}, std::string(kNoNodesText), "", {}};
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins))
    return failed(*reason);

  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  Search search;
  search.refusals.resize(nodes_.size());
  search.pre = pre_filter(request);
  if (search.pre.status.code == StatusCode::kError) return failed(search.pre.status.message());
  if (search.pre.status.ok()) search_all(request, search);
  if (const Status* error = search.first_error()) return failed(error->message());

  Evaluation evaluation;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Status& status = search.refusals[i] ? *search.refusals[i] : search.outside_status();
    evaluation.nodes.push_back({to_index(i), false, status, {}, 0});
  }
  for (const std::size_t node : search.feasible) evaluation.nodes[node] = {to_index(node), true, {}, {}, 0};
  const Diagnosis diagnosis = diagnose(search, nodes_.size());
  evaluation.rejectors = diagnosis.rejectors;
  if (search.feasible.empty()) {
    evaluation.message = fit_error_text(diagnosis);
    return evaluation;
  }
  const reference::ScoreTable table = score_nodes(request, states_of(search.feasible));
  evaluation.error = table.error;
  if (table.error.empty()) fill_scores(table, search.feasible, evaluation);
  return evaluation;
}

NodeProbe ReferenceBackend::probe(const PodToPlace& pod, std::string_view node_name) const {
  known_pods_->check_prepared({&pod, 1});
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (nodes_.empty() || unsupported_reason(*pod.pod, profile, engine_.host_plugins)) return {};
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  const PreFilterResult pre = pre_filter(request);
  if (!pre.status.ok()) return {};
  const NodeIndex node = find_node(node_name);
  if (node == kNoNode) return {true, false, false};
  return {true, true, is_rejected(filter_node(request, pre, nodes_[to_position(node)]).code)};
}

// Verdicts and dry runs

/// The profile's own text of the name, or empty.
std::string_view ReferenceBackend::lasting_name(std::string_view plugin, const Profile& profile) const {
  for (const ExtensionPoint point : {ExtensionPoint::kPreFilter, ExtensionPoint::kFilter})
    for (const EnabledPlugin& enabled : profile.at(point))
      if (enabled.name == plugin) return enabled.name;
  return {};
}

NodeVerdict ReferenceBackend::to_verdict(const NodeStatus& here, const Profile& profile) const {
  return {here.status.code, lasting_name(here.status.plugin, profile), here.is_of_pre_filter};
}

/// With the reason of nodes outside PreFilter's node set; an error only where it ends the cycle.
NodeStatus ReferenceBackend::status_on(const Request& request, const PreFilterResult& pre,
                                       const NodeState& state) const {
  if (!pre.status.ok()) return {{pre.status.code, pre.status.plugin, {pre.status.message()}}, true};
  NodeStatus here = filter_where_allowed(request, pre, state);
  const std::string& name = state.node->name;
  // Upstream only logs that the nominated node fails, and does not visit it again outside the node set.
  if (here.status.code == StatusCode::kError && pre.node_names && !pre.node_names->contains(name))
    here = outside_node_set(pre, name);
  if (!here.is_of_pre_filter) return here;
  PluginNames narrowing;
  for (const auto& [plugin, names] : pre.node_sets) narrowing.insert(plugin);
  here.status.reasons = {node_set_text(narrowing)};
  return here;
}

PodVerdicts ReferenceBackend::verdicts(const PodToPlace& pod) const {
  std::vector<NodeIndex> all;
  all.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) all.push_back({static_cast<std::int32_t>(i)});
  return verdicts_on(pod, all);
}

/// An error of another node is none of theirs.
PodVerdicts ReferenceBackend::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  known_pods_->check_prepared({&pod, 1});
  if (nodes_.empty()) return {};  // an error of PreFilter is one whatever nodes are asked
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins))
    return {{}, {}, *reason};
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  const PreFilterResult pre = pre_filter(request);
  if (pre.status.code == StatusCode::kError) return {{}, {}, pre.status.message()};
  PodVerdicts verdicts;
  verdicts.rejectors = pre.rejectors();
  for (const NodeIndex node : nodes) {
    const NodeStatus here = status_on(request, pre, nodes_[static_cast<std::size_t>(node.value)]);
    if (here.status.code == StatusCode::kError) return {{}, {}, here.status.message()};
    if (!here.status.ok() && pre.status.ok()) verdicts.rejectors.insert(here.status.plugin);
    verdicts.nodes.push_back(to_verdict(here, profile));
  }
  return verdicts;
}

PodStatuses ReferenceBackend::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  known_pods_->check_prepared({&pod, 1});
  if (nodes_.empty()) return {};
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins))
    return {{}, *reason};
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  const PreFilterResult pre = pre_filter(request);
  if (pre.status.code == StatusCode::kError) return {{}, pre.status.message()};
  PodStatuses statuses;
  for (const NodeIndex node : nodes) {
    NodeStatus here = status_on(request, pre, nodes_.at(to_position(node)));
    if (here.status.code == StatusCode::kError) return {{}, here.status.message()};
    statuses.nodes.push_back(std::move(here));
  }
  return statuses;
}

PodTotals ReferenceBackend::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  known_pods_->check_prepared({&pod, 1});
  if (nodes.empty()) return {};
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins))
    return {{}, *reason};
  const reference::ClusterView cluster = view();
  std::vector<std::size_t> positions;
  positions.reserve(nodes.size());
  for (const NodeIndex node : nodes) positions.push_back(to_position(node));
  reference::ScoreTable table =
      score_nodes(reference::make_request(*pod.pod, profile, config_.gates, cluster), states_of(positions));
  if (!table.error.empty()) return {{}, std::move(table.error)};
  return {std::move(table.totals), ""};
}

/// Outside the node set of PreFilter only the pod's own nominated node is filtered (2.3).
NodeStatus ReferenceBackend::filter_where_allowed(const Request& request, const PreFilterResult& pre,
                                                  const NodeState& state) const {
  const bool outside = pre.node_names && !pre.node_names->contains(state.node->name);
  if (outside && nomination_of(*request.pod) != find_node(state.node->name))
    return outside_node_set(pre, state.node->name);
  return {filter(request, pre, state), false};
}

/// docs/behaviour/scheduler-core.md 4.5: all victims leave, then each comes back for as long as the pod fits.
/// @param answer  null: only the status is asked for
NodeStatus ReferenceBackend::dry_run_one(const PodToPlace& preemptor, const VictimList& list, DryRunAnswer* answer,
                                         std::vector<std::uint64_t>& kept) const {
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(preemptor.profile));
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*preemptor.pod, profile, config_.gates, cluster);
  PreFilterResult pre = pre_filter(request);
  if (const auto reason = unsupported_reason(*preemptor.pod, profile, engine_.host_plugins))
    return {{StatusCode::kError, "", {*reason}}, false};
  if (pre.status.code == StatusCode::kError) return {{StatusCode::kError, "", {pre.status.message()}}, false};
  if (pre.status.code == StatusCode::kUnschedulableAndUnresolvable)
    return {{pre.status.code, pre.status.plugin, {}}, true};
  NodeState state = nodes_.at(to_position(list.node));
  const auto remove = [&](const Pod& victim) {
    reference::remove_pod(state, victim);
    reference::remove_pod(pre, request, victim, *state.node);
  };
  std::set<std::string> victims;
  for (const Victim& victim : list.victims) victims.insert(victim.pod->uid());
  // In the order of the node's pods, as upstream does it: the order of those that stay depends on it.
  const std::vector<reference::PodOnNode> pods = state.pods;
  for (const reference::PodOnNode& other : pods) {
    if (victims.contains(other.pod->uid())) remove(*other.pod);
  }
  NodeStatus without_victims = filter_where_allowed(request, pre, state);
  if (answer == nullptr || !without_victims.status.ok()) return without_victims;
  for (std::size_t i = 0; i < list.victims.size(); ++i) {
    const Victim& victim = list.victims[i];
    reference::add_pod(state, PodPtr(PodPtr(), victim.pod));  // lives as long as the call
    reference::add_pod(pre, request, *victim.pod, *state.node);
    if (filter_where_allowed(request, pre, state).status.ok()) {
      kept[answer->first_kept + i / 64] |= std::uint64_t{1} << (i % 64);
      ++answer->kept_count;
    } else {
      remove(*victim.pod);
      if (victim.violates_budget) ++answer->violations;
    }
  }
  return without_victims;
}

DryRunResult ReferenceBackend::dry_run(const DryRunRequest& request) const {
  dry_runs_ += static_cast<std::int64_t>(request.runs.size());
  known_pods_->check_prepared(request.preemptors);
  DryRunResult result;
  for (const DryRun& run : request.runs) {
    const VictimList& list = request.lists[run.list];
    DryRunAnswer& answer = result.answers.emplace_back();
    answer.first_kept = result.kept.size();
    result.kept.resize(result.kept.size() + (list.victims.size() + 63) / 64);
    const PodToPlace& preemptor = request.preemptors[run.preemptor];
    const NodeStatus without_victims = dry_run_one(preemptor, list, &answer, result.kept);
    answer.without_victims =
        to_verdict(without_victims, config_.profiles.at(static_cast<std::size_t>(preemptor.profile)));
  }
  return result;
}

std::vector<Status> ReferenceBackend::statuses_without_victims(const DryRunRequest& request) const {
  known_pods_->check_prepared(request.preemptors);
  std::vector<Status> statuses;
  std::vector<std::uint64_t> no_mask;
  for (const DryRun& run : request.runs)
    statuses.push_back(
        dry_run_one(request.preemptors[run.preemptor], request.lists[run.list], nullptr, no_mask).status);
  return statuses;
}

}  // namespace berth
