// SPDX-License-Identifier: Apache-2.0
#include "host/engine/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

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
  if (!begin_cycle(pod_count)) return;
  tiles.clear();
  lone_row.clear();
  grouped_rows.clear();
}

void CpuBackend::State::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max) {
  if (repeat_failure(pods.front())) return;
  const std::size_t run = run_length(pods, pods_max);
  if (run == 0 || !place_run(pods, run)) place_next(pods);
}

void CpuBackend::State::void_rows(const RowsAfter& after) {
  if (after.all_void) {
    tiles.clear();
    lone_row.clear();
  }
  tiles.drop_classes(after.dropped_classes);
  if (after.all_void || after.groups_void || after.swept) grouped_rows.clear();
}

// The interface

CpuBackend::CpuBackend(std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
                       const SchedulerConfig& config, const EngineConfig& engine, const CpuTuning& tuning)
    : state_(std::make_unique<State>(std::move(cache), objects, config, engine, tuning)) {
  state_->fork_source()->open_engine = [&config, engine, tuning](std::shared_ptr<const ClusterCache> cluster,
                                                                 const ClusterObjects& others, std::size_t next_start) {
    return open_for_fork(std::move(cluster), others, config, engine, tuning, next_start);
  };
}

std::unique_ptr<CpuBackend> CpuBackend::open_for_fork(std::shared_ptr<const ClusterCache> cache,
                                                      const ClusterObjects& objects, const SchedulerConfig& config,
                                                      const EngineConfig& engine, const CpuTuning& tuning,
                                                      std::size_t next_start) {
  auto opened = std::make_unique<CpuBackend>(std::move(cache), objects, config, engine, tuning);
  opened->state_->set_next_start(next_start);
  opened->state_->fork_source()->is_of_fork = true;
  return opened;
}

CpuBackend::~CpuBackend() = default;

void CpuBackend::compile(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->compile(pods);
}

void CpuBackend::release(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->void_rows(state_->release(pods));
}

void CpuBackend::apply(std::span<const ClusterChange> changes) {
  const auto alone = state_->exclusive();
  const CommitState::RowsAfter rows = state_->apply(changes);
  if (rows.any_change) note_change();
  state_->void_rows(rows);
}

BatchResult CpuBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  const auto alone = state_->exclusive();
  note_change();
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state_->result = &result;
  state_->arena.execute([&] { state_->commit(pods, limits); });
  state_->result = nullptr;
  return result;
}

void CpuBackend::refill(std::span<const PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->refill(pods);
}

CommitMark CpuBackend::mark() const { return state_->mark(); }

void CpuBackend::place(const PodToPlace& pod, std::string_view node_name) {
  const auto alone = state_->exclusive();
  note_change();
  state_->place(pod, node_name);
}

std::unique_ptr<Fork> CpuBackend::open_fork(std::shared_ptr<const ForkParent> parent) {
  return state_->open_fork(std::move(parent));
}

void CpuBackend::rollback(CommitMark mark) {
  const auto alone = state_->exclusive();
  note_change();
  state_->rollback(mark);
}

void CpuBackend::settle() {
  const auto alone = state_->exclusive();
  state_->settle();
}

bool CpuBackend::undo(const Pod& pod) {
  const auto alone = state_->exclusive();
  const bool undone = state_->undo(pod);
  if (undone) note_change();
  return undone;
}

Evaluation CpuBackend::evaluate(const PodToPlace& pod) {
  const auto alone = state_->exclusive();
  return state_->evaluate(pod);
}

void CpuBackend::prepare(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->prepare(pods);
}

PodVerdicts CpuBackend::verdicts(const PodToPlace& pod) const {
  state_->keep_prepared({&pod, 1});
  const auto reading = state_->shared();
  return state_->verdicts(pod);
}

DryRunResult CpuBackend::dry_run(const DryRunRequest& request) const {
  state_->keep_prepared(request.preemptors);
  const auto reading = state_->shared();
  return state_->dry_run(request, state_->dry_runs_in_tasks());
}

std::vector<Status> CpuBackend::statuses_without_victims(const DryRunRequest& request) const {
  state_->keep_prepared(request.preemptors);
  const auto reading = state_->shared();
  return state_->statuses_without_victims(request, state_->dry_runs_in_tasks());
}

BackendStats CpuBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.live_count();
  stats.rows_built = state_->tiles.rows_built() + state_->lone_row.rows_built();
  stats.node_evaluations = state_->tiles.node_evaluations() + state_->lone_row.evaluations() + state_->list_evaluations;
  stats.dry_runs = state_->dry_runs();
  stats.forks_reopened = *state_->fork_source()->own_engines;
  state_->write_host_stats(stats);
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes =
      state_->tiles.bytes() + state_->lone_row.bytes() + state_->grouped_rows.bytes() + state_->table.node_side_bytes();
  return stats;
}

std::string_view CpuBackend::node_name(NodeIndex index) const { return state_->snapshot.node_name(index.value); }

std::int32_t CpuBackend::slot_count() const { return state_->snapshot.slot_count(); }

}  // namespace berth
