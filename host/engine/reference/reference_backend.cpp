// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "batching/engine_fork.h"
#include "host/cluster/name_hash.h"
#include "host/engine/reference/node_position.h"
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
using reference::to_index;
using reference::to_position;

struct ReferenceBackend::Decision {
  OutcomeKind kind = OutcomeKind::kUnschedulable;
  NodeIndex node = kNoNode;
  std::int64_t score = 0;
  Message message = {};
};

namespace {

constexpr std::size_t kAlwaysSearched = 100;  ///< clusters smaller than this are searched whole

/// Which pods hold a nomination: those that the queue would hold, too.
bool may_be_nominated(const Pod& pod, const SchedulerConfig& config) {
  return is_pending(pod) && pod.rare().scheduling_gates.empty() &&
         config.find_profile(pod.spec->scheduler_name) != nullptr;
}

/// Keeps each distinct message once.
std::int32_t index_of(const Message& message, std::vector<Message>& messages) {
  const auto known = std::find(messages.begin(), messages.end(), message);
  if (known != messages.end()) return static_cast<std::int32_t>(known - messages.begin());
  messages.push_back(message);
  return static_cast<std::int32_t>(messages.size()) - 1;
}

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

ReferenceBackend::ReferenceBackend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                                   const SchedulerConfig& config, const EngineConfig& engine)
    : config_(config), engine_(engine), cluster_(std::move(cache), objects) {
  check_host_plugins(engine_.host_plugins);
  read_nodes();
  for (const PodPtr& pod : objects.pods) nominate(pod, pod->rare().nominated_node_name);
}

// Calls as a whole

void ReferenceBackend::begin_call() noexcept {
  if (depth_++ == 0) cluster_.begin();
}

void ReferenceBackend::keep_call() noexcept {
  if (--depth_ > 0) return;
  cluster_.keep();
  for (const auto& [uid, end] : renominated_)
    for (std::size_t i = 0; i < std::min(end, log_.size()); ++i)
      if (log_[i].nomination_lost && log_[i].nomination_lost->uid == uid) log_[i].nomination_lost.reset();
  renominated_.clear();
}

void ReferenceBackend::take_back_call() noexcept {
  if (--depth_ > 0) return;
  cluster_.take_back();
  renominated_.clear();
}

/// Runs the body of a call. When it throws, nothing of it has happened. Copies what the body may change.
template <class Body>
void ReferenceBackend::all_or_nothing(Body body) {
  Before before{nodes_, index_of_, nominations_, next_start_, log_.size(), folded_, change_version()};
  begin_call();
  try {
    body();
  } catch (...) {
    take_back_call();
    nodes_.swap(before.nodes);
    index_of_.swap(before.index_of);
    nominations_.swap(before.nominations);
    next_start_ = before.next_start;
    log_.erase(log_.begin() + static_cast<std::ptrdiff_t>(before.answered), log_.end());
    folded_ = before.folded;
    forget_changes_since(before.version);
    throw;
  }
  keep_call();
}

/// The same for a body that only answers pods: without copies.
template <class Body>
void ReferenceBackend::place_or_nothing(Body body) {
  const std::size_t answered = log_.size();
  const std::size_t folded = folded_;
  const std::size_t start = next_start_;
  begin_call();
  try {
    body();
  } catch (...) {
    take_back_call();
    for (; log_.size() > answered; log_.pop_back()) take_back(log_.back());
    folded_ = folded;
    next_start_ = start;
    throw;
  }
  keep_call();
}

/// The newest entry, of which the cluster knows nothing. Allocates nothing.
void ReferenceBackend::take_back(LogEntry& entry) noexcept {
  next_start_ = entry.start;
  if (entry.nomination_lost) nominations_.push_back(std::move(*entry.nomination_lost));  // where there was room for it
  if (entry.placed == nullptr) return;
  NodeState& state = nodes_[entry.position];
  state.pods.pop_back();  // newest first, so the pod of this entry is the last one
  state.usage = std::move(entry.usage);
}

void ReferenceBackend::as_one(const std::function<void()>& calls) {
  all_or_nothing([&] { calls(); });
}

// The cluster

void ReferenceBackend::read_node(const NodeInfo& info, NodeState& state) const {
  state = {};
  state.node = info.node;
  for (const PodPtr& pod : info.pods) reference::add_pod(state, pod);
  state.usage.ports = info.used_ports;  // the history of removals shows here (9), so it cannot be recounted
}

void ReferenceBackend::read_nodes() {
  std::vector<NodeState> nodes;
  std::map<std::string, std::size_t, std::less<>> index_of;
  for (const NodeInfo* info : cluster_.cache().nodes_in_order()) {
    index_of[info->node->name] = nodes.size();
    read_node(*info, nodes.emplace_back());
  }
  nodes_.swap(nodes);
  index_of_.swap(index_of);
}

void ReferenceBackend::reload_node(std::string_view name) {
  const NodeIndex node = find_node(name);
  if (node != kNoNode) read_node(*cluster_.cache().find_node(name), nodes_[to_position(node)]);
}

NodeIndex ReferenceBackend::find_node(std::string_view name) const {
  const auto found = index_of_.find(name);
  return found == index_of_.end() ? kNoNode : to_index(found->second);
}

void ReferenceBackend::apply(std::span<const ClusterChange> changes) {
  all_or_nothing([&] {
    fold();
    for (const ClusterChange& change : changes) {
      const ClusterEffect effect = cluster_.apply(change);
      if (!effect.is_nothing()) note_change();
      change_nomination(effect);
    }
    read_nodes();
  });
}

// Nominations

void ReferenceBackend::nominate(const PodPtr& pod, const std::string& node_name) {
  std::string uid = pod->uid();
  end_nomination(uid);
  if (!node_name.empty() && may_be_nominated(*pod, config_)) nominations_.push_back({pod, std::move(uid), node_name});
}

std::optional<ReferenceBackend::Nomination> ReferenceBackend::end_nomination(std::string_view uid) {
  const auto found = std::find_if(nominations_.begin(), nominations_.end(),
                                  [&](const Nomination& nomination) { return nomination.uid == uid; });
  if (found == nominations_.end()) return std::nullopt;
  Nomination ended = std::move(*found);
  nominations_.erase(found);
  return ended;
}

void ReferenceBackend::change_nomination(const ClusterEffect& effect) {
  const std::string uid = effect.nomination != nullptr ? effect.nomination->uid() : effect.nomination_ended;
  if (uid.empty()) return;
  renominated_.emplace_back(uid, log_.size());  // what is known from outside counts, also after a rollback
  end_nomination(uid);
  if (effect.nomination != nullptr) nominate(effect.nomination, effect.nominated_node);
}

NodeIndex ReferenceBackend::nomination_of(const Pod& pod) const {
  for (const Nomination& nomination : nominations_)
    if (nomination.uid == pod.uid()) return find_node(nomination.node_name);
  return kNoNode;
}

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
  if (node == kNoNode) return false;
  ++stats_.node_evaluations;
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
    ++stats_.node_evaluations;
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
  const ClusterObjects& objects = cluster_.objects();
  return {nodes_,
          cluster_.cache().images(),
          objects.namespaces,
          objects.services,
          objects.workloads,
          engine_.upstream_bugs,
          engine_.host_plugins,
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

ReferenceBackend::Decision ReferenceBackend::choose(const PodToPlace& pod, const Request& request,
                                                    const Search& search) const {
  // A single feasible node is taken without scoring, so even a pod whose scoring would fail gets it (8.5).
  if (search.feasible.size() == 1) return {OutcomeKind::kPlaced, to_index(search.feasible[0]), 0, {}};
  const reference::ScoreTable table = score_nodes(request, states_of(search.feasible));
  if (!table.error.empty()) return {OutcomeKind::kError, kNoNode, 0, {table.error, {}}};
  const std::size_t best = winner(pod, search.feasible, table.totals);
  return {OutcomeKind::kPlaced, to_index(search.feasible[best]), table.totals[best], {}};
}

ReferenceBackend::Decision ReferenceBackend::decide(const PodToPlace& pod) {
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  if (nodes_.empty()) return {OutcomeKind::kUnschedulable, kNoNode, 0, {std::string(kNoNodesText), {}}};
  if (std::optional<std::string> reason = unsupported_reason(*pod.pod, profile, engine_.host_plugins)) {
    return {OutcomeKind::kError, kNoNode, 0, {std::move(*reason), {}}};
  }
  const reference::ClusterView cluster = view();
  const Request request = reference::make_request(*pod.pod, profile, config_.gates, cluster);
  Search search;
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
  return choose(pod, request, search);
}

// Committing

/// Answers a pod at the end of the log. @param node  kNoNode: it has none
void ReferenceBackend::answer(const PodPtr& pod, NodeIndex node, std::size_t start) {
  const std::string uid = pod->uid();
  LogEntry& entry = log_.emplace_back();
  entry.start = start;
  if (node != kNoNode) {
    entry.position = to_position(node);
    NodeState& state = nodes_[entry.position];
    entry.node_name = state.node->name;
    entry.usage = state.usage;
    NodeState changed = state;
    reference::add_pod(changed, pod);
    std::swap(state, changed);
    entry.placed = pod;
  }
  entry.nomination_lost = end_nomination(uid);  // taken up by the placement, or lost by the failure
  fold_for_hosts();
}

void ReferenceBackend::compile(std::span<PodToPlace> pods) {
  std::set<std::uint64_t> classes;
  for (const PodToPlace& pod : pods) classes.insert(pod_class_hash(*pod.pod->spec));
  classes_.merge(classes);
}

BatchResult ReferenceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  const Deadline deadline(limits.deadline_us);
  place_or_nothing([&] {
    for (const PodToPlace& pod : pods) {
      result.stop = stop_before_next(result, limits, deadline);
      if (result.stop != StopReason::kDone) break;

      const std::size_t start = next_start_;
      const Decision decision = decide(pod);
      const bool placed = decision.kind == OutcomeKind::kPlaced;
      answer(pod.pod, placed ? decision.node : kNoNode, start);
      const std::int32_t message = placed ? -1 : index_of(decision.message, result.messages);
      result.outcomes.push_back({decision.kind, decision.node, decision.score, message});
      if (!placed && limits.stop_at_failure) {
        result.stop = StopReason::kPodWithoutNode;
        break;
      }
    }
  });
  note_change();
  return result;
}

void ReferenceBackend::place(const PodToPlace& pod, std::string_view node_name) {
  const NodeIndex node = find_node(node_name);
  if (node == kNoNode && !node_name.empty())
    throw std::invalid_argument("Backend::place: no node is called \"" + std::string(node_name) + "\"");
  place_or_nothing([&] { answer(pod.pod, node, next_start_); });
  note_change();
}

/// Plugins on the host read placements in the cluster.
void ReferenceBackend::fold_for_hosts() {
  if (!engine_.host_plugins.empty()) fold();
}

/// A copy of everything.
std::unique_ptr<Fork> ReferenceBackend::open_fork(std::shared_ptr<const ForkParent> parent) {
  fold();
  auto copy = std::make_unique<ReferenceBackend>(std::make_shared<const ClusterCache>(cluster_.cache()),
                                                 cluster_.objects(), config_, engine_);
  copy->nominations_ = nominations_;
  copy->next_start_ = next_start_;
  return std::make_unique<EngineFork>(std::move(copy), ForkHistory(std::move(parent)));
}

void ReferenceBackend::rollback(CommitMark mark) {
  if (mark.position > settled_ + log_.size() || mark.position < settled_)
    throw std::out_of_range("ReferenceBackend: no such mark");
  const std::size_t left = mark.position - settled_;
  all_or_nothing([&] {
    for (std::size_t i = log_.size(); i-- > left;) {
      const LogEntry& entry = log_[i];
      next_start_ = entry.start;
      if (entry.nomination_lost) nominate(entry.nomination_lost->pod, entry.nomination_lost->node_name);
      if (entry.placed == nullptr) continue;
      if (i < folded_) {
        forget(*entry.placed);
      } else {
        NodeState& state = nodes_[entry.position];
        state.pods.pop_back();  // newest first, so the pod of this entry is the last one
        state.usage = entry.usage;
      }
    }
    // Nothing below allocates.
    log_.erase(log_.begin() + static_cast<std::ptrdiff_t>(left), log_.end());
    folded_ = std::min(folded_, left);
  });
  note_change();
}

/// Hands placements over to the cluster, which knows them by uid from then on.
void ReferenceBackend::fold() {
  for (; folded_ < log_.size(); ++folded_)
    if (const LogEntry& entry = log_[folded_]; entry.placed != nullptr) cluster_.assume(entry.placed, entry.node_name);
}

void ReferenceBackend::settle() {
  fold();
  settled_ += log_.size();
  log_.clear();
  folded_ = 0;
}

/// Takes a placement off the cluster and its node. @return false when it is not there, or was confirmed
bool ReferenceBackend::forget(const Pod& pod) {
  const std::optional<PodChange> change = cluster_.forget(pod.uid());
  if (change) reload_node(change->node);
  return change.has_value();
}

bool ReferenceBackend::undo(const Pod& pod) {
  bool undone = false;
  all_or_nothing([&] {
    fold();
    undone = forget(pod);
  });
  if (undone) note_change();
  return undone;
}

BackendStats ReferenceBackend::stats() const {
  BackendStats stats = stats_;
  stats.dry_runs = dry_runs_;
  stats.class_count = static_cast<std::int64_t>(classes_.size());
  return stats;
}

std::string_view ReferenceBackend::node_name(NodeIndex index) const {
  return index == kNoNode ? std::string_view() : nodes_.at(to_position(index)).node->name;
}

}  // namespace berth
