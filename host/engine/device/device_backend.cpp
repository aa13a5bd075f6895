// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_backend.h"

#include <algorithm>

#include "batching/device/device_errors.h"
#include "host/engine/device/device_state.h"

namespace berth {

DeviceBackend::DeviceBackend(std::unique_ptr<Accelerator> accelerator, std::shared_ptr<const ClusterCache> cache,
                             const ClusterObjects& objects, const SchedulerConfig& config, const EngineConfig& engine,
                             const DeviceTuning& tuning)
    : state_(std::make_unique<State>(std::move(accelerator), std::move(cache), objects, config, engine, tuning)) {}

DeviceBackend::~DeviceBackend() = default;

std::string_view DeviceBackend::name() const { return state_->accelerator->name(); }

void DeviceBackend::compile(std::span<PodToPlace> pods) { state_->compile(pods); }

void DeviceBackend::release(std::span<PodToPlace> pods) {
  if (state_->release(pods).swept) state_->reset_device();
}

void DeviceBackend::apply(std::span<const ClusterChange> changes) {
  const CommitState::RowsAfter rows = state_->apply(changes);
  // Pods go to the device through the log; what is made of node objects is uploaded again.
  if (rows.all_void || rows.nodes_changed || rows.swept) {
    state_->reset_device();
    state_->rows_a_launch = state_->tuning.launch_rows_max;
  }
}

BatchResult DeviceBackend::commit_batch(std::span<const PodToPlace> pods, const BatchLimits& limits) {
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
  // Limits on pods or time are checked by the host.
  const bool side_by_side = !forks.empty() && limits.deadline_us == 0 && limits.pods_max == SIZE_MAX;
  std::vector<BatchResult> results;
  try {
    if (side_by_side) state_->all_or_nothing([&] { results = state_->try_forks(forks, limits); });
  } catch (const DeviceOutOfMemory&) {
    results.clear();  // one after another, forks need no more memory than a batch
  }
  if (results.empty()) state_->all_or_nothing([&] { results = Backend::try_forks(forks, limits); });
  return results;
}

CommitMark DeviceBackend::mark() const { return state_->mark(); }

void DeviceBackend::rollback(CommitMark mark) { state_->rollback(mark); }

void DeviceBackend::settle() { state_->settle(); }

bool DeviceBackend::undo(const Pod& pod) { return state_->undo(pod); }

Evaluation DeviceBackend::evaluate(const PodToPlace& pod) { return state_->evaluate(pod); }

void DeviceBackend::prepare(std::span<PodToPlace> pods) { state_->CommitState::prepare(pods); }

PodVerdicts DeviceBackend::verdicts(const PodToPlace& pod) const { return state_->verdicts(pod); }

DryRunResult DeviceBackend::dry_run(const DryRunRequest& request) const {
  return state_->dry_run(request, [](std::size_t count, const auto& body) { body(0, count); });
}

BackendStats DeviceBackend::stats() const {
  BackendStats stats;
  stats.class_count = state_->table.live_count();
  stats.rows_built = state_->rows.rows_built();
  stats.node_evaluations = state_->refreshed_nodes + state_->list_evaluations;
  stats.column_bytes = state_->snapshot.column_bytes();
  stats.row_bytes = state_->rows.bytes() + state_->table.node_side_bytes();
  stats.dry_runs = state_->dry_runs();
  stats.device = state_->accelerator->stats();
  stats.device->dry_runs_on_host = stats.dry_runs;
  return stats;
}

std::string_view DeviceBackend::node_name(NodeIndex index) const { return state_->snapshot.node_name(index.value); }

std::int32_t DeviceBackend::slot_count() const { return state_->snapshot.slot_count(); }

const Accelerator& DeviceBackend::accelerator() const { return *state_->accelerator; }

}  // namespace berth
