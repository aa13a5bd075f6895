// SPDX-License-Identifier: Apache-2.0
#include "host/metrics/scheduler_metrics.h"

#include <algorithm>

namespace berth {

void SchedulerMetrics::on_batch(const EngineBatch& batch) {
  batch_pods.observe(static_cast<double>(batch.answered));
  engine_seconds += batch.seconds;
  dropped_answers += batch.answered - batch.used;
}

void SchedulerMetrics::on_failed(const QueuedPodInfo& info, AttemptResult result, double seconds) {
  attempt_seconds.observe(seconds, result, info.pod->spec->scheduler_name);
}

void SchedulerMetrics::on_bound(const QueuedPodInfo& info, double seconds) {
  attempt_seconds.observe(seconds, AttemptResult::kScheduled, info.pod->spec->scheduler_name);
  attempts_of_bound.observe(info.attempts);
  if (info.initial_attempt_us == kNotYetUs) return;
  sli_seconds.observe(seconds_between(info.initial_attempt_us, clock_.now_us()),
                      std::min(info.attempts, kAttemptsLabelMax));
}

void SchedulerMetrics::on_evicted(bool is_success, double seconds) { eviction_seconds.observe(seconds, is_success); }

void SchedulerMetrics::on_api_call(std::string_view type, bool is_success, double seconds) {
  api_call_seconds.observe(seconds, type, is_success);
}

void SchedulerMetrics::on_point(MeteredPoint point, StatusCode code, std::string_view profile, double seconds) {
  ++runs_[static_cast<std::size_t>(point)];
  point_seconds[static_cast<std::size_t>(point)].observe(seconds, code, profile);
}

bool SchedulerMetrics::wants_plugins(MeteredPoint point) const {
  return runs_[static_cast<std::size_t>(point)] % kRunsOfSample == 0;
}

void SchedulerMetrics::on_plugin(std::string_view plugin, MeteredPoint point, StatusCode code, double seconds) {
  plugin_seconds.observe(seconds, plugin, point, code);
}

void SchedulerMetrics::on_permit_wait(StatusCode code, double seconds) { permit_seconds.observe(seconds, code); }

void SchedulerMetrics::on_hint(std::string_view plugin, ClusterEvent event, bool queues, double seconds) {
  hint_seconds.observe(seconds, plugin, event.resource, event.actions, queues);
}

void SchedulerMetrics::on_handled(ClusterEvent event, double seconds) {
  event_seconds.observe(seconds, event.resource, event.actions);
}

}  // namespace berth
