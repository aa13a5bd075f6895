// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_backend.h"

#include <algorithm>
#include <functional>

#include "batching/device/device_errors.h"
#include "host/engine/cpu/cpu_backend.h"
#include "host/engine/device/device_state.h"

namespace berth {
namespace {

void in_one_block(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) { body(0, count); }

}  // namespace

DeviceBackend::DeviceBackend(std::unique_ptr<Accelerator> accelerator, std::shared_ptr<const ClusterCache> cache,
                             const ClusterObjects& objects, const SchedulerConfig& config, const EngineConfig& engine,
                             const DeviceTuning& tuning)
    : state_(std::make_unique<State>(std::move(accelerator), std::move(cache), objects, config, engine, tuning)) {
  // A fork has no device of its own.
  state_->fork_source()->open_engine = [&config, engine](std::shared_ptr<const ClusterCache> cluster,
                                                         const ClusterObjects& others, std::size_t next_start) {
    return CpuBackend::open_for_fork(std::move(cluster), others, config, engine, {}, next_start);
  };
}

DeviceBackend::~DeviceBackend() = default;

std::string_view DeviceBackend::name() const { return state_->accelerator->name(); }

void DeviceBackend::compile(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->compile(pods);
}

void DeviceBackend::release(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  if (state_->release(pods).swept) state_->reset_device();
}

void DeviceBackend::apply(std::span<const ClusterChange> changes) {
  const auto alone = state_->exclusive();
  const CommitState::RowsAfter rows = state_->apply(changes);
  if (rows.any_change) note_change();
  // Pods go to the device through the log; what is made of node objects is uploaded again.
  if (rows.all_void || rows.nodes_changed || rows.swept) {
    state_->reset_device();
    state_->rows_a_launch = state_->tuning.launch_rows_max;
  }
}

BatchResult DeviceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  const auto alone = state_->exclusive();
  note_change();
  return commit(pods, limits);
}

BatchResult DeviceBackend::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  BatchResult result;
  result.outcomes.reserve(std::min(pods.size(), limits.pods_max));
  state_->all_or_nothing([&] {
    state_->result = &result;
    state_->commit(pods, limits);
  });
  return result;
}

std::vector<BatchResult> DeviceBackend::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                                  const BatchLimits& limits) {
  const auto alone = state_->exclusive();
  // Limits on pods or time are checked by the host.
  const bool side_by_side = !forks.empty() && limits.deadline_us == 0 && limits.pods_max == SIZE_MAX;
  std::vector<BatchResult> results;
  try {
    if (side_by_side) state_->all_or_nothing([&] { results = state_->try_forks(forks, limits); });
  } catch (const DeviceOutOfMemory&) {
    results.clear();  // one after another, forks need no more memory than a batch
  }
  if (!results.empty()) return results;
  state_->all_or_nothing([&] {
    const CommitMark before = state_->mark();
    for (const std::span<const PodToPlace> pods : forks) {
      results.push_back(commit_with_refills(
          pods, limits, [&](auto rest, const BatchLimits& left) { return commit(rest, left); },
          [&](auto rest) { state_->refill(rest); }));
      state_->rollback(before);
    }
  });
  return results;
}

void DeviceBackend::refill(std::span<const PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->refill(pods);
}

CommitMark DeviceBackend::mark() const { return state_->mark(); }

void DeviceBackend::place(const PodToPlace& pod, std::string_view node_name) {
  const auto alone = state_->exclusive();
  note_change();
  state_->place(pod, node_name);
}

std::unique_ptr<Fork> DeviceBackend::open_fork(std::shared_ptr<const ForkParent> parent) {
  return state_->open_fork(std::move(parent));
}

void DeviceBackend::rollback(CommitMark mark) {
  const auto alone = state_->exclusive();
  note_change();
  state_->rollback(mark);
}

void DeviceBackend::settle() {
  const auto alone = state_->exclusive();
  state_->settle();
}

bool DeviceBackend::undo(const Pod& pod) {
  const auto alone = state_->exclusive();
  const bool undone = state_->undo(pod);
  if (undone) note_change();
  return undone;
}

Evaluation DeviceBackend::evaluate(const PodToPlace& pod) {
  const auto alone = state_->exclusive();
  return state_->evaluate(pod);
}

void DeviceBackend::prepare(std::span<PodToPlace> pods) {
  const auto alone = state_->exclusive();
  state_->CommitState::prepare(pods);
}

PodVerdicts DeviceBackend::verdicts(const PodToPlace& pod) const {
  state_->keep_prepared({&pod, 1});
  const auto reading = state_->shared();
  return state_->verdicts(pod);
}

DryRunResult DeviceBackend::dry_run(const DryRunRequest& request) const {
  state_->keep_prepared(request.preemptors);
  const auto reading = state_->shared();
  return state_->dry_run(request, in_one_block);
}

std::vector<Status> DeviceBackend::statuses_without_victims(const DryRunRequest& request) const {
  state_->keep_prepared(request.preemptors);
  const auto reading = state_->shared();
  return state_->statuses_without_victims(request, in_one_block);
}

BackendStats DeviceBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.live_count();
  stats.rows_built = state_->rows.rows_built();
  stats.node_evaluations = state_->refreshed_nodes + state_->list_evaluations;
  state_->write_host_stats(stats);
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes = state_->rows.bytes() + state_->table.node_side_bytes();
  stats.dry_runs = state_->dry_runs();
  stats.forks_reopened = *state_->fork_source()->own_engines;
  stats.device = state_->accelerator->stats();
  stats.device->dry_runs_on_host = stats.dry_runs;
  stats.device->forks_on_host = state_->forks_opened;
  return stats;
}

std::string_view DeviceBackend::node_name(NodeIndex index) const { return state_->snapshot.node_name(index.value); }

std::int32_t DeviceBackend::slot_count() const { return state_->snapshot.slot_count(); }

const Accelerator& DeviceBackend::accelerator() const { return *state_->accelerator; }

}  // namespace berth
