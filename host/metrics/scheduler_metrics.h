// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts what a SchedulingLoop does. Plain numbers without a lock: the loop makes one call at a time, and metrics are
// read between its calls.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "host/framework/clock.h"
#include "host/metrics/metric_histogram.h"
#include "host/scheduler/loop/loop_meter.h"

namespace berth {

/// What cannot be read from the loop afterwards. Labels are in the order of Series::labels.
class SchedulerMetrics : public LoopMeter {
 public:
  /// @param clock  the scheduler's; outlives this
  explicit SchedulerMetrics(const Clock& clock) : clock_(clock) {}

  void on_batch(const EngineBatch& batch) override;
  void on_decision(double seconds) override { algorithm_seconds.observe(seconds); }
  void on_failed(const QueuedPodInfo& info, AttemptResult result, double seconds) override;
  void on_bound(const QueuedPodInfo& info, double seconds) override;
  void on_first_binding(double seconds) override { first_binding_seconds.observe(seconds); }
  void on_bound_after_flush() override { ++bound_after_flush; }
  void on_preemption_attempt() override { ++preemption_attempts; }
  void on_victims(std::size_t count) override { preemption_victims.observe(static_cast<double>(count)); }
  void on_evicted(bool is_success, double seconds) override;
  void on_api_call(std::string_view type, bool is_success, double seconds) override;
  void on_batch_attempt(std::string_view profile, BatchAttempt attempt) override {
    ++batch_attempts[{std::string(profile), attempt}];
  }
  void on_batch_flush(std::string_view profile, BatchFlush reason) override {
    ++batch_flushes[{std::string(profile), reason}];
  }
  void on_node_hint(std::string_view profile, bool is_hint, double seconds) override {
    node_hint_seconds.observe(seconds, is_hint, profile);
  }
  void on_batch_stored(std::string_view profile, double seconds) override {
    batch_store_seconds.observe(seconds, profile);
  }
  void on_point(MeteredPoint point, StatusCode code, std::string_view profile, double seconds) override;
  bool wants_plugins(MeteredPoint point) const override;
  void on_plugin(std::string_view plugin, MeteredPoint point, StatusCode code, double seconds) override;
  void on_permit_wait(StatusCode code, double seconds) override;
  void on_hint(std::string_view plugin, ClusterEvent event, bool queues, double seconds) override;
  void on_handled(ClusterEvent event, double seconds) override;

  LabelledHistogram<AttemptResult, std::string> attempt_seconds{"scheduler_scheduling_attempt_duration_seconds"};
  MetricHistogram algorithm_seconds{series_named("scheduler_scheduling_algorithm_duration_seconds")};
  /// As numbers (EventResource, actions).
  LabelledHistogram<EventResource, std::uint16_t> event_seconds{"scheduler_event_handling_duration_seconds"};
  MetricHistogram preemption_victims{series_named("scheduler_preemption_victims")};
  std::uint64_t preemption_attempts = 0;
  std::uint64_t bound_after_flush = 0;
  /// [attempts], kAttemptsLabelMax for that many and more
  LabelledHistogram<std::uint32_t> sli_seconds{"scheduler_pod_scheduling_sli_duration_seconds"};
  MetricHistogram attempts_of_bound{series_named("scheduler_pod_scheduling_attempts")};
  struct PointSeconds : LabelledHistogram<StatusCode, std::string> {
    PointSeconds() : LabelledHistogram("scheduler_framework_extension_point_duration_seconds") {}
  };
  std::array<PointSeconds, kMeteredPointCount> point_seconds;  ///< [point]
  LabelledHistogram<std::string, MeteredPoint, StatusCode> plugin_seconds{
      "scheduler_plugin_execution_duration_seconds"};
  /// The event as above; whether it queues.
  LabelledHistogram<std::string, EventResource, std::uint16_t, bool> hint_seconds{
      "scheduler_queueing_hint_execution_duration_seconds"};
  LabelledHistogram<StatusCode> permit_seconds{"scheduler_permit_wait_duration_seconds"};
  /// [is success]
  LabelledHistogram<bool> eviction_seconds{"scheduler_preemption_goroutines_duration_seconds"};
  LabelledHistogram<std::string, bool> api_call_seconds{"scheduler_async_api_call_execution_duration_seconds"};
  std::map<std::pair<std::string, BatchAttempt>, std::uint64_t> batch_attempts;
  std::map<std::pair<std::string, BatchFlush>, std::uint64_t> batch_flushes;
  /// [is a hint]
  LabelledHistogram<bool, std::string> node_hint_seconds{"scheduler_get_node_hint_duration_seconds"};
  LabelledHistogram<std::string> batch_store_seconds{"scheduler_store_schedule_results_duration_seconds"};
  MetricHistogram first_binding_seconds{series_named("berth_first_binding_delay_seconds")};
  MetricHistogram batch_pods{series_named("berth_batch_pods")};
  double engine_seconds = 0;
  std::uint64_t dropped_answers = 0;

  static constexpr std::uint32_t kAttemptsLabelMax = 15;
  /// The plugins of every such run of a point are timed. Upstream takes each attempt with that probability.
  static constexpr std::uint64_t kRunsOfSample = 10;

 private:
  const Clock& clock_;
  std::array<std::uint64_t, kMeteredPointCount> runs_{};  ///< [point]
};

}  // namespace berth
