// SPDX-License-Identifier: Apache-2.0
#include "batching/commit_state.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "batching/evaluation.h"
#include "batching/node_filter.h"
#include "batching/unknown_pod.h"
#include "host/cluster/pod_footprint.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

/// 48 KiB of changes, however few slots there are.
constexpr std::size_t kLogEntriesMin = 4096;

void check_totals(const SchedulerConfig& config, std::string_view backend_name) {
  for (const Profile& profile : config.profiles)
    if (max_total(profile) > kMaxTotal)
      throw InputError(InputProblem{"", "profile " + profile.scheduler_name + ".plugins.score",
                                    "weights add up to a total of " + std::to_string(max_total(profile)) + ", the " +
                                        std::string(backend_name) + " backend holds " + std::to_string(kMaxTotal) +
                                        "; use --backend reference"});
}

}  // namespace

CommitState::CommitState(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                         const SchedulerConfig& scheduler_config, const EngineConfig& engine_config,
                         std::string_view backend_name)
    : own_cluster_(std::make_shared<EngineCluster>(std::move(cache), objects)),
      config((check_totals(scheduler_config, backend_name), scheduler_config)),  // before anything depends on weights
      cluster(*own_cluster_),
      engine(engine_config),
      snapshot(cluster.cache()),
      table(*(own_table_ = std::make_unique<ClassTable>(cluster, config, engine, snapshot))),
      guests(table, config.gates, snapshot),
      sides(table),
      nominations(objects, config, snapshot, table),
      nomination_answers(sides, nominations, snapshot, log),
      reasons(sides, nominations, snapshot, log),
      fork_source_(std::make_shared<ForkSource>()),
      mutex_(fork_source_->mutex) {
  keep_log(kLogEntriesMin);
  know_nominated();
  fork_source_->live = this;
  fork_source_->journal = cluster.journal();
}

void CommitState::keep_log(std::size_t entries_min) {
  log_entries_min_ = entries_min;
  log.keep_at_least(std::max(entries_min, static_cast<std::size_t>(snapshot.slot_count())));
}

CommitState::CommitState(const CommitState& from, ForFork)
    : config(from.config),
      cluster(from.cluster),
      engine(from.engine),
      snapshot(from.snapshot.borrowed()),
      table(from.table),
      guests(table, config.gates, snapshot),
      sides(table, &guests),
      nominations(from.nominations),
      nomination_answers(sides, nominations, snapshot, log),
      reasons(sides, nominations, snapshot, log),
      next_start_(from.next_start_) {}

// Outcomes

/// At once, since a batch may be larger than all before it; at least twice as much, since many may be small.
void CommitState::make_room_for_answers(std::size_t pod_count) {
  if (answered.capacity() - answered.size() < pod_count)
    answered.reserve(std::max(answered.size() + pod_count, 2 * answered.capacity()));
}

bool CommitState::begin_cycle(std::size_t pod_count) {
  make_room_for_answers(pod_count);
  return std::exchange(order_changed_, false);
}

ClassInBatch& CommitState::in_batch(std::int32_t pod_class) {
  const auto c = static_cast<std::size_t>(pod_class);
  if (c >= classes_in_batch_.size()) classes_in_batch_.resize(static_cast<std::size_t>(table.size()));
  return classes_in_batch_[c];
}

bool CommitState::passes_in_batch(std::int32_t pod_class) const {
  const auto c = static_cast<std::size_t>(pod_class);
  return c < classes_in_batch_.size() && classes_in_batch_[c].passes_in == batch_;
}

bool CommitState::answer_without_row(const PodToPlace& pod, std::int32_t& own_nomination) {
  own_nomination = -1;
  const auto fails = [&](OutcomeKind kind, const Message& message) {
    fail(pod, kind, message);
    return true;
  };
  if (count_among() == 0) return fails(OutcomeKind::kUnschedulable, {std::string(kNoNodesText), {}, 0});
  if (ClassTable::is_error(pod.class_index)) return fails(OutcomeKind::kError, {table.error(pod.class_index), {}, 0});
  if (pod.class_index < 0) throw_not_compiled(*pod.pod);
  if (passes_in_batch(pod.class_index)) return try_nominated_node(pod, own_nomination);
  if (table.is_pre_filter_idle(pod.class_index)) {
    if (table.score_error(pod.class_index).empty()) in_batch(pod.class_index).passes_in = batch_;
    return try_nominated_node(pod, own_nomination);
  }
  const PreFilterAnswer pre_filter = table.pre_filter(pod.class_index);
  if (!pre_filter.error.empty()) return fails(OutcomeKind::kError, {pre_filter.error, {}, 0});
  if (!pre_filter.message.empty()) {
    const std::int64_t nodes = count_among();
    return fails(
        OutcomeKind::kUnschedulable,
        message_of({nodes,
                    {},
                    pre_filter.message,
                    pre_filter_rejectors(pre_filter, table[pod.class_index], table.compiled_node_side(pod.class_index)),
                    pre_filter.code == StatusCode::kUnschedulable ? nodes : 0}));
  }
  return try_nominated_node(pod, own_nomination);
}

/// Tries the node that the pod is nominated to before all others.
bool CommitState::try_nominated_node(const PodToPlace& pod, std::int32_t& refused_own) {
  const std::int32_t node = nominations.node_of(*pod.pod);
  if (node < 0 || !is_among(node)) return false;
  const Status status =
      nominations.filter_with_nominated_pods(*pod.pod, table[pod.class_index], table.profile_of(pod.class_index),
                                             sides.on_own_node(pod.class_index, node), snapshot, node);
  if (status.ok()) {
    place(pod, node, 0);
    return true;
  }
  // Upstream only logs an error: the node is visited with the others, or not at all.
  if (status.code != StatusCode::kError) refused_own = node;
  return false;
}

void CommitState::answer(const PodToPlace& pod, const Selection& selection, std::int32_t own_nomination) {
  if (selection.feasible_count == 0) return fail_everywhere(pod, own_nomination);
  // A single feasible node is taken without scoring.
  if (selection.feasible_count == 1) return place(pod, selection.node, 0);
  if (!passes_in_batch(pod.class_index))
    if (const std::string& error = table.score_error(pod.class_index); !error.empty())
      return fail(pod, OutcomeKind::kError, {error, {}, 0});
  place(pod, selection.node, selection.total);
}

FeasibleList CommitState::list_feasible(const PodToPlace& pod, const ClassOnNodes& nodes, const ExcludedNodes& refused,
                                        std::int32_t own_nomination, std::string& error) {
  const NodeSideView row = sides.of(pod.class_index);
  const PodClass& pod_class = table[pod.class_index];
  const bool may_fail =
      table.host_decides(pod.class_index) && (pod_class.host.has_errors() || nominations.any_against(*pod.pod));
  std::int32_t error_rank = INT32_MAX;  // of several errors, the first in node order
  const auto feasible = [&](std::int32_t node) {
    if (nodes.accepts(node) && !refused.contains(node) && filter_topology(pod_class, snapshot, node).accepts())
      return true;
    // Plugins on the host may end the cycle on one node while others are feasible.
    if (!may_fail || snapshot.rank(node) > error_rank) return false;
    const Status status = nominations.filter_with_nominated_pods(*pod.pod, pod_class, table.profile_of(pod.class_index),
                                                                 row, snapshot, node);
    if (status.code != StatusCode::kError) return false;
    error = status.message();
    error_rank = snapshot.rank(node);
    return false;
  };
  std::vector<std::int32_t> candidates = candidate_nodes(pod_class, row, snapshot);
  if (among_ != nullptr) std::erase_if(candidates, [&](std::int32_t node) { return !is_among(node); });
  list_evaluations += static_cast<std::int64_t>(candidates.size());
  if (engine.node_sampling == NodeSampling::kAll) return visit_all(candidates, feasible);
  const Profile& profile = *table.profile_of(pod.class_index).profile;
  const std::size_t wanted = wanted_feasible(profile, config, candidates.size());
  FeasibleList list = visit_sample(candidates, next_start_, wanted, own_nomination, feasible);
  start_before_[answered.size()] = next_start_;
  next_start_ = (next_start_ + list.nodes.size() + list.recorded) % static_cast<std::size_t>(snapshot.node_count());
  return list;
}

void CommitState::answer_from_list(const PodToPlace& pod, const ClassOnNodes& nodes, const ExcludedNodes& refused,
                                   std::int32_t own_nomination) {
  std::string error;
  const FeasibleList list = list_feasible(pod, nodes, refused, own_nomination, error);
  if (!error.empty()) return fail(pod, OutcomeKind::kError, {error, {}, 0});
  if (list.nodes.empty()) return fail_everywhere(pod, own_nomination);
  if (list.nodes.size() == 1) return place(pod, list.nodes.front(), 0);
  const std::int32_t c = pod.class_index;
  const std::string& score_error = table.score_error(c);
  if (!score_error.empty()) return fail(pod, OutcomeKind::kError, {score_error, {}, 0});
  const bool asks_hosts = table.host_decides(c);
  std::optional<HostScores> host;
  if (asks_hosts) {
    host.emplace(table[c].host, *table.profile_of(c).profile, list.nodes);
    if (!host->error().empty()) return fail(pod, OutcomeKind::kError, {host->error(), {}, 0});
  }
  const HostScores* const host_scores = host ? &*host : nullptr;
  if (asks_hosts || scores_may_leave_range(table[c], snapshot)) {
    error = score_range_error(table[c], table.profile_of(c), snapshot, list.nodes, host_scores);
    if (!error.empty()) return fail(pod, OutcomeKind::kError, {error, {}, 0});
  }
  if (ranks_nodes_) {
    const std::vector<Selection> ranked = rank_list(list.nodes, nodes, table[c], sides.of(c), table.profile_of(c),
                                                    snapshot, engine.tie_break, host_scores);
    for (std::size_t i = 1; i < ranked.size(); ++i) result->others.push_back({ranked[i].node});
    return place(pod, ranked.front().node, ranked.front().total);
  }
  const Selection selection = choose_from_list(list.nodes, nodes, table[c], sides.of(c), table.profile_of(c), snapshot,
                                               engine.tie_break, host_scores);
  place(pod, selection.node, selection.total);
}

void CommitState::answer_uncached(const PodToPlace& pod, std::int32_t own_nomination) {
  const std::int32_t c = pod.class_index;
  if (table.host_decides(c)) ++host_pods;
  const UncachedClass nodes(table[c], table.profile_of(c), sides.of(c), snapshot);
  answer_from_list(pod, nodes, nomination_answers.of(pod).nodes, own_nomination);
}

void CommitState::bring(std::int32_t node, std::int32_t pod_class, std::int32_t copies) {
  const PodClass& brings = table[pod_class];
  snapshot.apply(node, brings.delta, copies);
  if (!brings.moves.empty()) snapshot.write_topology().add_all(brings.moves, node, copies);
  log.append({node, pod_class, 1});
}

std::size_t CommitState::equal_pods(std::span<const PodToPlace> pods, std::size_t limit) {
  const PodToPlace* const front = pods.data();
  const PodToPlace* const end = front + pods.size();
  if (front < run_begin_ || front >= run_end_) {
    run_begin_ = front;
    run_end_ = std::find_if(front, end, [&](const PodToPlace& pod) { return !is_answered_alike(*front, pod); });
  }
  return std::min(static_cast<std::size_t>(run_end_ - front), limit);
}

/// Whether a pod at the front of a run lets the other one join it.
bool CommitState::is_answered_alike(const PodToPlace& front, const PodToPlace& pod) const {
  if (pod.class_index != front.class_index || nominations.holds(*pod.pod)) return false;
  // Without nominations the pods are not read: that would be a cache miss for each.
  return nominations.empty() || !nominations.tell_apart(front.pod->priority, pod.pod->priority);
}

void CommitState::answer_copy(const PodToPlace& pod, std::int32_t node, std::int64_t total,
                              std::int64_t feasible_count) {
  const std::int64_t score = scores_anything(pod.class_index) ? total : 1;
  // A single feasible node is taken without scoring.
  result->outcomes.push_back({OutcomeKind::kPlaced, {node}, feasible_count == 1 ? 0 : score, -1});
  answered.push_back({pod.pod.get(), node, pod.class_index, pod.handle});
  note_placed(pod, node);
  copies_.add(node);
}

void CommitState::apply_copies(std::int32_t pod_class) {
  copies_.take([&](std::int32_t node, std::int32_t copies) { bring(node, pod_class, copies); });
}

void CommitState::place(const PodToPlace& pod, std::int32_t node, std::int64_t score) {
  result->outcomes.push_back({OutcomeKind::kPlaced, {node}, score, -1});
  drop_nomination(pod);
  const std::vector<HostPort>& wanted = table[pod.class_index].ports;
  if (!wanted.empty()) add_ports(snapshot.write_used_ports(node), wanted);
  bring(node, pod.class_index, 1);
  note_placed(pod, node);
  answered.push_back({pod.pod.get(), node, pod.class_index, pod.handle});
}

void CommitState::place(const PodToPlace& pod, std::string_view node_name) {
  const std::int32_t node = snapshot.find_node(node_name);
  if (node < 0 && !node_name.empty())
    throw std::invalid_argument("Backend::place: no node is called \"" + std::string(node_name) + "\"");
  const bool is_fork = own_table_ == nullptr;  // its pods are current, and known to the engine
  if (!is_fork && kept_pods_.find(pod) == nullptr) throw_not_compiled(*pod.pod);
  all_or_nothing([&] {
    PodToPlace current = pod;
    if (!is_fork) make_current({&current, 1});
    if (node >= 0 && current.class_index < 0)
      throw std::logic_error(
          "Backend::place: pod " + pod.pod->full_name() + " has no class" +
          (ClassTable::is_error(current.class_index) ? ": " + table.error(current.class_index) : ""));
    make_room_for_answers(1);
    BatchResult placed;
    result = &placed;
    if (node >= 0) {
      place(current, node, 0);
    } else {
      fail_with(current, OutcomeKind::kUnschedulable, -1);
    }
    result = nullptr;
  });
}

std::int32_t CommitState::message_index(const Message& message) {
  const auto [at, is_new] =
      message_index_.try_emplace({message.text, message.rejectors, message.resolvable_nodes, message.pending},
                                 static_cast<std::int32_t>(result->messages.size()));
  if (is_new) result->messages.push_back(message);
  return at->second;
}

void CommitState::fail(const PodToPlace& pod, OutcomeKind kind, const Message& message) {
  fail_with(pod, kind, message_index(message));
}

void CommitState::fail_with(const PodToPlace& pod, OutcomeKind kind, std::int32_t message) {
  result->outcomes.push_back({kind, kNoNode, 0, message});
  drop_nomination(pod);
  answered.push_back({pod.pod.get(), -1, pod.class_index, pod.handle});
}

/// A nomination ends with the placement or the failure of the pod.
void CommitState::drop_nomination(const PodToPlace& pod) {
  if (auto node = nominations.remove(*pod.pod))
    nomination_lost_[answered.size()] = {pod.pod, pod.pod->uid(), std::move(*node)};
}

bool CommitState::is_among(std::int32_t node) const {
  const auto i = static_cast<std::size_t>(node);
  return among_ == nullptr || (i < among_->size() && (*among_)[i]);
}

std::int64_t CommitState::count_among() const {
  if (among_ == nullptr) return snapshot.node_count();
  return std::ranges::count_if(snapshot.in_order(), [&](std::int32_t node) { return is_among(node); });
}

/// Of a pod that no node of BatchLimits::among accepts.
void CommitState::fail_among(const PodToPlace& pod, std::int32_t own_nomination) {
  std::vector<NodeIndex> nodes;
  for (const std::int32_t node : snapshot.in_order())
    if (is_among(node)) nodes.push_back({node});
  const FailedSearch search = failed_search(pod, nodes, own_nomination, sides, nominations, snapshot);
  if (!search.error.empty()) return fail(pod, OutcomeKind::kError, {search.error, {}, 0});
  fail(pod, OutcomeKind::kUnschedulable, message_of(search.diagnosis));
}

/// For a pod that no node accepts.
void CommitState::fail_everywhere(const PodToPlace& pod, std::int32_t own_nomination) {
  if (among_ != nullptr) return fail_among(pod, own_nomination);
  if (own_nomination >= 0 || nominations.any_against(*pod.pod)) {
    const DiagnosisRow::Answer answer = reasons.with_nominations(pod, own_nomination);
    return fail(pod, answer.is_error ? OutcomeKind::kError : OutcomeKind::kUnschedulable, answer.message);
  }
  if (!repeat_failure(pod)) fail_for(pod, reasons.of_class(pod.class_index));
}

/// @param answer  of the pod's class, nominations aside
void CommitState::fail_for(const PodToPlace& pod, const DiagnosisRow::Answer& answer) {
  ClassInBatch::Failure& failure = in_batch(pod.class_index).failure;
  if (failure.batch != batch_ || failure.answer_version != answer.version) {
    const OutcomeKind kind = answer.is_error ? OutcomeKind::kError : OutcomeKind::kUnschedulable;
    failure = {batch_, answer.version, 0, kind, message_index(answer.message)};
  }
  failure.log_position = log.position();
  fail_with(pod, failure.kind, failure.message);
}

bool CommitState::repeat_failure(const PodToPlace& pod) {
  const auto c = static_cast<std::size_t>(pod.class_index);
  if (pod.class_index < 0 || c >= classes_in_batch_.size() || among_ != nullptr) return false;
  if (engine.node_sampling != NodeSampling::kAll) return false;  // a search moves the node that the next one starts at
  const ClassInBatch::Failure& failure = classes_in_batch_[c].failure;
  if (failure.batch != batch_ || failure.log_position != log.position()) return false;
  if (concerned_by_nominations(*pod.pod)) return false;
  if (table.host_decides(pod.class_index) && !table.host_only_refuses(pod.class_index)) return false;
  fail_with(pod, failure.kind, failure.message);
  return true;
}

/// A pod came to the node, or left it.
void CommitState::note_for_hosts(const Pod& pod, std::int32_t node) {
  if (own_table_ != nullptr) table.hosts().note_pod(pod, node);
}

// Rollback

void CommitState::rollback(CommitMark mark) {
  if (mark.position > settled_ + answered.size() || mark.position < settled_)
    throw std::out_of_range("Backend::rollback: no such mark, or one from before settle()");
  const std::size_t left = mark.position - settled_;
  all_or_nothing([&] {
    for (std::size_t position = answered.size(); position-- > left;) take_back_answer(position);
    // Nothing below allocates.
    const auto first_start = start_before_.lower_bound(left);
    if (first_start != start_before_.end()) next_start_ = first_start->second;
    start_before_.erase(first_start, start_before_.end());
    nomination_lost_.erase(nomination_lost_.lower_bound(left), nomination_lost_.end());
    answered.resize(left);
    folded_ = std::min(folded_, left);
  });
}

void CommitState::take_back_answer(std::size_t position) {
  const AnsweredPod pod = answered[position];
  if (pod.node >= 0 && position < folded_) {
    const std::optional<PodChange> change = forget(*kept_pod(pod));
    if (change) derive([&] { follow_pod(*change); });
  } else if (pod.node >= 0) {
    derive([&] { take_back(pod); });
  }
  const auto lost = nomination_lost_.find(position);
  if (lost == nomination_lost_.end()) return;
  NominationChange change;
  change.ended = nominations.release(lost->second.uid);
  change.began = nominations.hold(lost->second.pod, lost->second.node_name);
  derive([&] { follow(change); });
}

void CommitState::take_back(const AnsweredPod& last) {
  const PodClass& pod_class = table[last.pod_class];
  snapshot.apply(last.node, pod_class.delta, -1);
  snapshot.write_topology().add_all(table.topology().moves_of(*last.pod, pod_class.profile), last.node, -1);
  if (!pod_class.ports.empty()) take_off_ports(snapshot.write_used_ports(last.node), pod_class.ports);
  log.append({last.node, last.pod_class, -1});
  note_for_hosts(*last.pod, last.node);
  if (own_table_ != nullptr && table.hosts().forget_placed(*last.pod, last.node)) table.topology().advance_epoch();
}

/// Takes a placement off the cluster. Forks know of pods that come and go, but not of what was assumed for them.
std::optional<PodChange> CommitState::forget(const Pod& pod) {
  const std::string uid = pod.uid();
  const bool has_decisions = cluster.cache().storage().decisions_of(uid) != nullptr;
  if (has_decisions || is_journal_full()) detach_forks();
  std::optional<PodChange> change = cluster.forget(uid);
  if (has_decisions && change) derive([&] { table.hosts().note_all(); });
  return change;
}

VolumeDecisionsPtr CommitState::volume_decisions(const Pod& pod) {
  fold();
  return cluster.cache().storage().decisions_of(pod.uid());
}

void CommitState::settle() {
  fold();
  settled_ += answered.size();
  answered.clear();
  folded_ = 0;
  nomination_lost_.clear();
  start_before_.clear();
}

}  // namespace berth
