// SPDX-License-Identifier: Apache-2.0
// Forks: lists of pods that are placed in parallel on the device, each from the current state.

#include <algorithm>
#include <utility>

#include "host/engine/device/device_plan.h"
#include "host/engine/device/device_state.h"

namespace berth {

/// Recompiles the pods of all forks until their classes are final.
std::vector<std::vector<PodToPlace>> DeviceBackend::State::current(std::span<const std::span<const PodToPlace>> forks) {
  std::vector<std::vector<PodToPlace>> renewed;
  for (const std::span<const PodToPlace> pods : forks) renewed.emplace_back(pods.begin(), pods.end());
  const auto is_stale = [&](const PodToPlace& pod) { return table.is_stale(pod); };
  for (bool again = true; again;) {
    again = false;
    for (std::vector<PodToPlace>& pods : renewed) {
      if (std::none_of(pods.begin(), pods.end(), is_stale)) continue;
      compile(pods);
      again = true;
    }
  }
  return renewed;
}

/// The plan of a fork, or nothing when the host must place one of its pods or its rows do not fit.
std::optional<LaunchPlan> DeviceBackend::State::plan_fork(std::span<const PodToPlace> pods) {
  LaunchPlan plan;
  for (const PodToPlace& pod : pods) {
    if (concerned_by_nominations(*pod.pod)) return std::nullopt;
    if (!plan.contains(pod.class_index)) {
      if (!is_for_device(pod)) return std::nullopt;
      add_class(pod.class_index);
    }
    plan.add_pod(pod.class_index);
  }
  if (rows.fitting(plan.classes, classes) < plan.classes.size()) return std::nullopt;
  return plan;
}

/// Consecutive forks whose copies and rows fit on the device together; at least one.
DeviceBackend::State::Wave DeviceBackend::State::next_wave(std::span<const LaunchPlan> plans,
                                                           const ForkStates& states) const {
  const std::uint64_t room = accelerator->free_bytes() / 10 * 9;
  std::uint64_t bytes = 0;
  std::uint64_t row_bytes = 0;
  Wave wave;
  for (; wave.fork_count < plans.size() && wave.fork_count < tuning.wave_forks_max; ++wave.fork_count) {
    const LaunchPlan& plan = plans[wave.fork_count];
    bytes += states.bytes(plan, classes);
    for (const std::int32_t c : plan.classes)
      if (!wave.rows.contains(c)) row_bytes += device_row_bytes(classes.layout(classes.layout_of(c)));
    if (wave.fork_count > 0 && (bytes > room || row_bytes > rows.bytes_max())) break;
    for (const std::int32_t c : plan.classes) wave.rows.add_class(c);
  }
  return wave;
}

std::vector<BatchResult> DeviceBackend::State::try_forks(std::span<const std::span<const PodToPlace>> forks,
                                                         const BatchLimits& limits) {
  if (begin_cycle(0)) reset_device();
  const std::vector<std::vector<PodToPlace>> pods = current(forks);
  std::vector<LaunchPlan> plans;
  for (const std::vector<PodToPlace>& fork : pods) {
    std::optional<LaunchPlan> plan = plan_fork(fork);
    if (!plan) return {};
    plans.push_back(std::move(*plan));
  }
  std::vector<BatchResult> results;
  for (std::size_t next = 0; next < plans.size();) {
    update_columns();
    ForkStates states(*accelerator, {columns.node_count(), columns.resource_count(),
                                     static_cast<std::uint64_t>(columns.port_set_count()), columns.counter_count(),
                                     columns.table_count(), classes.soft_domains_max()});
    const Wave wave = next_wave(std::span(plans).subspan(next), states);
    const Prepared live = prepare(wave.rows);
    const auto answers =
        states.run(std::span(plans).subspan(next, wave.fork_count), live.state, rows, classes, limits.stop_at_failure);
    for (std::size_t f = 0; f < wave.fork_count; ++f)
      results.push_back(replay_fork(pods[next + f], answers[f], limits.stop_at_failure));
    if (snapshot.scores_may_wrap()) {  // in some fork; the host places them all
      reset_device();
      return {};
    }
    // The states are as before, though the log has grown.
    columns.skip_to(log.position());
    for (const std::int32_t c : wave.rows.classes) rows.set_position(c, log.position());
    next += wave.fork_count;
  }
  return results;
}

/// The complete result of a fork. The host's state is as before afterwards.
BatchResult DeviceBackend::State::replay_fork(std::span<const PodToPlace> pods,
                                              const std::vector<DeviceOutcome>& answers, bool stops_at_failure) {
  BatchResult replayed;
  result = &replayed;
  const CommitMark before = mark();
  BatchLimits limits;
  limits.pods_max = answers.size();
  limits.stop_at_failure = stops_at_failure;
  std::size_t next = 0;
  run_batch(pods, limits,
            [&](std::span<const PodToPlace> rest, std::size_t) { apply_outcome(rest.front(), answers[next++]); });
  rollback(before);
  return replayed;
}

}  // namespace berth
