// SPDX-License-Identifier: Apache-2.0
#include "batching/overlay_fork.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "batching/copies_that_fit.h"
#include "batching/evaluation.h"
#include "batching/feasible_list.h"
#include "batching/overlay_reading.h"
#include "batching/verdicts.h"

namespace berth {
namespace {

bool needs_no_row(const PodToPlace& /*known*/) { return false; }

/// Another fork compiled something while this one let it: the pods have to be prepared again.
bool any_stale(std::span<const PodToPlace> pods, const CommitState& live) {
  return std::any_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return live.table.is_stale(pod); });
}

}  // namespace

OverlayFork::OverlayFork(std::shared_ptr<ForkSource> source, std::shared_ptr<const ForkParent> parent)
    : source_(std::move(source)), history_(std::move(parent)) {
  state_ = std::make_unique<CommitState>(*source_->live, CommitState::ForFork());
  journal_position_ = journal_seen_ = source_->journal->begin_reading();
  live_log_seen_ = source_->live->log.position();
  self_->fork = this;
}

/// Call while reading.
OverlayFork::OverlayFork(const OverlayFork& from, std::shared_ptr<const ForkParent> parent)
    : source_(from.source_),
      journal_position_(from.journal_position_),
      state_(std::make_unique<CommitState>(*from.state_, CommitState::ForFork())),
      own_pods_(from.own_pods_),
      may_stray_(from.may_stray_),
      changed_since_(from.changed_since_),
      journal_seen_(from.journal_seen_),
      guest_domains_(from.guest_domains_),
      touched_(from.touched_),
      live_log_seen_(from.live_log_seen_),
      history_(std::move(parent), from.history_.steps()) {
  if (!from.state_->snapshot.guests().empty()) names_ = from.names_;
  source_->journal->begin_reading_at(journal_position_);
  self_->fork = this;
}

OverlayFork::~OverlayFork() {
  self_->fork = nullptr;
  const Reading reading(*source_);
  state_.reset();
  source_->journal->stop_reading(journal_position_);
}

// Placing

/// The pods as the engine that the fork reads knows them now: those that it has prepared, or, where it belongs to a
/// fork itself, copies that it prepares here.
std::vector<PodToPlace> OverlayFork::prepared(std::span<const PodToPlace> pods, Reading& reading) const {
  const CommitState& live = *source_->live;
  std::vector<PodToPlace> known;
  known.reserve(pods.size());
  bool is_current = !source_->is_of_fork;
  for (const PodToPlace& pod : pods) {
    known.push_back(source_->is_of_fork ? not_compiled(pod) : live.current(pod));
    if (source_->is_of_fork) continue;
    live.check_prepared(pod);
    is_current = is_current && !live.is_outdated(pod);
  }
  if (!is_current) reading.alone([&] { source_->live->prepare(known); });
  return known;
}

/// Plugins on the host may decide on one of the pods: their answers follow what is done to the fork, so that it needs
/// an engine of its own.
bool OverlayFork::asks_hosts(std::span<const PodToPlace> pods, const Reading& reading) const {
  return reading.is_live() && std::any_of(pods.begin(), pods.end(), [&](const PodToPlace& pod) {
           return pod.class_index >= 0 && state_->table.host_may_decide(pod.class_index);
         });
}

void OverlayFork::make_ready(std::span<const PodToPlace> pods, Reading& reading) {
  if (reading.is_live() && !source_->live->is_ready_for_forks(pods))
    reading.alone([&] { source_->live->make_ready_for_forks(pods); });
}

BatchResult OverlayFork::commit_batch(std::span<const PodToPlace> given, const BatchLimits& limits) {
  check_known(given);
  BatchResult result;
  const bool done = on_overlay([&](Reading& reading) {
    std::vector<PodToPlace> pods;
    do {
      pods = prepared(given, reading);
      if (asks_hosts(pods, reading)) return false;
      // CommitState::needs_list(): no row is read.
      if (limits.among == nullptr && !limits.ranks_nodes && !limits.lists_nodes) make_ready(pods, reading);
      if (!reading.is_live() || !follow_new_columns(reading)) return false;
    } while (any_stale(pods, *source_->live));
    if (guests_change_scores(pods)) return false;
    note_touched();
    state_->all_or_nothing([&] {
      result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
      state_->begin_cycle(pods.size());
      state_->result = &result;
      state_->run_batch(pods, limits, [&](std::span<const PodToPlace> rest, std::size_t pods_max) {
        answer_front(rest, pods_max, limits.stop_at_failure);
      });
      state_->result = nullptr;
      note_outcomes(given, result);
    });
    return true;
  });
  if (done) return result;
  EngineOfFork& own = engine();
  BatchLimits limits_of_own = limits;
  std::vector<bool> among;
  if (limits.among != nullptr) {
    among = among_in_engine(*limits.among);
    limits_of_own.among = &among;
  }
  return own.commit(given, limits_of_own, [&](BatchResult& committed) {
    std::vector<ForkStep> steps;
    steps.reserve(committed.outcomes.size());
    for (std::size_t i = 0; i < committed.outcomes.size(); ++i) {
      NodeIndex& node = committed.outcomes[i].node;
      steps.emplace_back(ForkPlacement{given[i], std::string(own.engine().node_name(node))});
      node = own_index(node);
    }
    history_.add_all(std::move(steps));
    self_->note_change();
  });
}

void OverlayFork::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure) {
  if (state_->repeat_failure(pods.front())) return;
  const std::size_t before = state_->answered.size();
  if (state_->needs_list() || source_->live->commit_for_fork(pods, pods_max, stops_at_failure, *state_, touched_) == 0)
    answer(pods.front());
  for (std::size_t i = before; i < state_->answered.size(); ++i) note_placement(state_->answered[i].node);
}

void OverlayFork::answer(const PodToPlace& pod) {
  std::int32_t own_nomination = -1;
  const auto update_order = [&] { state_->snapshot.update_guest_order(source_->live->cluster.cache()); };
  if (!state_->nominations.empty() || state_->needs_list()) update_order();
  if (!state_->answer_without_row(pod, own_nomination)) {
    std::optional<Selection> selection;
    if (!state_->needs_list()) selection = source_->live->select_for_fork(pod, *state_, touched_);
    if (selection) {
      state_->answer(pod, *selection, own_nomination);
    } else {
      update_order();
      state_->answer_uncached(pod, own_nomination);
    }
  }
}

/// @param node  -1: the pod has none
void OverlayFork::note_placement(std::int32_t node) {
  if (node >= 0) touched_.insert(node);
}

void OverlayFork::note_touched() {
  const CommitLog& log = source_->live->log;
  if (!log.reaches(live_log_seen_)) {
    for (std::int32_t slot = 0; slot < state_->snapshot.slot_count(); ++slot) touched_.insert(slot);
    live_log_seen_ = log.position();
  }
  for (const LogEntry& entry : log.since(live_log_seen_)) touched_.insert(entry.node);
  live_log_seen_ = log.position();
}

/// Notes all of them, or throws and notes none.
void OverlayFork::note_outcomes(std::span<const PodToPlace> pods, const BatchResult& result) {
  std::unordered_map<std::string, Standing> placed;
  std::vector<ForkStep> steps;
  steps.reserve(result.outcomes.size());
  for (std::size_t i = 0; i < result.outcomes.size(); ++i) {
    std::string node(state_->snapshot.node_name(result.outcomes[i].node.value));
    if (!node.empty()) placed[pods[i].pod->uid()] = {pods[i].pod, node, true};
    steps.emplace_back(ForkPlacement{pods[i], std::move(node)});
  }
  own_pods_.reserve(own_pods_.size() + placed.size());
  history_.add_all(std::move(steps));
  for (const auto& [uid, standing] : placed) own_pods_.erase(uid);
  own_pods_.merge(placed);
  if (!result.outcomes.empty()) self_->note_change();
}

void OverlayFork::place(const PodToPlace& pod, std::string_view node_name) {
  check_known({&pod, 1});
  ForkStep step = ForkPlacement{pod, std::string(node_name)};
  history_.make_room(1);
  const bool done = on_overlay([&](Reading& reading) {
    PodToPlace known;
    do {
      known = prepared({&pod, 1}, reading).front();
      if (!reading.is_live() || !follow_new_columns(reading)) return false;
    } while (any_stale({&known, 1}, *source_->live));
    state_->all_or_nothing([&] {
      state_->place(known, node_name);
      note_placement(state_->answered.back().node);
      if (!node_name.empty()) own_pods_[pod.pod->uid()] = {pod.pod, std::string(node_name), true};
    });
    return true;
  });
  if (!done) place_copy(pod, node_name, engine().engine());
  history_.add(std::move(step));
  self_->note_change();
}

/// The pods as the engine knows them, to be asked about without a row. @return nullopt: the overlay cannot answer
std::optional<std::vector<PodToPlace>> OverlayFork::known_now(std::span<const PodToPlace> pods, Reading& reading) {
  std::vector<PodToPlace> known;
  do {
    known = prepared(pods, reading);
    if (asks_hosts(known, reading) || !reading.is_live() || !follow_new_columns(reading)) return std::nullopt;
  } while (any_stale(known, *source_->live));
  return known;
}

/// Runs look(pod) with the pod as the engine knows it, if the overlay can answer.
/// @param needs_row  needs_row(pod): what forks read of rows of the engine is to be brought up to date before
/// @return what look() returned; false: it was not called
template <class NeedsRow, class Look>
bool OverlayFork::look_at(const PodToPlace& pod, NeedsRow needs_row, Look look) {
  check_known({&pod, 1});
  return on_overlay([&](Reading& reading) {
    PodToPlace known;
    do {
      known = prepared({&pod, 1}, reading).front();
      if (asks_hosts({&known, 1}, reading)) return false;
      if (reading.is_live() && needs_row(known)) make_ready({&known, 1}, reading);
      if (!reading.is_live() || !follow_new_columns(reading)) return false;
    } while (any_stale({&known, 1}, *source_->live));
    return look(known);
  });
}

Evaluation OverlayFork::evaluate(const PodToPlace& pod) {
  Evaluation evaluation;
  const auto needs_row = [&](const PodToPlace& /*known*/) { return source_->live->evaluates_for_forks(); };
  const bool done = look_at(pod, needs_row, [&](const PodToPlace& known) {
    if (guests_change_scores({&known, 1})) return false;
    note_touched();
    std::optional<Evaluation> answer = source_->live->evaluate_for_fork(known, *state_, touched_);
    if (!answer) {
      state_->snapshot.update_guest_order(source_->live->cluster.cache());
      answer = evaluate_pod(known, state_->sides, state_->nominations, state_->snapshot);
    }
    evaluation = std::move(*answer);
    return true;
  });
  if (done) return evaluation;
  evaluation = evaluate_copy(pod, engine().engine());
  for (NodeEvaluation& node : evaluation.nodes) node.node = own_index(node.node);
  for (NodeIndex& node : evaluation.best) node = own_index(node);
  return evaluation;
}

PodVerdicts OverlayFork::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  PodVerdicts verdicts;
  const bool done = look_at(pod, needs_no_row, [&](const PodToPlace& known) {
    verdicts = verdicts_of_pod_on(known, nodes, state_->sides, state_->nominations, state_->snapshot);
    return true;
  });
  if (done) return verdicts;
  return engine().look_at(pod, [own_nodes = in_engine(nodes)](const auto& own, const Backend& engine) {
    return engine.verdicts_on(own, own_nodes);
  });
}

PodStatuses OverlayFork::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  PodStatuses statuses;
  const bool done = look_at(pod, needs_no_row, [&](const PodToPlace& known) {
    statuses = statuses_of_pod_on(known, nodes, state_->sides, state_->nominations, state_->snapshot);
    return true;
  });
  if (done) return statuses;
  return engine().look_at(pod, [own_nodes = in_engine(nodes)](const auto& own, const Backend& engine) {
    return engine.statuses_on(own, own_nodes);
  });
}

PodTotals OverlayFork::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) {
  PodTotals totals;
  const bool done = look_at(pod, needs_no_row, [&](const PodToPlace& known) {
    if (guests_change_scores({&known, 1})) return false;
    totals = totals_of_pod_on(known, nodes, state_->sides, state_->snapshot);
    return true;
  });
  if (done) return totals;
  return engine().look_at(pod, [own_nodes = in_engine(nodes)](const auto& own, const Backend& engine) {
    return engine.totals_on(own, own_nodes);
  });
}

void OverlayFork::accepts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::span<std::uint8_t> accepts) {
  const auto needs_row = [&](const PodToPlace& known) {
    return known.class_index >= 0 && state_->table[known.class_index].topology == nullptr &&
           accepting_.find(known) == nullptr;
  };
  const bool done = look_at(pod, needs_row, [&](const PodToPlace& known) {
    const KeptNodes* const kept = accepting_now(known);
    if (kept == nullptr) return false;
    kept->write(nodes, accepts);
    return true;
  });
  if (!done) Fork::accepts_on(pod, nodes, accepts);
}

CopiesAnswer OverlayFork::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) {
  check_known(pods);
  CopiesAnswer answer;
  const bool done = on_overlay([&](Reading& reading) {
    const std::vector<PodToPlace> known = prepared(pods, reading);
    if (!reading.is_live() || !follow_new_columns(reading)) return false;
    answer = berth::copies_that_fit(known, limits, state_->sides, state_->nominations, state_->snapshot);
    return true;
  });
  return done ? answer : copies_in_engine(pods, limits);
}

// What the engine compiled since the fork was opened

/// @return false when the engine has left meanwhile, or lacks a resource that a guest offers
bool OverlayFork::follow_new_columns(Reading& reading) {
  while (reading.is_live() && !is_current()) reading.alone([&] { count_new_columns(); });
  return reading.is_live() && !state_->snapshot.guest_lacks_column();
}

bool OverlayFork::is_current() const {
  const Snapshot& live = source_->live->snapshot;
  const Snapshot& own = state_->snapshot;
  return live.resources_built() == own.resources_built() &&
         live.topology().tables_added() == own.topology().tables_added() &&
         live.topology().column_count() == own.topology().column_count();
}

/// New columns and tables as they would have been when the fork was opened, with what was done to it.
void OverlayFork::count_new_columns() {
  const InterruptionScope to_the_end(nullptr);
  CommitState& live = *source_->live;
  live.fold();
  Snapshot& own = state_->snapshot;
  const Known known{own.topology().tables_added(), own.resources_built()};
  const std::vector<GuestPlace> guests = own.write_topology().take_guests();
  own.write_topology().add_tables_of(live.snapshot.topology());
  own.add_resources_of(live.snapshot);
  state_->nominations.refresh_deltas(live.table);
  read_journal();
  for (const auto& [uid, position] : changed_since_)
    for (const int sign : {-1, 1}) {
      const Standing standing = sign < 0 ? in_source(uid) : as_opened(uid);
      count_in_new(standing, own.find_in_engine(standing.node_name), sign, known);
    }
  if (!own.guests().empty()) count_guests_in_new(guests, known);
  for (const auto& [uid, standing] : own_pods_) {
    const Standing before = as_opened(uid);
    count_in_new(before, own.find_node(before.node_name), -1, known);
    count_in_new(standing, own.find_node(standing.node_name), 1, known);
  }
}

/// Tables that come because the engine registers terms of the pod here are left to the next round.
/// @param slot  of the standing's node; -1: it counts nowhere
void OverlayFork::count_in_new(const Standing& standing, std::int32_t slot, int sign, const Known& known) {
  if (standing.pod == nullptr || slot < 0) return;
  Snapshot& snapshot = state_->snapshot;
  for (const CountMove& move : state_->table.topology().moves_on_node(*standing.pod))
    if (move.table < snapshot.topology().table_count() && snapshot.topology().added_at(move.table) > known.tables_added)
      snapshot.write_topology().add(move.table, slot, sign * move.amount);
  ResourceDelta delta = state_->table.delta_of(*standing.pod);
  std::erase_if(delta.requested,
                [&](const auto& amount) { return snapshot.built_at(amount.first) <= known.resources_built; });
  snapshot.add_requested(slot, delta, sign);
}

}  // namespace berth
