// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_backend.h"

#include <algorithm>
#include <functional>

#include "batching/device/device_errors.h"
#include "batching/engine_state.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_state.h"

namespace berth {

BackendStats DeviceBackend::State::stats() const {
  const auto reading = shared();
  const std::lock_guard without_forks(forks_mutex);
  BackendStats stats;
  stats.rows_built = rows_built();
  stats.node_evaluations = refreshed_nodes + list_evaluations;
  write_host_stats(stats);
  stats.dry_runs = dry_runs();
  stats.forks_reopened = *fork_source()->own_engines;
  stats.device = accelerator->stats();
  stats.device->pods_on_host = pods_on_host;
  stats.device->dry_runs_on_host = stats.dry_runs;
  stats.device->fork_pods_on_host = fork_pods_on_host;
  stats.device->evaluations_on_host = evaluations_on_host;
  stats.device->full_uploads = full_uploads();
  stats.device->layouts_rebuilt = layouts_rebuilt();
  if (is_void()) return stats;
  stats.class_count = table.live_count();
  stats.column_bytes = snapshot.column_bytes();
  stats.row_bytes = rows.bytes() + table.node_side_bytes();
  return stats;
}

DeviceBackend::DeviceBackend(std::unique_ptr<Accelerator> accelerator, std::shared_ptr<const ClusterCache> cache,
                             const ClusterObjects& objects, const SchedulerConfig& config, const EngineConfig& engine,
                             const DeviceTuning& tuning)
    : state_(std::make_unique<EngineState<State>>(
          std::make_unique<State>(std::move(accelerator), std::move(cache), objects, config, engine, tuning))) {
  // A fork has no device of its own.
  state_->opened().fork_source()->open_engine = [&config, engine](std::shared_ptr<const ClusterCache> cluster,
                                                                  const ClusterObjects& others,
                                                                  std::size_t next_start) {
    return CpuBackend::open_for_fork(std::move(cluster), others, config, engine, {}, next_start);
  };
}

DeviceBackend::~DeviceBackend() = default;

std::string_view DeviceBackend::name() const { return accelerator().name(); }

void DeviceBackend::compile(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.compile(pods);
}

void DeviceBackend::release(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  if (state.release(pods).swept) state.reset_device();
}

void DeviceBackend::apply(std::span<const ClusterChange> changes) {
  state_->change_and_open([&](State& state) {
    const CommitState::RowsAfter rows = state.apply(changes);
    if (rows.any_change) note_change();
    // Pods go to the device through the log.
    state.note_changed_nodes(rows.changed_nodes);
    if (rows.all_void || rows.counts_moved || rows.swept) state.reset_device();
    if (rows.all_void || rows.swept || !rows.changed_nodes.empty()) state.rows_a_launch = state.tuning.launch_rows_max;
  });
}

BatchResult DeviceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  BatchResult result = commit(state, pods, limits);
  if (!result.outcomes.empty()) note_change();
  return result;
}

BatchResult DeviceBackend::commit(State& state, std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state.on_device([&] {
    state.result = &result;
    state.commit(pods, limits);
  });
  return result;
}

std::vector<BatchResult> DeviceBackend::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                                  const BatchLimits& limits) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  // Limits on pods or time are checked by the host.
  const bool side_by_side = !forks.empty() && limits.deadline_us == 0 && limits.pods_max == SIZE_MAX;
  std::vector<BatchResult> results;
  try {
    if (side_by_side) state.on_device([&] { results = state.try_forks(forks, limits); });
  } catch (const DeviceOutOfMemory&) {
    results.clear();  // one after another, forks need no more memory than a batch
  }
  if (!results.empty()) return results;
  state.on_device([&] {
    const CommitMark before = state.mark();
    for (const std::span<const PodToPlace> pods : forks) {
      results.push_back(commit_with_refills(
          pods, limits, [&](auto rest, const BatchLimits& left) { return commit(state, rest, left); },
          [&](auto rest) { state.refill(rest); }));
      state.rollback(before);
    }
  });
  return results;
}

void DeviceBackend::refill(std::span<const PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.refill(pods);
}

CommitMark DeviceBackend::mark() const {
  return state_->look([](const State& state) { return state.mark(); });
}

void DeviceBackend::place(const PodToPlace& pod, std::string_view node_name) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.place(pod, node_name);
  note_change();
}

std::unique_ptr<Fork> DeviceBackend::open_fork(std::shared_ptr<const ForkParent> parent) const {
  return state_->open_fork(parent);
}

void DeviceBackend::rollback(CommitMark mark) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  const bool undoes = mark.position != state.mark().position;
  state.rollback(mark);
  if (undoes) note_change();
}

void DeviceBackend::settle() {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.settle();
}

bool DeviceBackend::undo(const Pod& pod, const NominationUpsert* nomination) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  const bool undone = state.undo(pod, nomination);
  if (undone) note_change();
  return undone;
}

VolumeDecisionsPtr DeviceBackend::volume_decisions(const Pod& pod) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  return state.volume_decisions(pod);
}

Evaluation DeviceBackend::evaluate(const PodToPlace& pod) const {
  return state_->change({&pod, 1}, [&](State& state) { return state.evaluate(pod); });
}

NodeProbe DeviceBackend::probe(const PodToPlace& pod, std::string_view node_name) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.probe(pod, node_name); });
}

void DeviceBackend::prepare(std::span<PodToPlace> pods) {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.CommitState::prepare(pods);
}

PodVerdicts DeviceBackend::verdicts(const PodToPlace& pod) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.verdicts(pod); });
}

PodVerdicts DeviceBackend::verdicts_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.verdicts_on(pod, nodes); });
}

PodStatuses DeviceBackend::statuses_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.statuses_on(pod, nodes); });
}

PodTotals DeviceBackend::totals_on(const PodToPlace& pod, std::span<const NodeIndex> nodes) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.totals_on(pod, nodes); });
}

CopiesAnswer DeviceBackend::copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits) const {
  return state_->read(pods, [&](const State& state) { return state.copies_that_fit(pods, limits); });
}

bool DeviceBackend::is_node_local(const PodToPlace& pod) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.is_node_local(pod); });
}

AnswerChanges DeviceBackend::answer_changes(const PodToPlace& pod, AnswerBasis& basis) const {
  return state_->read({&pod, 1}, [&](const State& state) { return state.answer_changes(pod, basis); });
}

DryRunResult DeviceBackend::dry_run(const DryRunRequest& request) const {
  return state_->read(request.preemptors,
                      [&](const State& state) { return state.dry_run(request, state.dry_runs_in_tasks()); });
}

std::vector<Status> DeviceBackend::statuses_without_victims(const DryRunRequest& request) const {
  return state_->read(request.preemptors, [&](const State& state) {
    return state.statuses_without_victims(request, state.dry_runs_in_tasks());
  });
}

void DeviceBackend::as_one(const std::function<void()>& calls) {
  const std::uint64_t version = change_version();
  try {
    state_->as_one(calls);
  } catch (...) {
    forget_changes_since(version);
    throw;
  }
}

BackendStats DeviceBackend::stats() const {
  return state_->look([](const State& state) { return state.stats(); });
}

std::string_view DeviceBackend::node_name(NodeIndex index) const { return state_->node_name(index.value); }

NodeIndex DeviceBackend::find_node(std::string_view name) const {
  return state_->read({}, [&](const State& state) { return NodeIndex{state.snapshot.find_node(name)}; });
}

const EngineCluster& DeviceBackend::cluster() {
  State& state = state_->ready();
  const auto alone = state.exclusive();
  state.fold();
  return state.cluster;
}

std::int32_t DeviceBackend::slot_count() const {
  return state_->look([](const State& state) { return state.snapshot.slot_count(); });
}

const Accelerator& DeviceBackend::accelerator() const {
  return *state_->look([](const State& state) { return state.accelerator.get(); });
}

}  // namespace berth
