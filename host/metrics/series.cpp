// SPDX-License-Identifier: Apache-2.0
#include "host/metrics/series.h"

#include <algorithm>
#include <stdexcept>

namespace berth {
namespace {

constexpr ExponentialBuckets kMilliseconds{0.001, 2, 15};
constexpr ExponentialBuckets kMinutes{0.01, 2, 20};
constexpr ExponentialBuckets kPoints{0.0001, 2, 12};
constexpr ExponentialBuckets kPlugins{0.00001, 1.5, 20};
constexpr ExponentialBuckets kNodeHints{0.00001, 2, 12};

const std::vector<Series>& upstream_series() {
  using enum SeriesType;
  static const std::vector<Series> kSeries = {
      {"scheduler_schedule_attempts_total",
       kCounter,
       {"result", "profile"},
       {},
       "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
       "scheduled, while 'error' means an internal scheduler problem."},
      {"scheduler_scheduling_attempt_duration_seconds",
       kHistogram,
       {"result", "profile"},
       kMilliseconds,
       "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)"},
      {"scheduler_scheduling_algorithm_duration_seconds",
       kHistogram,
       {},
       kMilliseconds,
       "[ALPHA] Scheduling algorithm latency in seconds"},
      {"scheduler_event_handling_duration_seconds",
       kHistogram,
       {"event"},
       kPoints,
       "[ALPHA] Event handling latency in seconds."},
      {"scheduler_preemption_victims", kHistogram, {}, {1, 2, 7}, "[STABLE] Number of selected preemption victims"},
      {"scheduler_preemption_attempts_total",
       kCounter,
       {},
       {},
       "[STABLE] Total preemption attempts in the cluster till now"},
      {"scheduler_pending_pods",
       kGauge,
       {"queue"},
       {},
       "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
       "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler "
       "attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never "
       "attempted to schedule because they are gated."},
      {"scheduler_inflight_events",
       kGauge,
       {"event"},
       {},
       "[ALPHA] Number of events currently tracked in the scheduling queue."},
      {"scheduler_pod_scheduling_sli_duration_seconds",
       kHistogram,
       {"attempts"},
       kMinutes,
       "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
       "involve multiple scheduling attempts."},
      {"scheduler_pod_scheduling_attempts",
       kHistogram,
       {},
       {1, 2, 5},
       "[STABLE] Number of attempts to successfully schedule a pod."},
      {"scheduler_pod_scheduled_after_flush_total",
       kCounter,
       {},
       {},
       "[ALPHA] Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
       "timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues."},
      {"scheduler_framework_extension_point_duration_seconds",
       kHistogram,
       {"extension_point", "status", "profile"},
       kPoints,
       "[STABLE] Latency for running all plugins of a specific extension point."},
      {"scheduler_plugin_execution_duration_seconds",
       kHistogram,
       {"plugin", "extension_point", "status"},
       kPlugins,
       "[ALPHA] Duration for running a plugin at a specific extension point."},
      {"scheduler_queueing_hint_execution_duration_seconds",
       kHistogram,
       {"plugin", "event", "hint"},
       kPlugins,
       "[ALPHA] Duration for running a queueing hint function of a plugin."},
      {"scheduler_queue_incoming_pods_total",
       kCounter,
       {"queue", "event"},
       {},
       "[STABLE] Number of pods added to scheduling queues by event and queue type."},
      {"scheduler_permit_wait_duration_seconds",
       kHistogram,
       {"result"},
       kMilliseconds,
       "[ALPHA] Duration of waiting on permit."},
      {"scheduler_cache_size",
       kGauge,
       {"type"},
       {},
       "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache."},
      {"scheduler_unschedulable_pods",
       kGauge,
       {"plugin", "profile"},
       {},
       "[ALPHA] The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
       "plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin."},
      {"scheduler_preemption_goroutines_duration_seconds",
       kHistogram,
       {"result"},
       kMinutes,
       "[ALPHA] Duration in seconds for running goroutines for the preemption."},
      {"scheduler_preemption_goroutines_execution_total",
       kCounter,
       {"result"},
       {},
       "[ALPHA] Number of preemption goroutines executed."},
      {"scheduler_async_api_call_execution_total",
       kCounter,
       {"call_type", "result"},
       {},
       "[ALPHA] Total number of API calls executed by the async dispatcher."},
      {"scheduler_async_api_call_execution_duration_seconds",
       kHistogram,
       {"call_type", "result"},
       kMilliseconds,
       "[ALPHA] Duration in seconds for executing API call in the async dispatcher."},
      {"scheduler_pending_async_api_calls",
       kGauge,
       {"call_type"},
       {},
       "[ALPHA] Number of API calls currently pending in the async queue."},
      {"scheduler_batch_attempts_total",
       kCounter,
       {"profile", "result"},
       {},
       "[ALPHA] Counts of results when we attempt to use batching."},
      {"scheduler_batch_cache_flushed_total",
       kCounter,
       {"profile", "reason"},
       {},
       "[ALPHA] Counts of cache flushes by reason."},
      {"scheduler_get_node_hint_duration_seconds",
       kHistogram,
       {"hinted", "profile"},
       kNodeHints,
       "[ALPHA] Latency for getting a node hint."},
      {"scheduler_store_schedule_results_duration_seconds",
       kHistogram,
       {"profile"},
       kNodeHints,
       "[ALPHA] Latency for getting a no."},
  };
  return kSeries;
}

const std::vector<Series>& own_series() {
  using enum SeriesType;
  static const std::vector<Series> kSeries = {
      {"berth_first_binding_delay_seconds",
       kHistogram,
       {},
       {0.00125, 2, 14},
       "Time from the arrival of a pod to the departure of its binding, where the first attempt placed it."},
      {"berth_batch_pods", kHistogram, {}, {1, 2, 11}, "Pods that the engine answered at once."},
      {"berth_engine_seconds_total", kCounter, {}, {}, "Time in which the engine compiled and placed pods."},
      {"berth_dropped_answers_total",
       kCounter,
       {},
       {},
       "Answers of the engine that were given up, because another pod came first or was given up."},
      {"berth_unbound_pods", kGauge, {}, {}, "Pods that have a node and are not bound yet."},
      {"berth_paused", kGauge, {}, {}, "1 while too many pods are unbound for another attempt, else 0."},
      {"berth_unsupported_pods",
       kGauge,
       {},
       {},
       "Pods that need a plugin which is not built, and are not tried again until they change."},
      {"berth_backend_info", kGauge, {"backend", "device"}, {}, "1, with the backend that places pods."},
      {"berth_classes", kGauge, {}, {}, "Classes of equal pods that the engine keeps."},
      {"berth_hint_classes", kGauge, {}, {}, "Classes of waiting pods that queueing hints cannot tell apart."},
      {"berth_column_bytes", kGauge, {}, {}, "Memory of the columns of the snapshot."},
      {"berth_row_bytes", kGauge, {}, {}, "Memory of the rows of classes."},
      {"berth_rows_built_total", kCounter, {}, {}, "Evaluations of a class on all nodes."},
      {"berth_node_evaluations_total", kCounter, {}, {}, "Evaluations of a class on a node."},
      {"berth_dry_runs_total", kCounter, {}, {}, "Nodes on which the engine tried the eviction of victims."},
      {"berth_forks_total", kCounter, {}, {}, "Forks of the engine that were opened."},
      {"berth_forks_reopened_total", kCounter, {}, {}, "Forks that had to open an engine of their own."},
      {"berth_host_pods_total", kCounter, {}, {}, "Pods decided with plugins on the host."},
      {"berth_host_stops_total", kCounter, {}, {}, "Batches that stopped to ask plugins on the host."},
      {"berth_device_allocated_bytes", kGauge, {}, {}, "Memory allocated on the device."},
      {"berth_device_uploaded_bytes_total", kCounter, {}, {}, "Bytes sent to the device."},
      {"berth_device_downloaded_bytes_total", kCounter, {}, {}, "Bytes received from the device."},
      {"berth_device_full_uploads_total", kCounter, {}, {}, "Uploads of all columns."},
      {"berth_device_fallbacks_total", kCounter, {"work"}, {}, "Work for the device that the host did instead."},
      {"berth_kernel_launches_total", kCounter, {"kernel"}, {}, "Launches of a kernel."},
      {"berth_kernel_seconds_total", kCounter, {"kernel"}, {}, "Time of a kernel on the device, where it is measured."},
  };
  return kSeries;
}

}  // namespace

std::string_view to_string(SeriesType type) {
  switch (type) {
    case SeriesType::kCounter:
      return "counter";
    case SeriesType::kGauge:
      return "gauge";
    case SeriesType::kHistogram:
      break;
  }
  return "histogram";
}

std::vector<double> bounds_of(const ExponentialBuckets& buckets) {
  std::vector<double> bounds;
  double bound = buckets.first;
  for (std::size_t i = 0; i < buckets.count; ++i, bound *= buckets.factor) bounds.push_back(bound);
  return bounds;
}

std::span<const Series> all_series() {
  static const std::vector<Series> kAll = [] {
    std::vector<Series> all = upstream_series();
    all.insert(all.end(), own_series().begin(), own_series().end());
    return all;
  }();
  return kAll;
}

const Series& series_named(std::string_view name) {
  const std::span<const Series> all = all_series();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Series& each) { return each.name == name; });
  if (at == all.end()) throw std::out_of_range("no series " + std::string(name));
  return *at;
}

}  // namespace berth
