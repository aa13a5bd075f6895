// SPDX-License-Identifier: Apache-2.0
// Forks on the device: lists of pods that are placed in parallel, each from the current state (try_forks()), and
// batches of forks that stay open (Backend::fork()), whose own state is the host's.

#include <algorithm>
#include <utility>

#include "host/engine/device/device_plan.h"
#include "host/engine/device/device_state.h"
#include "host/engine/device/nominations_of_launch.h"

namespace berth {

/// Recompiles the pods of all forks until their classes are final.
std::vector<std::vector<PodToPlace>> DeviceBackend::State::current(std::span<const std::span<const PodToPlace>> forks) {
  std::vector<std::vector<PodToPlace>> renewed;
  for (const std::span<const PodToPlace> pods : forks) {
    check_compiled(pods);
    renewed.emplace_back(pods.begin(), pods.end());
  }
  std::uint64_t epoch = 0;
  do {
    epoch = table.topology().epoch();
    for (std::vector<PodToPlace>& pods : renewed) make_current(pods);
  } while (epoch != table.topology().epoch());
  return renewed;
}

/// The plan of a fork, or nothing when the host must place one of its pods or its rows do not fit.
std::optional<LaunchPlan> DeviceBackend::State::plan_fork(std::span<const PodToPlace> pods) {
  LaunchPlan plan;
  for (const PodToPlace& pod : pods) {
    if (concerned_by_nominations(*pod.pod)) return std::nullopt;  // lists are tried one after another
    if (!plan.contains(pod.class_index)) {
      if (!has_row(pod.class_index)) return std::nullopt;
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
  begin_batch(0);
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
    ForkStates states(*accelerator, fork_shape());
    const Wave wave = next_wave(std::span(plans).subspan(next), states);
    const Prepared live = prepare(wave.rows);
    const auto answers = states.run(std::span(plans).subspan(next, wave.fork_count), live.state, rows, classes,
                                    limits.stop_at_failure, columns);
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
  run_batch(pods, limits, [&](std::span<const PodToPlace> rest, std::size_t) {
    apply_outcome(rest.front(), answers[next++], -1, *this);
  });
  rollback(before);
  return replayed;
}

// Forks that stay open

ForkShape DeviceBackend::State::fork_shape() const {
  return {columns.node_count(),    columns.resource_count(), static_cast<std::uint64_t>(columns.port_set_count()),
          columns.counter_count(), columns.table_count(),    classes.soft_domains_max()};
}

bool DeviceBackend::State::ForksRead::is_current(const CommitLog& log, const Snapshot& snapshot) const {
  return position == log.position() && resources_built == snapshot.resources_built() &&
         tables_added == snapshot.topology().tables_added();
}

bool DeviceBackend::State::is_ready_for_forks(std::span<const PodToPlace> pods) const {
  if (has_failed_for_forks) return true;  // the host answers
  return forks_read && forks_read->is_current(log, snapshot) &&
         std::all_of(pods.begin(), pods.end(),
                     [&](const PodToPlace& pod) { return forks_read->considered.contains(pod.class_index); });
}

/// The rows of those classes that the device can serve, each once.
LaunchPlan DeviceBackend::State::plan_rows(std::span<const std::int32_t> pod_classes) {
  LaunchPlan plan;
  for (const std::int32_t c : pod_classes) {
    if (plan.contains(c) || !has_row(c)) continue;
    add_class(c);
    plan.add_class(c);
  }
  return plan;
}

/// Brings the columns up to date, and the rows of the pods' classes; of the classes of earlier calls, too, while there
/// is room for all.
void DeviceBackend::State::make_ready_for_forks(std::span<const PodToPlace> pods) {
  std::vector<std::int32_t> asked;
  asked.reserve(pods.size());
  for (const PodToPlace& pod : pods) asked.push_back(pod.class_index);
  std::vector<std::int32_t> considered = asked;
  if (forks_read && forks_read->is_current(log, snapshot))
    considered.insert(considered.end(), forks_read->considered.begin(), forks_read->considered.end());
  ForksRead next;
  try {
    begin_batch(0);
    LaunchPlan plan = plan_rows(considered);
    if (!plan.classes.empty() && rows.fitting(plan.classes, classes) < plan.classes.size()) {
      considered = asked;
      const LaunchPlan wanted = plan_rows(asked);
      plan = {};
      const std::size_t fitting = wanted.classes.empty() ? 0 : rows.fitting(wanted.classes, classes);
      for (std::size_t i = 0; i < fitting; ++i) plan.add_class(wanted.classes[i]);
    }
    next.state = prepare(plan).state;
    next.classes.insert(plan.classes.begin(), plan.classes.end());
  } catch (const DeviceError&) {
    reset_device();
    next.classes.clear();
  }
  next.considered.insert(considered.begin(), considered.end());
  next.position = log.position();
  next.resources_built = snapshot.resources_built();
  next.tables_added = snapshot.topology().tables_added();
  forks_read = std::move(next);
}

/// The pods at the front that the device can answer for the fork.
LaunchPlan DeviceBackend::State::plan_for_fork(std::span<const PodToPlace> pods, std::size_t pods_max,
                                               CommitState& fork) const {
  LaunchPlan plan;
  if (has_failed_for_forks || !forks_read || !forks_read->is_current(log, snapshot) ||
      !fork.snapshot.guests().empty() || !fork.plain_mode())
    return plan;
  const std::size_t longest = std::min({pods.size(), pods_max, tuning.launch_pods_max});
  NominationsOfLaunch nominated(fork, plan);
  for (std::size_t i = 0; i < longest; ++i) {
    const std::int32_t c = pods[i].class_index;
    if (!plan.contains(c) && (!forks_read->classes.contains(c) || scores_may_leave_range(table[c], fork.snapshot)))
      break;
    if (!nominated.add_pod(pods[i])) break;
  }
  return plan;
}

std::size_t DeviceBackend::State::commit_for_fork(std::span<const PodToPlace> pods, std::size_t pods_max,
                                                  bool stops_at_failure, CommitState& fork,
                                                  const ExcludedNodes& touched) {
  const LaunchPlan plan = plan_for_fork(pods, pods_max, fork);
  std::int32_t own_nomination = -1;
  if (!plan.row_of_pod.empty() && fork.nominations.holds(*pods.front().pod) &&
      fork.answer_without_row(pods.front(), own_nomination)) {
    ++fork_pods_on_host;
    return 1;
  }
  std::vector<DeviceOutcome> answers;
  if (!plan.row_of_pod.empty()) {
    const auto commit = [&](ForkStates& states, const ForkDifference& difference) {
      return states.run({&plan, 1}, forks_read->state, rows, classes, stops_at_failure, columns, {&difference, 1})
          .front();
    };
    answers = on_device_for_fork(fork, touched, commit).value_or(std::vector<DeviceOutcome>());
  }
  std::size_t answered_count = 0;
  for (; answered_count < answers.size() && fork.plain_mode(); ++answered_count)
    apply_outcome(pods[answered_count], answers[answered_count], own_nomination, fork);
  if (answered_count == 0) ++fork_pods_on_host;
  return answered_count;
}

}  // namespace berth
