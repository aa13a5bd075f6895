// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of a DeviceBackend: the host's snapshot (CommitState) and its mirror on the device. Batches and runs are in
// device_state.cpp, launches in device_launches.cpp, forks in device_forks.cpp.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "batching/commit_state.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/device/device_classes.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/device_snapshot.h"
#include "host/engine/device/fork_states.h"
#include "host/engine/device/launch_plan.h"

namespace berth {

struct DeviceBackend::State : CommitState {
  State(std::unique_ptr<Accelerator> device, std::shared_ptr<const ClusterCache> cache, const ClusterObjects& objects,
        const SchedulerConfig& scheduler_config, const EngineConfig& engine_config, const DeviceTuning& device_tuning)
      : CommitState(std::move(cache), objects, scheduler_config, engine_config, device->name()),
        accelerator(std::move(device)),
        tuning(device_tuning),
        columns(*accelerator),
        classes(*accelerator, tuning),
        rows(*accelerator, row_bytes_max(), tuning),
        row_table(*accelerator, "a batch"),
        outcomes(*accelerator, "outcomes of a batch"),
        committed(*accelerator, "outcomes of a batch"),
        seen(*accelerator, "marks of topology domains") {
    table.sweep_after(tuning.sweep_additions_min, kSweepShare);
  }

  std::unique_ptr<Accelerator> accelerator;
  DeviceTuning tuning;
  DeviceSnapshot columns;
  DeviceClassTable classes;
  DeviceRowStore rows;
  DeviceArray<std::uint8_t> row_table;
  DeviceArray<DeviceOutcome> outcomes;
  DeviceArray<std::int32_t> committed;
  DeviceArray<std::int32_t> seen;
  std::int64_t seen_domains = -1;  ///< for which `seen` was allocated and cleared
  std::int32_t next_mark = 1;
  std::uint64_t known_resources = 0;                   ///< Snapshot::resources_built()
  std::size_t rows_a_launch = tuning.launch_rows_max;  ///< reduced when device memory runs out
  std::int64_t refreshed_nodes = 0;                    ///< (class, node) evaluations in launches

  std::uint64_t row_bytes_max() const {
    const std::uint64_t free = accelerator->free_bytes();
    const std::uint64_t wanted = engine.device_memory_bytes_max != 0 ? engine.device_memory_bytes_max : free / 5 * 4;
    return std::min(wanted, free);
  }

  /// Runs the body of a call. @throws what it throws; the host's state is then as before the call, and the next call
  /// rebuilds the device's
  template <class Body>
  void all_or_nothing(Body body);

  bool is_for_device(const PodToPlace& pod);
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer_on_device(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer_on_host(const PodToPlace& pod);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit);
  bool place_run(std::span<const PodToPlace> pods);
  LaunchPlan plan_launch(std::span<const PodToPlace> pods, std::size_t pods_max);
  void add_class(std::int32_t pod_class);
  void check_room() const;
  void update_columns();
  /// A launch whose inputs are on the device.
  struct Prepared {
    DeviceState state;
    DeviceBatch batch;
  };
  Prepared prepare(const LaunchPlan& plan);
  void ensure_scratch(std::int32_t selections);
  void launch(std::span<const PodToPlace> pods, const LaunchPlan& plan, bool stops_at_failure);
  void apply_outcomes(std::span<const PodToPlace> pods, const LaunchPlan& plan,
                      const std::vector<DeviceOutcome>& answers);
  void apply_outcome(const PodToPlace& pod, const DeviceOutcome& outcome);
  std::vector<std::vector<PodToPlace>> current(std::span<const std::span<const PodToPlace>> forks);
  std::optional<LaunchPlan> plan_fork(std::span<const PodToPlace> pods);
  struct Wave {
    std::size_t fork_count = 0;
    LaunchPlan rows;  ///< of all its forks, without pods
  };
  Wave next_wave(std::span<const LaunchPlan> plans, const ForkStates& states) const;
  /// @return empty when the host must place some pod
  std::vector<BatchResult> try_forks(std::span<const std::span<const PodToPlace>> forks, const BatchLimits& limits);
  BatchResult replay_fork(std::span<const PodToPlace> pods, const std::vector<DeviceOutcome>& answers,
                          bool stops_at_failure);
  void reset_device();
};

template <class Body>
void DeviceBackend::State::all_or_nothing(Body body) {
  const CommitMark before = mark();
  try {
    body();
  } catch (...) {
    // Launches of this call may have been applied on the host. The caller gets no outcome of them, so undo them.
    result = nullptr;
    reset_device();
    rollback(before);
    throw;
  }
  result = nullptr;
}

}  // namespace berth
