// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of a DeviceBackend: the host's snapshot (CommitState) and its mirror on the device. Batches and runs are in
// device_state.cpp, launches in device_launches.cpp, forks in device_forks.cpp, events of nodes in device_events.cpp,
// evaluations in device_evaluation.cpp.

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "batching/commit_state.h"
#include "batching/device/device_errors.h"
#include "host/engine/cpu/dry_run_tasks.h"
#include "host/engine/device/device_array.h"
#include "host/engine/device/device_backend.h"
#include "host/engine/device/device_classes.h"
#include "host/engine/device/device_rows.h"
#include "host/engine/device/device_snapshot.h"
#include "host/engine/device/fork_states.h"
#include "host/engine/device/launch_plan.h"
#include "host/engine/device/window_arrays.h"
#include "host/objects/work_arena.h"

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
        window_arrays(*accelerator),
        seen(*accelerator, "marks of topology domains"),
        node_scores(*accelerator, "an evaluation") {
    table.sweep_after(tuning.sweep_additions_min, kSweepShare);
  }

  State(const State& from, Reopened reopened)
      : CommitState(from, reopened),
        accelerator(from.accelerator),
        tuning(from.tuning),
        columns(*accelerator),
        classes(*accelerator, tuning),
        rows(*accelerator, row_bytes_max(), tuning),
        row_table(*accelerator, "a batch"),
        window_arrays(*accelerator),
        seen(*accelerator, "marks of topology domains"),
        node_scores(*accelerator, "an evaluation"),
        rows_a_launch(from.rows_a_launch),
        pods_on_host(from.pods_on_host),
        fork_pods_on_host(from.fork_pods_on_host.load()),
        evaluations_on_host(from.evaluations_on_host.load()),
        refreshed_nodes(from.refreshed_nodes),
        earlier_full_uploads(from.full_uploads()),
        earlier_layouts_rebuilt(from.layouts_rebuilt()) {
    table.sweep_after(tuning.sweep_additions_min, kSweepShare);
    earlier.rows_built = from.rows_built();
  }
  std::int64_t rows_built() const { return earlier.rows_built + rows.rows_built(); }
  std::int64_t full_uploads() const { return earlier_full_uploads + columns.full_uploads(); }
  std::int64_t layouts_rebuilt() const { return earlier_layouts_rebuilt + classes.layouts_rebuilt(); }

  BackendStats stats() const;

  ForBlocks dry_runs_in_tasks() const { return berth::dry_runs_in_tasks(*arena, tuning.dry_runs_per_task); }

  std::shared_ptr<Accelerator> accelerator;
  DeviceTuning tuning;
  std::shared_ptr<WorkArena> arena = arena_of(engine);  ///< of dry runs, which the host answers
  DeviceSnapshot columns;
  DeviceClassTable classes;
  DeviceRowStore rows;
  DeviceArray<std::uint8_t> row_table;
  WindowArrays window_arrays;
  DeviceArray<std::int32_t> seen;
  DeviceArray<DeviceNodeScores> node_scores;
  std::int64_t seen_domains = -1;  ///< for which `seen` was allocated and cleared
  std::int32_t next_mark = 1;
  std::map<std::int32_t, NodeParts> changed_nodes;     ///< by slot; that the device does not know yet
  std::uint64_t order_moves = 0;                       ///< Snapshot::order_moves() that the rows have followed
  std::uint64_t known_resources = 0;                   ///< Snapshot::resources_built()
  std::size_t rows_a_launch = tuning.launch_rows_max;  ///< reduced when device memory runs out
  /// What forks read on the device, in parallel with each other, until the engine changes.
  struct ForksRead {
    DeviceState state;
    std::set<std::int32_t> classes;     ///< with current rows
    std::set<std::int32_t> considered;  ///< these, and those that the device cannot serve
    std::uint64_t position = 0;         ///< in the log
    std::uint64_t resources_built = 0, tables_added = 0;
    bool is_current(const CommitLog& log, const Snapshot& snapshot) const;
  };
  std::optional<ForksRead> forks_read;
  mutable std::mutex forks_mutex;  ///< of forks that use the device, one at a time
  std::unique_ptr<ForkStates> fork_states;
  std::atomic<bool> has_failed_for_forks = false;
  std::int64_t pods_on_host = 0;
  std::atomic<std::int64_t> fork_pods_on_host = 0;
  std::atomic<std::int64_t> evaluations_on_host = 0;
  std::int64_t refreshed_nodes = 0;          ///< (class, node) evaluations in launches
  std::int64_t earlier_full_uploads = 0;     ///< by the state that was reopened as this one
  std::int64_t earlier_layouts_rebuilt = 0;  ///< the same

  std::uint64_t row_bytes_max() const {
    const std::uint64_t free = accelerator->free_bytes();
    const std::uint64_t wanted = engine.device_memory_bytes_max != 0 ? engine.device_memory_bytes_max : free / 5 * 4;
    return std::min(wanted, free);
  }

  /// CommitState::all_or_nothing(); when the device fails, the next call rebuilds what is on the device.
  template <class Body>
  void on_device(Body body);

  bool has_row(std::int32_t pod_class);
  void commit(std::span<const PodToPlace> pods, const BatchLimits& limits);
  void answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure);
  void answer_on_device(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure,
                        std::int32_t own_nomination);
  void answer_on_host(const PodToPlace& pod);
  std::size_t run_length(std::span<const PodToPlace> pods, std::size_t limit);
  bool place_run(std::span<const PodToPlace> pods);
  LaunchPlan plan_launch(std::span<const PodToPlace> pods, std::size_t pods_max);
  void add_class(std::int32_t pod_class);
  void check_room() const;
  bool can_follow_node_events() const;
  void note_changed_nodes(std::span<const ChangedNode> nodes);
  void follow_node_events();
  void update_columns();
  /// A launch whose inputs are on the device.
  struct Prepared {
    DeviceState state;
    DeviceBatch batch;
    /// Bytes of row_table: committed_count, the outcomes, and the end of both.
    std::uint64_t first_answer = 0, first_outcome = 0, end_answers = 0;
  };
  Prepared prepare(const LaunchPlan& plan);
  bool fits_window(std::int32_t pod_class) const;
  std::int32_t widest_row_cells(const LaunchPlan& plan) const;
  std::vector<DeviceOutcome> answers_of(const Prepared& prepared, std::int32_t fewest) const;
  std::vector<DeviceOutcome> commit_window(const LaunchPlan& plan, const Prepared& prepared);
  void ensure_scratch(std::int32_t selections);
  void launch(std::span<const PodToPlace> pods, const LaunchPlan& plan, bool stops_at_failure,
              std::int32_t own_nomination);
  void apply_outcomes(std::span<const PodToPlace> pods, const LaunchPlan& plan, std::int32_t own_nomination,
                      const std::vector<DeviceOutcome>& answers, bool rows_followed);
  static void apply_outcome(const PodToPlace& pod, const DeviceOutcome& outcome, std::int32_t own_nomination,
                            CommitState& state);
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
  ForkShape fork_shape() const;
  LaunchPlan plan_rows(std::span<const std::int32_t> pod_classes);
  void make_ready_for_forks(std::span<const PodToPlace> pods) override;
  bool is_ready_for_forks(std::span<const PodToPlace> pods) const override;
  LaunchPlan plan_for_fork(std::span<const PodToPlace> pods, std::size_t pods_max, CommitState& fork) const;
  std::size_t commit_for_fork(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure,
                              CommitState& fork, const ExcludedNodes& touched) override;
  /// What `body` finds out on the device for a fork; nullopt: the device cannot now, and the host answers.
  template <class Body>
  auto on_device_for_fork(const CommitState& fork, const ExcludedNodes& touched, Body body)
      -> std::optional<decltype(body(std::declval<ForkStates&>(), std::declval<const ForkDifference&>()))>;
  bool evaluates_for_forks() const override { return true; }
  std::optional<Evaluation> evaluate_for_fork(const PodToPlace& pod, CommitState& fork,
                                              const ExcludedNodes& touched) override;
  std::vector<DeviceNodeScores> scores_on_device(const PodToPlace& pod);
  std::optional<Evaluation> evaluate_on_device(const PodToPlace& pod);
  Evaluation evaluate(const PodToPlace& pod);
  void reset_device();
  /// CommitState::close(), and gives back the memory of the device.
  void close() {
    reset_device();
    CommitState::close();
  }
  void begin_batch(std::size_t pod_count);
};

template <class Body>
void DeviceBackend::State::on_device(Body body) {
  std::exception_ptr failure;
  all_or_nothing([&] {
    const CommitMark before = mark();
    try {
      body();
      result = nullptr;
    } catch (const DeviceError&) {
      // Launches of this call may have been applied on the host. The caller gets no outcome of them, so undo them.
      failure = std::current_exception();
      result = nullptr;
      reset_device();
      rollback(before);
    }
  });
  if (failure != nullptr) std::rethrow_exception(failure);
}

template <class Body>
auto DeviceBackend::State::on_device_for_fork(const CommitState& fork, const ExcludedNodes& touched, Body body)
    -> std::optional<decltype(body(std::declval<ForkStates&>(), std::declval<const ForkDifference&>()))> {
  const std::lock_guard one_at_a_time(forks_mutex);
  try {
    accelerator->use_in_this_thread();
    if (fork_states == nullptr || fork_states->shape() != fork_shape())
      fork_states = std::make_unique<ForkStates>(*accelerator, fork_shape());
    return body(*fork_states, ForkDifference{&fork.snapshot, {touched.members().begin(), touched.members().end()}});
  } catch (const DeviceOutOfMemory&) {
    return std::nullopt;
  } catch (const DeviceError&) {
    has_failed_for_forks = true;  // the next call of the engine meets the device again
    return std::nullopt;
  }
}

}  // namespace berth
