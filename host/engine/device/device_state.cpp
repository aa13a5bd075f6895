// SPDX-License-Identifier: Apache-2.0
#include "host/engine/device/device_state.h"

#include <algorithm>

#include "batching/device/device_errors.h"
#include "batching/node_filter.h"

namespace berth {

/// The device can place pods of the class: only rows and counters decide.
bool DeviceBackend::State::has_row(std::int32_t c) {
  return snapshot.node_count() > 0 && c >= 0 && plain_mode() && table.host_is_current(c) && !table.host_decides(c) &&
         DeviceClassTable::can_serve(table[c], table.profile_of(c)) && !scores_may_leave_range(table[c], snapshot) &&
         table.pre_filter(c).passes();
}

void DeviceBackend::State::commit(std::span<const PodToPlace> pods, const BatchLimits& limits) {
  begin_batch(pods.size());
  std::vector<PodToPlace> renewed;
  pods = with_current_classes(pods, renewed);
  run_batch(pods, limits, [&](std::span<const PodToPlace> rest, std::size_t pods_max) {
    answer_front(rest, pods_max, limits.stop_at_failure);
  });
}

/// Drops the device state, which is not known any more: everything is uploaded and rebuilt on demand.
void DeviceBackend::State::reset_device() {
  changed_nodes.clear();
  forks_read.reset();
  fork_states.reset();
  has_failed_for_forks = false;
  columns.clear();
  classes.clear();
  rows.clear();
  seen_domains = -1;
}

void DeviceBackend::State::answer_front(std::span<const PodToPlace> pods, std::size_t pods_max, bool stops_at_failure) {
  const PodToPlace& front = pods.front();
  if (repeat_failure(front)) return;
  if (needs_list() || !has_row(front.class_index)) return answer_on_host(front);
  std::int32_t own_nomination = -1;
  if (nominations.holds(*front.pod) && answer_without_row(front, own_nomination)) {
    ++pods_on_host;
    return;
  }
  // Out of memory: drop the rows that are kept for later, then use fewer rows per launch. Outcomes are applied after
  // the last allocation of a launch, so a retry is safe.
  for (bool holds_nothing = false;; holds_nothing = true) {
    try {
      return answer_on_device(pods, pods_max, stops_at_failure, own_nomination);
    } catch (const DeviceOutOfMemory&) {
      if (holds_nothing && rows_a_launch == 1) throw;
      if (holds_nothing) rows_a_launch = (rows_a_launch + 1) / 2;
      reset_device();
    }
  }
}

/// @param own_nomination  the node that the front pod is nominated to, which refused it; or -1
void DeviceBackend::State::answer_on_device(std::span<const PodToPlace> pods, std::size_t pods_max,
                                            bool stops_at_failure, std::int32_t own_nomination) {
  const std::size_t run = run_length(pods, pods_max);
  if (run > 0 && place_run(pods.first(run))) return;
  launch(pods, plan_launch(pods, pods_max), stops_at_failure, own_nomination);
}

void DeviceBackend::State::answer_on_host(const PodToPlace& pod) {
  ++pods_on_host;
  std::int32_t own_nomination = -1;
  if (!answer_without_row(pod, own_nomination)) answer_uncached(pod, own_nomination);
}

// Runs

/// Length of the run of equal pods at the front; 0 when it is too short or cannot be placed at once.
std::size_t DeviceBackend::State::run_length(std::span<const PodToPlace> pods, std::size_t limit) {
  const std::int32_t c = pods.front().class_index;
  if (!table[c].ports.empty() || table[c].topology != nullptr || !table.score_error(c).empty() ||
      nominations.any_against(*pods.front().pod))  // a copy may change which nodes refuse the next one
    return 0;
  const std::size_t run = equal_pods(pods, std::min(limit, static_cast<std::size_t>(tuning.run_pods_max)));
  return static_cast<std::int64_t>(run) >= tuning.min_run_length(snapshot.node_count()) ? run : 0;
}

bool DeviceBackend::State::place_run(std::span<const PodToPlace> pods) {
  const std::int32_t c = pods.front().class_index;
  add_class(c);
  if (!classes.layout(classes.layout_of(c)).in_order) return false;
  LaunchPlan plan;
  plan.add_class(c);
  const Prepared prepared = prepare(plan);
  const DeviceRun run = accelerator->commit_run(prepared.state, rows.row(c), static_cast<std::int64_t>(pods.size()));
  if (run.feasible_count == 0) return false;
  std::int64_t feasible = run.feasible_count;
  rows.set_position(c, log.position());
  for (std::size_t i = 0; i < run.picks.size(); ++i) {
    const DevicePick& pick = run.picks[i];
    answer_copy(pods[i], pick.node, pick.total + run.normalized_total, feasible);
    apply_copies(c);
    if (pick.is_last) --feasible;
    if (snapshot.scores_may_wrap() && i + 1 < run.picks.size()) {
      reset_device();
      return true;
    }
  }
  columns.skip_to(log.position());
  return true;
}

}  // namespace berth
