// SPDX-License-Identifier: Apache-2.0
#include "host/metrics/exposition.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using LabelValues = std::vector<std::string>;

MetricType type_of(SeriesType type) {
  switch (type) {
    case SeriesType::kCounter:
      return MetricType::Counter;
    case SeriesType::kGauge:
      return MetricType::Gauge;
    case SeriesType::kHistogram:
      break;
  }
  return MetricType::Histogram;
}

std::string success_label(bool is_success) { return is_success ? "success" : "error"; }

void sort_labels(ClientMetric& metric) {
  std::sort(metric.label.begin(), metric.label.end(),
            [](const ClientMetric::Label& a, const ClientMetric::Label& b) { return a.name < b.name; });
}

class Families {
 public:
  Families() {
    for (const Series& series : all_series())
      list_.push_back({std::string(series.name), std::string(series.help), type_of(series.type), {}});
  }
  /// @param labels  values, in the order of Series::labels
  template <typename Number>
  void add(std::string_view name, Number value, const LabelValues& labels = {}) {
    ClientMetric& metric = add_metric(series_named(name), labels);
    metric.counter.value = static_cast<double>(value);  // one of the two is read
    metric.gauge.value = static_cast<double>(value);
  }
  void add(const Series& series, const MetricHistogram& histogram, const LabelValues& labels = {}) {
    ClientMetric::Histogram& out = add_metric(series, labels).histogram;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
      count += histogram.counts()[i];
      out.bucket.push_back({count, histogram.bounds()[i]});
    }
    out.sample_count = count + histogram.counts().back();
    out.sample_sum = histogram.sum();
  }
  void add(std::string_view name, const MetricHistogram& histogram) { add(series_named(name), histogram); }
  /// @param values  of the labels, from those of the histogram
  template <class Histogram, class Values>
  void add_each(const Histogram& histogram, Values values) {
    for (const auto& [key, one] : histogram.by_labels()) add(histogram.series(), one, std::apply(values, key));
  }
  /// The same, and a counter of the observations beside it.
  template <class Histogram, class Values>
  void add_each_counted(std::string_view counter, const Histogram& histogram, Values values) {
    add_each(histogram, values);
    for (const auto& [key, one] : histogram.by_labels()) add(counter, one.count(), std::apply(values, key));
  }
  /// A series without a value is left out, as Go clients do.
  std::vector<MetricFamily> take() {
    std::erase_if(list_, [](const MetricFamily& family) { return family.metric.empty(); });
    return std::move(list_);
  }

 private:
  ClientMetric& add_metric(const Series& series, const LabelValues& labels) {
    if (labels.size() != series.labels.size()) throw std::logic_error("labels of " + std::string(series.name));
    ClientMetric metric;
    for (std::size_t i = 0; i < labels.size(); ++i) metric.label.push_back({std::string(series.labels[i]), labels[i]});
    sort_labels(metric);
    std::vector<ClientMetric>& metrics = list_[static_cast<std::size_t>(&series - all_series().data())].metric;
    return metrics.emplace_back(std::move(metric));
  }

  std::vector<MetricFamily> list_;
};

void add_attempts(const SchedulerMetrics& metrics, Families& families) {
  families.add_each_counted("scheduler_schedule_attempts_total", metrics.attempt_seconds,
                            [](AttemptResult result, const std::string& profile) {
                              return LabelValues{std::string(to_string(result)), profile};
                            });
  families.add("scheduler_scheduling_algorithm_duration_seconds", metrics.algorithm_seconds);
  families.add_each(metrics.sli_seconds, [](std::uint32_t attempts) {
    return LabelValues{std::to_string(attempts) + (attempts == SchedulerMetrics::kAttemptsLabelMax ? "+" : "")};
  });
  families.add("scheduler_pod_scheduling_attempts", metrics.attempts_of_bound);
  if (metrics.bound_after_flush > 0)
    families.add("scheduler_pod_scheduled_after_flush_total", metrics.bound_after_flush);
  families.add("scheduler_preemption_victims", metrics.preemption_victims);
  families.add("scheduler_preemption_attempts_total", metrics.preemption_attempts);
  families.add_each_counted("scheduler_preemption_goroutines_execution_total", metrics.eviction_seconds,
                            [](bool is_success) { return LabelValues{success_label(is_success)}; });
  families.add("berth_first_binding_delay_seconds", metrics.first_binding_seconds);
  families.add("berth_batch_pods", metrics.batch_pods);
  families.add("berth_engine_seconds_total", metrics.engine_seconds);
  families.add("berth_dropped_answers_total", metrics.dropped_answers);
}

void add_opportunistic(const SchedulerMetrics& metrics, Families& families) {
  for (const auto& [key, count] : metrics.batch_attempts)
    families.add("scheduler_batch_attempts_total", count, {key.first, std::string(to_string(key.second))});
  for (const auto& [key, count] : metrics.batch_flushes)
    families.add("scheduler_batch_cache_flushed_total", count, {key.first, std::string(to_string(key.second))});
  families.add_each(metrics.node_hint_seconds, [](bool is_hint, const std::string& profile) {
    return LabelValues{is_hint ? "hint" : "no_hint", profile};
  });
  families.add_each(metrics.batch_store_seconds, [](const std::string& profile) { return LabelValues{profile}; });
}

void add_plugins(const SchedulerMetrics& metrics, Families& families) {
  for (std::size_t i = 0; i < kMeteredPointCount; ++i) {
    const std::string point(to_string(static_cast<MeteredPoint>(i)));
    families.add_each(metrics.point_seconds[i], [&point](StatusCode code, const std::string& profile) {
      return LabelValues{point, std::string(to_string(code)), profile};
    });
  }
  families.add_each(metrics.plugin_seconds, [](const std::string& plugin, MeteredPoint point, StatusCode code) {
    return LabelValues{plugin, std::string(to_string(point)), std::string(to_string(code))};
  });
  families.add_each(metrics.permit_seconds, [](StatusCode code) { return LabelValues{std::string(to_string(code))}; });
}

void add_events(const SchedulerMetrics& metrics, const SchedulingQueue& queue, Families& families) {
  families.add_each(metrics.event_seconds, [](EventResource resource, std::uint16_t actions) {
    return LabelValues{to_string(ClusterEvent{resource, actions})};
  });
  families.add_each(
      metrics.hint_seconds, [](const std::string& plugin, EventResource resource, std::uint16_t actions, bool queues) {
        return LabelValues{plugin, to_string(ClusterEvent{resource, actions}), queues ? "Queue" : "QueueSkip"};
      });
  for (const auto& [label, count] : queue.in_flight().counts_by_label())
    families.add("scheduler_inflight_events", count, {label});
}

void add_queue(const SchedulingQueue& queue, Families& families) {
  const SchedulingQueue::Sizes sizes = queue.sizes();
  families.add("scheduler_pending_pods", sizes.active, {"active"});
  families.add("scheduler_pending_pods", sizes.backoff, {"backoff"});
  families.add("scheduler_pending_pods", sizes.gated + sizes.held, {"gated"});
  families.add("scheduler_pending_pods", sizes.unschedulable, {"unschedulable"});
  for (const auto& [key, count] : queue.counts().incoming())
    families.add("scheduler_queue_incoming_pods_total", count, {key.first, key.second});
  for (const auto& [key, count] : queue.unschedulable_by_plugin(true))
    families.add("scheduler_unschedulable_pods", count, {key.first, key.second});
  families.add("berth_unsupported_pods", sizes.held);
  families.add("berth_hint_classes", queue.hint_class_count());
}

void add_calls(const SchedulerMetrics& metrics, const ApiCalls& calls, Families& families) {
  families.add_each_counted(
      "scheduler_async_api_call_execution_total", metrics.api_call_seconds,
      [](const std::string& type, bool is_success) { return LabelValues{type, success_label(is_success)}; });
  if (!calls.merges()) return;
  for (const auto& [type, count] : calls.pending_by_type())
    families.add("scheduler_pending_async_api_calls", count, {std::string(type)});
}

void add_device(const DeviceStats& stats, Families& families) {
  families.add("berth_device_allocated_bytes", stats.allocated_bytes);
  families.add("berth_device_uploaded_bytes_total", stats.uploaded_bytes);
  families.add("berth_device_downloaded_bytes_total", stats.downloaded_bytes);
  families.add("berth_device_full_uploads_total", stats.full_uploads);
  families.add("berth_device_fallbacks_total", stats.dry_runs_on_host, {"dry_runs"});
  families.add("berth_device_fallbacks_total", stats.evaluations_on_host, {"evaluations"});
  families.add("berth_device_fallbacks_total", stats.fork_pods_on_host, {"fork_pods"});
  families.add("berth_device_fallbacks_total", stats.pods_on_host, {"pods"});
  for (const DeviceStats::Kernel& kernel : stats.kernels) {
    families.add("berth_kernel_launches_total", kernel.launches, {std::string(kernel.name)});
    families.add("berth_kernel_seconds_total", kernel.seconds, {std::string(kernel.name)});
  }
}

void add_engine(const Backend& backend, Families& families) {
  const BackendStats stats = backend.stats();
  families.add("berth_backend_info", 1, {std::string(backend.name()), stats.device ? stats.device->device : ""});
  families.add("berth_classes", stats.class_count);
  families.add("berth_column_bytes", stats.column_bytes);
  families.add("berth_row_bytes", stats.row_bytes);
  families.add("berth_rows_built_total", stats.rows_built);
  families.add("berth_node_evaluations_total", stats.node_evaluations);
  families.add("berth_dry_runs_total", stats.dry_runs);
  families.add("berth_forks_reopened_total", stats.forks_reopened);
  families.add("berth_host_pods_total", stats.host_pods);
  families.add("berth_host_stops_total", stats.host_stops);
  if (stats.device) add_device(*stats.device, families);
}

}  // namespace

std::vector<MetricFamily> LoopCollectable::Collect() const {
  Families families;
  add_attempts(metrics_, families);
  add_opportunistic(metrics_, families);
  add_plugins(metrics_, families);
  add_events(metrics_, loop_.queue(), families);
  add_queue(loop_.queue(), families);
  add_calls(metrics_, loop_.calls(), families);
  const SchedulingLoop::CacheSizes sizes = loop_.cache_sizes();
  families.add("scheduler_cache_size", sizes.assumed_pods, {"assumed_pods"});
  families.add("scheduler_cache_size", sizes.nodes, {"nodes"});
  families.add("scheduler_cache_size", sizes.pods, {"pods"});
  families.add("berth_unbound_pods", loop_.unbound_count());
  families.add("berth_paused", loop_.is_paused() ? 1 : 0);
  add_engine(loop_.backend(), families);
  families.add("berth_forks_total", loop_.fork_count());
  return families.take();
}

void add_label(std::vector<MetricFamily>& families, std::string_view name, const std::string& value) {
  for (MetricFamily& family : families) {
    for (ClientMetric& metric : family.metric) {
      metric.label.push_back({std::string(name), value});
      sort_labels(metric);
    }
  }
}

void merge(std::vector<MetricFamily>& families, std::vector<MetricFamily> more) {
  for (MetricFamily& family : more) {
    const auto same = std::find_if(families.begin(), families.end(),
                                   [&](const MetricFamily& other) { return other.name == family.name; });
    if (same == families.end()) {
      families.push_back(std::move(family));
    } else {
      std::move(family.metric.begin(), family.metric.end(), std::back_inserter(same->metric));
    }
  }
}

std::string metrics_text(const std::vector<MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace berth
