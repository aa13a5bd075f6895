// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "host/cluster/name_hash.h"
#include "host/engine/reference/score_table.h"
#include "host/framework/draw.h"
#include "host/framework/pod_signature.h"
#include "host/framework/unsupported.h"
#include "host/objects/pod_state.h"

namespace berth {

using reference::NodeState;
using reference::PreFilterResult;
using reference::Request;
using reference::Search;

struct ReferenceBackend::Decision {
  OutcomeKind kind = OutcomeKind::kUnschedulable;
  NodeIndex node = kNoNode;
  std::int64_t score = 0;
  std::string message;
};

namespace {

constexpr std::size_t kAlwaysSearched = 100;  ///< clusters smaller than this are searched whole

NodeIndex to_index(std::size_t node) { return NodeIndex{static_cast<std::int32_t>(node)}; }
std::size_t to_position(NodeIndex node) { return static_cast<std::size_t>(node.value); }

/// Which pods hold a nomination: those that the queue would hold, too.
bool may_be_nominated(const Pod& pod, const SchedulerConfig& config) {
  return is_pending(pod) && !pod.rare().nominated_node_name.empty() && pod.rare().scheduling_gates.empty() &&
         config.find_profile(pod.spec->scheduler_name) != nullptr;
}

/// Gives each distinct text one index.
class Messages {
 public:
  std::int32_t index_of(const std::string& text, std::vector<std::string>& texts) {
    const auto [found, added] = known_.try_emplace(text, static_cast<std::int32_t>(texts.size()));
    if (added) texts.push_back(text);
    return found->second;
  }

 private:
  std::map<std::string, std::int32_t> known_;
};

class Deadline {
 public:
  explicit Deadline(std::int64_t limit_us) : limit_us_(limit_us) {}
  bool passed() const {
    if (limit_us_ <= 0) return false;
    return std::chrono::steady_clock::now() - begin_ >= std::chrono::microseconds(limit_us_);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t limit_us_;
};

StopReason stop_before_next(const BatchResult& result, const BatchLimits& limits, const Deadline& deadline) {
  if (result.outcomes.size() >= limits.pods_max) return StopReason::kPodLimit;
  // At least one pod a call, so that calling again always gets on.
  if (!result.outcomes.empty() && deadline.passed()) return StopReason::kDeadline;
  return StopReason::kDone;
}

}  // namespace

ReferenceBackend::ReferenceBackend(const ClusterCache& cache, const ClusterObjects& objects,
                                   const SchedulerConfig& config, const EngineConfig& engine)
    : config_(config),
      engine_(engine),
      images_(cache.images()),
      namespaces_(objects.namespaces),
      services_(objects.services),
      workloads_(objects.workloads) {
  for (const NodeInfo* info : cache.nodes_in_order()) {
    NodeState state;
    state.node = info->node;
    for (const PodPtr& pod : info->pods) reference::add_pod(state, pod);
    state.usage.ports = info->used_ports;  // the history of removals shows here (9), so it cannot be recounted
    index_of_[info->node->name] = nodes_.size();
    nodes_.push_back(std::move(state));
  }
  nominate(objects);
}

// Nominations

void ReferenceBackend::nominate(const ClusterObjects& objects) {
  nominated_.resize(nodes_.size());
  for (const PodPtr& pod : objects.pods) {
    if (!may_be_nominated(*pod, config_)) continue;
    const NodeIndex node = find_node(pod->rare().nominated_node_name);
    if (node != kNoNode) nominated_[to_position(node)].push_back(pod);
  }
}

NodeIndex ReferenceBackend::find_node(std::string_view name) const {
  const auto found = index_of_.find(name);
  return found == index_of_.end() ? kNoNode : to_index(found->second);
}

NodeIndex ReferenceBackend::nomination_of(const Pod& pod) const {
  const NodeIndex node = find_node(pod.rare().nominated_node_name);
  if (node == kNoNode) return kNoNode;
  const std::vector<PodPtr>& here = nominated_[to_position(node)];
  const bool listed =
      std::any_of(here.begin(), here.end(), [&](const PodPtr& other) { return other->uid() == pod.uid(); });
  return listed ? node : kNoNode;
}

void ReferenceBackend::drop_nomination(const PodPtr& pod, LogEntry& entry) {
  entry.nominated_node = nomination_of(*pod);
  if (entry.nominated_node == kNoNode) return;
  entry.nominated = pod;
  std::erase_if(nominated_[to_position(entry.nominated_node)],
                [&](const PodPtr& other) { return other->uid() == pod->uid(); });
}

// Filtering

Status ReferenceBackend::filter(const Request& request, const PreFilterResult& pre, std::size_t node) {
  ++stats_.node_evaluations;
  std::vector<PodPtr> considered;
  for (const PodPtr& pod : nominated_[node]) {
    if (pod->priority >= request.pod->priority && pod->uid() != request.pod->uid()) considered.push_back(pod);
  }
  if (!considered.empty()) {
    NodeState crowded = nodes_[node];
    PreFilterResult crowded_pre = pre;
    for (const PodPtr& pod : considered) {
      reference::add_pod(crowded, pod);
      reference::add_pod(crowded_pre, request, *pod, *crowded.node);
    }
    if (Status status = filter_node(request, crowded_pre, crowded); !status.ok()) return status;
  }
  return filter_node(request, pre, nodes_[node]);
}

/// 2.3: true when the pod's own nominated node takes it; a refusal stays recorded.
bool ReferenceBackend::try_nominated(const Request& request, Search& search) {
  const NodeIndex node = nomination_of(*request.pod);
  if (node == kNoNode) return false;
  Status status = filter(request, search.pre, to_position(node));
  search.by_nomination = status.ok();
  if (status.ok()) {
    search.feasible.push_back(to_position(node));
  } else {
    search.refusals[to_position(node)] = std::move(status);
  }
  return search.by_nomination;
}

std::vector<std::size_t> ReferenceBackend::candidates(const PreFilterResult& pre) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!pre.node_names || pre.node_names->contains(nodes_[i].node->name)) found.push_back(i);
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
                             std::size_t start, Search& search) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t node = candidates[(start + i) % candidates.size()];
    Status status = filter(request, search.pre, node);
    if (!status.ok()) {
      search.refusals[node] = std::move(status);
      continue;
    }
    if (search.feasible.size() == wanted) return;
    search.refusals[node].reset();
    search.feasible.push_back(node);
  }
}

void ReferenceBackend::search_all(const Request& request, Search& search) {
  const std::vector<std::size_t> nodes = candidates(search.pre);
  visit(request, nodes, nodes.size(), 0, search);
}

void ReferenceBackend::search_sampled(const Request& request, Search& search) {
  const std::vector<std::size_t> nodes = candidates(search.pre);
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
  return {nodes_, images_, namespaces_, services_, workloads_, engine_.upstream_bugs};
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

ReferenceBackend::Decision ReferenceBackend::choose(const PodToPlace& pod, const Request& request,
                                                    const Search& search) const {
  // A single feasible node is taken without scoring, so even a pod whose scoring would fail gets it (8.5).
  if (search.feasible.size() == 1) return {OutcomeKind::kPlaced, to_index(search.feasible[0]), 0, {}};
  const reference::ScoreTable table = score_nodes(request, states_of(search.feasible));
  if (!table.error.empty()) return {OutcomeKind::kError, kNoNode, 0, table.error};
  const std::size_t best = winner(pod, search.feasible, table.totals);
  return {OutcomeKind::kPlaced, to_index(search.feasible[best]), table.totals[best], {}};
}

ReferenceBackend::Decision ReferenceBackend::decide(const PodToPlace& pod) {
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (nodes_.empty()) return {OutcomeKind::kUnschedulable, kNoNode, 0, std::string(kNoNodesText)};
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile)) {
    return {OutcomeKind::kError, kNoNode, 0, std::move(*reason)};
  }
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  Search search;
  search.refusals.resize(nodes_.size());
  search.pre = pre_filter(request);
  if (search.pre.status.code == StatusCode::kError) {
    return {OutcomeKind::kError, kNoNode, 0, search.pre.status.message()};
  }
  if (search.pre.status.ok() && !try_nominated(request, search)) {
    if (engine_.node_sampling == NodeSampling::kKube) {
      search_sampled(request, search);
    } else {
      search_all(request, search);
    }
  }
  if (search.feasible.empty()) {
    if (const Status* error = search.first_error()) return {OutcomeKind::kError, kNoNode, 0, error->message()};
    return {OutcomeKind::kUnschedulable, kNoNode, 0, fit_error(search, nodes_.size())};
  }
  return choose(pod, request, search);
}

// Committing

void ReferenceBackend::place(const PodPtr& pod, NodeIndex node, LogEntry& entry) {
  NodeState& state = nodes_[to_position(node)];
  entry.node = node;
  entry.usage = state.usage;
  reference::add_pod(state, pod);
}

void ReferenceBackend::compile(std::span<PodToPlace> pods) {
  for (const PodToPlace& pod : pods) classes_.insert(pod_class_hash(*pod.pod->spec));
}

BatchResult ReferenceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  Messages messages;
  const Deadline deadline(limits.deadline_us);
  for (const PodToPlace& pod : pods) {
    result.stop = stop_before_next(result, limits, deadline);
    if (result.stop != StopReason::kDone) break;

    LogEntry entry;
    entry.start = next_start_;
    const Decision decision = decide(pod);
    const bool placed = decision.kind == OutcomeKind::kPlaced;
    if (placed) place(pod.pod, decision.node, entry);
    drop_nomination(pod.pod, entry);  // taken up by the placement, or lost by the failure
    log_.push_back(std::move(entry));
    const std::int32_t message = placed ? -1 : messages.index_of(decision.message, result.messages);
    result.outcomes.push_back({decision.kind, decision.node, decision.score, message});
    if (!placed && limits.stop_at_failure) {
      result.stop = StopReason::kPodWithoutNode;
      break;
    }
  }
  return result;
}

void ReferenceBackend::rollback(CommitMark mark) {
  if (mark.position > log_.size()) throw std::out_of_range("ReferenceBackend: no such mark");
  while (log_.size() > mark.position) {
    LogEntry& entry = log_.back();
    next_start_ = entry.start;
    if (entry.nominated_node != kNoNode) nominated_[to_position(entry.nominated_node)].push_back(entry.nominated);
    if (entry.node != kNoNode) {
      NodeState& state = nodes_[to_position(entry.node)];
      state.pods.pop_back();  // newest first, so the pod of this entry is the last one
      state.usage = std::move(entry.usage);
    }
    log_.pop_back();
  }
}

// Explaining

namespace {

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

Evaluation ReferenceBackend::evaluate(const PodToPlace& pod) {
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (nodes_.empty()) return {{}, {}, std::string(kNoNodesText), ""};
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile)) return {{}, {}, "", *reason};

  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  Search search;
  search.refusals.resize(nodes_.size());
  search.pre = pre_filter(request);
  if (search.pre.status.code == StatusCode::kError) return {{}, {}, "", search.pre.status.message()};
  if (search.pre.status.ok()) search_all(request, search);
  if (const Status* error = search.first_error()) return {{}, {}, "", error->message()};

  Evaluation evaluation;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Status& status = search.refusals[i] ? *search.refusals[i] : search.outside_status();
    evaluation.nodes.push_back({to_index(i), false, status, {}, 0});
  }
  for (const std::size_t node : search.feasible) evaluation.nodes[node] = {to_index(node), true, {}, {}, 0};
  if (search.feasible.empty()) {
    evaluation.message = fit_error(search, nodes_.size());
    return evaluation;
  }
  const reference::ScoreTable table = score_nodes(request, states_of(search.feasible));
  evaluation.error = table.error;
  if (table.error.empty()) fill_scores(table, search.feasible, evaluation);
  return evaluation;
}

BackendStats ReferenceBackend::stats() const {
  BackendStats stats = stats_;
  stats.class_count = static_cast<std::int64_t>(classes_.size());
  return stats;
}

std::string_view ReferenceBackend::node_name(NodeIndex index) const { return nodes_.at(to_position(index)).node->name; }

}  // namespace berth
