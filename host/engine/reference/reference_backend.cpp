// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/reference_backend.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "batching/engine_fork.h"
#include "host/engine/reference/node_position.h"
#include "host/framework/pod_signature.h"
#include "host/objects/pod_state.h"

namespace berth {

using reference::NodeState;
using reference::to_index;
using reference::to_position;

namespace {

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

// Committing

/// Answers a pod at the end of the log. @param node  kNoNode: it has none
void ReferenceBackend::answer(const PodToPlace& to_place, NodeIndex node, std::size_t start) {
  const PodPtr& pod = to_place.pod;
  const std::string uid = pod->uid();
  VolumeDecisionsPtr decisions;
  if (node != kNoNode) decisions = decide_volumes(to_place, *nodes_[to_position(node)].node);
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
    entry.decisions = std::move(decisions);
  }
  entry.nomination_lost = end_nomination(uid);  // taken up by the placement, or lost by the failure
  if (entry.decisions != nullptr) fold();       // later pods read there what is assumed
  fold_for_hosts();
}

/// Reserve. The cluster has what was decided before.
VolumeDecisionsPtr ReferenceBackend::decide_volumes(const PodToPlace& pod, const Node& node) const {
  if (pod.pod->rare().volumes.empty()) return nullptr;
  const Profile& profile = config_.profiles.at(static_cast<std::size_t>(pod.profile));
  const reference::ClusterView cluster = view();
  if (cluster.find_host_plugin("VolumeBinding") != nullptr) return nullptr;
  return reference::decide_volumes(reference::make_request(*pod.pod, profile, config_.gates, cluster), node);
}

void ReferenceBackend::compile(std::span<PodToPlace> pods) { know(pods, false); }

void ReferenceBackend::prepare(std::span<PodToPlace> pods) { know(pods, true); }

void ReferenceBackend::know(std::span<const PodToPlace> pods, bool prepared) {
  std::set<std::uint64_t> classes;
  for (const PodToPlace& pod : pods) classes.insert(pod_class_hash(*pod.pod->spec));
  known_pods_->add(pods, prepared);
  classes_.merge(classes);
}

void ReferenceBackend::release(std::span<PodToPlace> pods) {
  settle();
  known_pods_->remove(pods);
}

BatchResult ReferenceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  known_pods_->check_compiled(pods);
  BatchResult result;
  const Deadline deadline(limits.deadline_us);
  place_or_nothing([&] {
    for (const PodToPlace& pod : pods) {
      result.stop = stop_before_next(result, limits, deadline);
      if (result.stop != StopReason::kDone) break;

      const std::size_t start = next_start_;
      Decision decision = decide(pod, limits);
      const bool placed = decision.kind == OutcomeKind::kPlaced;
      answer(pod, placed ? decision.node : kNoNode, start);
      const std::int32_t message = placed ? -1 : index_of(decision.message, result.messages);
      result.outcomes.push_back({decision.kind, decision.node, decision.score, message});
      result.others = std::move(decision.others);
      if (!placed && limits.stop_at_failure) {
        result.stop = StopReason::kPodWithoutNode;
        break;
      }
    }
  });
  if (!result.outcomes.empty()) note_change();
  return result;
}

void ReferenceBackend::place(const PodToPlace& pod, std::string_view node_name) {
  known_pods_->check_compiled({&pod, 1});
  const NodeIndex node = find_node(node_name);
  if (node == kNoNode && !node_name.empty())
    throw std::invalid_argument("Backend::place: no node is called \"" + std::string(node_name) + "\"");
  place_or_nothing([&] { answer(pod, node, next_start_); });
  note_change();
}

/// Plugins on the host read placements in the cluster.
void ReferenceBackend::fold_for_hosts() {
  if (!engine_.host_plugins.empty()) fold();
}

/// A copy of everything.
std::unique_ptr<Fork> ReferenceBackend::open_fork(std::shared_ptr<const ForkParent> parent) const {
  auto cache = std::make_shared<ClusterCache>(cluster_.cache());
  for (const LogEntry& entry : std::span(log_).subspan(folded_))
    if (entry.placed != nullptr) cache->assume_pod(entry.placed, entry.node_name, entry.decisions);
  auto copy = std::make_unique<ReferenceBackend>(std::move(cache), cluster_.objects().listed(), config_, engine_);
  copy->nominations_ = nominations_;
  copy->next_start_ = next_start_;
  copy->pods_of_forks_ = pods_of_forks_;
  return std::make_unique<EngineFork>(
      std::move(copy), ForkHistory(std::move(parent)),
      [known = pods_of_forks_](std::span<const PodToPlace> pods) { known->check_prepared(pods); });
}

void ReferenceBackend::rollback(CommitMark mark) {
  if (mark.position > settled_ + log_.size() || mark.position < settled_)
    throw std::out_of_range("ReferenceBackend: no such mark");
  const std::size_t left = mark.position - settled_;
  const bool undoes = left != log_.size();
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
  if (undoes) note_change();
}

/// Hands placements over to the cluster, which knows them by uid from then on.
void ReferenceBackend::fold() {
  for (; folded_ < log_.size(); ++folded_)
    if (const LogEntry& entry = log_[folded_]; entry.placed != nullptr)
      cluster_.assume(entry.placed, entry.node_name, entry.decisions);
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

bool ReferenceBackend::undo(const Pod& pod, const NominationUpsert* nomination) {
  bool undone = false;
  all_or_nothing([&] {
    fold();
    undone = forget(pod);
    if (!undone || nomination == nullptr) return;
    ClusterEffect effect;
    effect.nomination = nomination->pod;
    effect.nominated_node = nomination->node_name;
    change_nomination(effect);
  });
  if (undone) note_change();
  return undone;
}

const EngineCluster& ReferenceBackend::cluster() {
  fold();
  return cluster_;
}

BackendStats ReferenceBackend::stats() const {
  BackendStats stats;
  stats.node_evaluations = node_evaluations_;
  stats.dry_runs = dry_runs_;
  stats.class_count = static_cast<std::int64_t>(classes_.size());
  return stats;
}

std::string_view ReferenceBackend::node_name(NodeIndex index) const {
  return index == kNoNode ? std::string_view() : nodes_.at(to_position(index)).node->name;
}

}  // namespace berth
