// SPDX-License-Identifier: Apache-2.0
// How the reference finds the node of one pod: Filter on the nodes in order, Score on the feasible ones.

#include <algorithm>
#include <utility>

#include "host/cluster/name_hash.h"
#include "host/engine/reference/node_position.h"
#include "host/engine/reference/reference_backend.h"
#include "host/engine/reference/score_table.h"
#include "host/framework/draw.h"
#include "host/framework/pod_signature.h"
#include "host/framework/unsupported.h"

namespace berth {

using reference::NodeState;
using reference::PreFilterResult;
using reference::Request;
using reference::Search;
using reference::to_index;
using reference::to_position;

namespace {

constexpr std::size_t kAlwaysSearched = 100;  ///< clusters smaller than this are searched whole

}  // namespace

// Filtering

Status ReferenceBackend::filter(const Request& request, const PreFilterResult& pre, const NodeState& state) const {
  std::vector<PodPtr> considered;
  for (const auto& [pod, uid, node_name] : nominations_) {
    if (node_name != state.node->name) continue;
    if (pod->priority >= request.pod->priority && uid != request.pod->uid()) considered.push_back(pod);
  }
  if (!considered.empty()) {
    NodeState crowded = state;
    PreFilterResult crowded_pre = pre;
    for (const PodPtr& pod : considered) {
      reference::add_pod(crowded, pod);
      reference::add_pod(crowded_pre, request, *pod, *crowded.node);
    }
    if (Status status = filter_node(request, crowded_pre, crowded); !status.ok()) return status;
  }
  return filter_node(request, pre, state);
}

/// 2.3: true when the pod's own nominated node takes it; a refusal stays recorded.
bool ReferenceBackend::try_nominated(const Request& request, Search& search) {
  const NodeIndex node = nomination_of(*request.pod);
  if (node == kNoNode || !search.is_among(to_position(node))) return false;
  ++node_evaluations_;
  Status status = filter(request, search.pre, nodes_[to_position(node)]);
  search.by_nomination = status.ok();
  if (status.ok()) {
    search.feasible.push_back(to_position(node));
  } else if (status.code != StatusCode::kError) {  // upstream only logs an error of this node
    if (is_rejected(status.code)) search.nomination_refused_by = status.plugin;
    search.refusals[to_position(node)] = std::move(status);
  }
  return search.by_nomination;
}

std::vector<std::size_t> ReferenceBackend::candidates(const Search& search) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const bool in_node_set = !search.pre.node_names || search.pre.node_names->contains(nodes_[i].node->name);
    if (in_node_set && search.is_among(i)) found.push_back(i);
  }
  return found;
}

/// 2.4, in the int32 arithmetic of upstream.
std::size_t ReferenceBackend::wanted_count(const Profile& profile, std::size_t candidate_count) const {
  if (profile.at(ExtensionPoint::kScore).empty() && config_.extenders.empty()) return 1;
  if (candidate_count < kAlwaysSearched) return candidate_count;
  const auto n = static_cast<std::int64_t>(candidate_count);
  std::int64_t percentage = profile.percentage_of_nodes_to_score.value_or(config_.percentage_of_nodes_to_score);
  if (percentage == 0) percentage = std::max<std::int64_t>(50 - n / 125, 5);
  return std::max(static_cast<std::size_t>(n * percentage / 100), kAlwaysSearched);
}

/// Visits `candidates` from position `start` on, round the end, until one more than `wanted` was feasible; that one is
/// neither kept nor recorded (2.6).
void ReferenceBackend::visit(const Request& request, const std::vector<std::size_t>& candidates, std::size_t wanted,
                             std::size_t start, Search& search) const {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t node = candidates[(start + i) % candidates.size()];
    ++node_evaluations_;
    Status status = filter(request, search.pre, nodes_[node]);
    if (!status.ok()) {
      search.refusals[node] = std::move(status);
      continue;
    }
    if (search.feasible.size() == wanted) return;
    search.refusals[node].reset();
    search.feasible.push_back(node);
  }
}

void ReferenceBackend::search_all(const Request& request, Search& search) const {
  const std::vector<std::size_t> nodes = candidates(search);
  visit(request, nodes, nodes.size(), 0, search);
}

void ReferenceBackend::search_sampled(const Request& request, Search& search) {
  const std::vector<std::size_t> nodes = candidates(search);
  visit(request, nodes, wanted_count(*request.profile, nodes.size()), next_start_, search);
  const auto recorded = std::count_if(search.refusals.begin(), search.refusals.end(),
                                      [](const std::optional<Status>& refusal) { return refusal.has_value(); });
  next_start_ = (next_start_ + search.feasible.size() + static_cast<std::size_t>(recorded)) % nodes_.size();
}

// Choosing

std::vector<const NodeState*> ReferenceBackend::states_of(const std::vector<std::size_t>& nodes) const {
  std::vector<const NodeState*> states;
  states.reserve(nodes.size());
  for (const std::size_t node : nodes) states.push_back(&nodes_[node]);
  return states;
}

reference::ClusterView ReferenceBackend::view() const {
  return {nodes_,          cluster_.cache().images(), cluster_.objects(), engine_.upstream_bugs, engine_.host_plugins,
          cluster_.cache()};
}

Draw ReferenceBackend::draw(const PodToPlace& pod, std::size_t node) const {
  const DrawRule rule =
      draw_rule(config_.profiles.at(static_cast<std::size_t>(pod.profile)), engine_.tie_break, engine_.seed);
  const NodeState& state = nodes_[node];
  const Node& object = *state.node;
  const DrawAmounts offered{object.allocatable.milli_cpu, object.allocatable.memory_bytes, object.allowed_pod_number};
  const DrawAmounts in_use{state.usage.non_zero_milli_cpu, state.usage.non_zero_memory_bytes,
                           static_cast<std::int64_t>(state.pods.size())};
  const NodeDraws draws(rule, node_name_hash(object.name), static_cast<std::uint32_t>(node), offered);
  return draw_of_class(rule.order, draws.with(in_use), class_draw_seed(engine_.seed, pod_class_hash(*pod.pod->spec)));
}

/// Position in `nodes` of the one that takes the pod.
std::size_t ReferenceBackend::winner(const PodToPlace& pod, const std::vector<std::size_t>& nodes,
                                     std::span<const std::int64_t> totals) const {
  if (engine_.tie_break == TieBreak::kKube) return reference::heap_root(totals);
  const std::int64_t highest = *std::max_element(totals.begin(), totals.end());
  std::optional<std::size_t> best;
  Draw best_draw = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (totals[i] != highest) continue;
    // By position alone, and not by a draw made of it as in the other backends.
    const Draw own_draw = engine_.tie_break == TieBreak::kFirst ? 0 : draw(pod, nodes[i]);
    const bool wins = !best || own_draw > best_draw || (own_draw == best_draw && nodes[i] < nodes[*best]);
    if (!wins) continue;
    best = i;
    best_draw = own_draw;
  }
  return *best;
}

ReferenceBackend::Decision ReferenceBackend::choose(const PodToPlace& pod, const Request& request, const Search& search,
                                                    bool ranks_nodes) const {
  // A single feasible node is taken without scoring, so even a pod whose scoring would fail gets it (8.5).
  if (search.feasible.size() == 1) return {OutcomeKind::kPlaced, to_index(search.feasible[0]), 0, {}};
  const reference::ScoreTable table = score_nodes(request, states_of(search.feasible));
  if (!table.error.empty()) return {OutcomeKind::kError, kNoNode, 0, {table.error, {}}};
  const std::size_t best = winner(pod, search.feasible, table.totals);
  Decision decision{OutcomeKind::kPlaced, to_index(search.feasible[best]), table.totals[best], {}};
  if (ranks_nodes) decision.others = others_of(pod, search.feasible, table.totals);
  return decision;
}

/// The nodes that were not chosen, in the order in which they would be one after another.
std::vector<NodeIndex> ReferenceBackend::others_of(const PodToPlace& pod, std::vector<std::size_t> nodes,
                                                   std::vector<std::int64_t> totals) const {
  std::vector<NodeIndex> ranked;
  if (engine_.tie_break == TieBreak::kKube) {
    for (const std::size_t i : reference::heap_order(totals)) ranked.push_back(to_index(nodes[i]));
  }
  while (engine_.tie_break != TieBreak::kKube && !nodes.empty()) {
    const auto best = static_cast<std::ptrdiff_t>(winner(pod, nodes, totals));
    ranked.push_back(to_index(nodes[static_cast<std::size_t>(best)]));
    nodes.erase(nodes.begin() + best);
    totals.erase(totals.begin() + best);
  }
  ranked.erase(ranked.begin());
  return ranked;
}

ReferenceBackend::Decision ReferenceBackend::decide(const PodToPlace& pod, const BatchLimits& limits) {
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  Search search;
  search.among = limits.among;
  if (search.count_among(nodes_.size()) == 0)
    return {OutcomeKind::kUnschedulable, kNoNode, 0, {std::string(kNoNodesText), {}}};
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins)) {
    return {OutcomeKind::kError, kNoNode, 0, {std::move(*reason), {}}};
  }
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  search.refusals.resize(nodes_.size());
  search.pre = pre_filter(request);
  if (search.pre.status.code == StatusCode::kError) {
    return {OutcomeKind::kError, kNoNode, 0, {search.pre.status.message(), {}}};
  }
  if (search.pre.status.ok() && !try_nominated(request, search)) {
    if (engine_.node_sampling == NodeSampling::kKube) {
      search_sampled(request, search);
    } else {
      search_all(request, search);
    }
  }
  if (const Status* error = search.first_error(); error != nullptr && !search.by_nomination)
    return {OutcomeKind::kError, kNoNode, 0, {error->message(), {}}};
  if (search.feasible.empty()) {
    const Diagnosis diagnosis = diagnose(search, nodes_.size());
    return {OutcomeKind::kUnschedulable, kNoNode, 0, message_of(diagnosis)};
  }
  return choose(pod, request, search, limits.ranks_nodes);
}

}  // namespace berth
