// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "batching/engine_state.h"
#include "host/engine/cpu/cpu_state.h"

namespace berth {

void CpuBackend::State::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  clear_rows_of_old_order(pods.size());
  std::vector<PodToPlace> renewed;
  pods = with_current_classes(pods, renewed);
  tiles.begin_batch(pods);
  run_batch(pods, limits, [this](std::span<const PodToPlace> rest, std::size_t pods_max) {
    const std::size_t before = result->outcomes.size();
    answer_front(rest, pods_max);
    const std::int32_t c = rest.front().class_index;
    if (c >= 0) tiles.answered(c, static_cast<std::int64_t>(result->outcomes.size() - before));
  });
}

/// Begins a cycle. Keys that contain positions in the node order are void when that has changed.
void CpuBackend::State::clear_rows_of_old_order(std::size_t pod_count) {
  if (!begin_cycle(pod_count) || engine.tie_break != TieBreak::kFirst) return;
  tiles.clear();
  lone_row.clear();
  grouped_rows.clear();
  index.clear();
}

void CpuBackend::State::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max) {
  if (repeat_failure(pods.front())) return;
  if (const std::size_t run = run_in_groups(pods, pods_max); run > 1) return place_in_groups(pods.first(run));
  const std::size_t run = run_length(pods, pods_max);
  if (run == 0 || !place_run(pods, run)) place_next(pods);
}

void CpuBackend::State::void_rows(const RowsAfter& after) {
  derive([&] {
    if (after.all_void) {
      tiles.clear();
      lone_row.clear();
    }
    tiles.drop_classes(after.dropped_classes);
    if (after.all_void || after.groups_void || after.counts_moved || after.swept) {
      grouped_rows.clear();
      host_left_out.clear();
    }
    if (after.all_void || after.groups_void || after.swept || !after.dropped_classes.empty()) index.clear();
  });
}

void CpuBackend::State::close() {
  tiles.clear();
  lone_row.clear();
  grouped_rows.clear();
  index.clear();
  CommitState::close();
}

BackendStats CpuBackend::State::stats() const {
  const auto reading = shared();
  BackendStats stats;
  stats.rows_built = rows_built();
  stats.node_evaluations = row_evaluations() + list_evaluations;
  stats.dry_runs = dry_runs();
  stats.ways = ways;
  stats.forks_reopened = *fork_source()->own_engines;
  write_host_stats(stats);
  if (is_void()) return stats;
  stats.class_count = table.live_count();
  stats.column_bytes = snapshot.column_bytes();
  stats.row_bytes = tiles.bytes() + lone_row.bytes() + grouped_rows.bytes() + index.bytes() + table.node_side_bytes();
  return stats;
}

// The interface

CpuBackend::CpuBackend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                       const SchedulerConfig& config, const EngineConfig& engine, const CpuTuning& tuning)
    : state_(std::make_unique<EngineState<State>>(
          std::make_unique<State>(std::move(cache), objects, config, engine, tuning))) {
  state_->opened().fork_source()->open_engine = [&config, engine, tuning](std::shared_ptr<const ClusterCache> cluster,
                                                                          const ClusterObjects& others,
                                                                          std::size_t next_start) {
    return open_for_fork(std::move(cluster), others, config, engine, tuning, next_start);
  };
}

std::unique_ptr<CpuBackend> CpuBackend::open_for_fork(std::shared_ptr<const ClusterCache> cache,
                                                      const ClusterObjects& objects, const SchedulerConfig& config,
                                                      const EngineConfig& engine, const CpuTuning& tuning,
                                                      std::size_t next_start) {
  auto opened = std::make_unique<CpuBackend>(std::move(cache), objects, config, engine, tuning);
  opened->state_->opened().set_next_start(next_start);
  opened->state_->opened().fork_source()->is_of_fork = true;
  return opened;
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::compile(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.compile(pods);
}

void CpuBackend::release(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  const CommitState::RowsAfter rows = state.release(pods);
  state.void_rows(rows);
}

void CpuBackend::apply(std::span<const ClusterChange> changes) {
  state_->change_and_open([&](State& state) {
    const CommitState::RowsAfter rows = state.apply(changes);
    state.void_rows(rows);
    if (rows.any_change) note_change();
  });
}

BatchResult CpuBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state.all_or_nothing([&] {
    state.result = &result;
    state.arena->execute([&] { state.commit(pods, limits); });
    state.result = nullptr;
  });
  if (!result.outcomes.empty()) note_change();
  return result;
}

void CpuBackend::refill(std::span<const PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.refill(pods);
}

CommitMark CpuBackend::mark() const {
  return state_->look([](const State& state) { return state.mark(); });
}

void CpuBackend::place(const PodToPlace& pod, std::string_view node_name) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.place(pod, node_name);
  note_change();
}

std::unique_ptr<Fork> CpuBackend::open_fork(std::shared_ptr<const ForkParent> parent) const {
  return state_->open_fork(parent);
}

void CpuBackend::rollback(CommitMark mark) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  const bool undoes = mark.position != state.mark().position;
  state.rollback(mark);
  if (undoes) note_change();
}

void CpuBackend::settle() {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.settle();
}

bool CpuBackend::undo(const Pod& pod, const NominationUpsert* nomination) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  const bool undone = state.undo(pod, nomination);
  if (undone) note_change();
  return undone;
}

VolumeDecisionsPtr CpuBackend::volume_decisions(const Pod& pod) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  return state.volume_decisions(pod);
}

Evaluation CpuBackend::evaluate(const PodToPlace& pod) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.evaluate(pod); });
}

NodeProbe CpuBackend::probe(const PodToPlace& pod, std::string_view node_name) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.probe(pod, node_name); });
}

void CpuBackend::prepare(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.prepare(pods);
}

PodVerdicts CpuBackend::verdicts(const PodToPlace& pod) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.verdicts(pod); });
}

PodVerdicts CpuBackend::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.verdicts_on(pod, nodes); });
}

PodStatuses CpuBackend::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.statuses_on(pod, nodes); });
}

PodTotals CpuBackend::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.totals_on(pod, nodes); });
}

CopiesAnswer CpuBackend::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const {
  return state_->read(pods, [&](const State& state) { return state.copies_that_fit(pods, limits); });
}

bool CpuBackend::is_node_local(const PodToPlace& pod) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.is_node_local(pod); });
}

AnswerChanges CpuBackend::answer_changes(const PodToPlace& pod, AnswerBasis& basis) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.answer_changes(pod, basis); });
}

DryRunResult CpuBackend::dry_run(const DryRunRequest& request) const {
  return state_->read(request.preemptors,
                      [&](const State& state) { return state.dry_run(request, state.dry_runs_in_tasks()); });
}

std::vector<Status> CpuBackend::statuses_without_victims(const DryRunRequest& request) const {
  return state_->read(request.preemptors, [&](const State& state) {
    return state.statuses_without_victims(request, state.dry_runs_in_tasks());
  });
}

void CpuBackend::as_one(const std::function<void()>& calls) {
  const std::uint64_t version = change_version();
  try {
    state_->as_one(calls);
  } catch (...) {
    forget_changes_since(version);
    throw;
  }
}

BackendStats CpuBackend::stats() const {
  return state_->look([](const State& state) { return state.stats(); });
}

std::string_view CpuBackend::node_name(NodeIndex index) const { return state_->node_name(index.value); }

NodeIndex CpuBackend::find_node(std::string_view name) const {
  return state_->read({}, [&](const State& state) { return NodeIndex{state.snapshot.find_node(name)}; });
}

const EngineCluster& CpuBackend::cluster() {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.fold();
  return state.cluster;
}

std::int32_t CpuBackend::slot_count() const {
  return state_->look([](const State& state) { return state.snapshot.slot_count(); });
}

}  // namespace berth
