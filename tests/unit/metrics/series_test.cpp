// SPDX-License-Identifier: Apache-2.0
#include "host/metrics/series.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/metrics/metric_histogram.h"

namespace berth {
namespace {

/// Of pkg/scheduler/metrics/metrics.go in v1.35.4: "stability|type|labels|first,factor,count".
const std::map<std::string, std::string> kUpstream = {
    {"scheduler_schedule_attempts_total", "STABLE|counter|result,profile|"},
    {"scheduler_event_handling_duration_seconds", "ALPHA|histogram|event|0.0001,2,12"},
    {"scheduler_scheduling_attempt_duration_seconds", "STABLE|histogram|result,profile|0.001,2,15"},
    {"scheduler_scheduling_algorithm_duration_seconds", "ALPHA|histogram||0.001,2,15"},
    {"scheduler_pod_scheduled_after_flush_total", "ALPHA|counter||"},  // of v1.36
    {"scheduler_batch_attempts_total", "ALPHA|counter|profile,result|"},
    {"scheduler_batch_cache_flushed_total", "ALPHA|counter|profile,reason|"},
    {"scheduler_get_node_hint_duration_seconds", "ALPHA|histogram|hinted,profile|1e-05,2,12"},
    {"scheduler_store_schedule_results_duration_seconds", "ALPHA|histogram|profile|1e-05,2,12"},
    {"scheduler_preemption_victims", "STABLE|histogram||1,2,7"},
    {"scheduler_preemption_attempts_total", "STABLE|counter||"},
    {"scheduler_pending_pods", "STABLE|gauge|queue|"},
    {"scheduler_inflight_events", "ALPHA|gauge|event|"},
    {"scheduler_pod_scheduling_sli_duration_seconds", "BETA|histogram|attempts|0.01,2,20"},
    {"scheduler_pod_scheduling_attempts", "STABLE|histogram||1,2,5"},
    {"scheduler_framework_extension_point_duration_seconds",
     "STABLE|histogram|extension_point,status,profile|0.0001,2,12"},
    {"scheduler_plugin_execution_duration_seconds", "ALPHA|histogram|plugin,extension_point,status|1e-05,1.5,20"},
    {"scheduler_queueing_hint_execution_duration_seconds", "ALPHA|histogram|plugin,event,hint|1e-05,1.5,20"},
    {"scheduler_queue_incoming_pods_total", "STABLE|counter|queue,event|"},
    {"scheduler_permit_wait_duration_seconds", "ALPHA|histogram|result|0.001,2,15"},
    {"scheduler_cache_size", "ALPHA|gauge|type|"},
    {"scheduler_unschedulable_pods", "ALPHA|gauge|plugin,profile|"},
    {"scheduler_preemption_goroutines_duration_seconds", "ALPHA|histogram|result|0.01,2,20"},
    {"scheduler_preemption_goroutines_execution_total", "ALPHA|counter|result|"},
    {"scheduler_async_api_call_execution_total", "ALPHA|counter|call_type,result|"},
    {"scheduler_async_api_call_execution_duration_seconds", "ALPHA|histogram|call_type,result|0.001,2,15"},
    {"scheduler_pending_async_api_calls", "ALPHA|gauge|call_type|"},
};

/// Those of upstream that Berth does not keep; docs/metrics.md has the reasons.
const std::set<std::string> kLeftOut = {
    "scheduler_goroutines",
    "scheduler_plugin_evaluation_total",
    "scheduler_resourceclaim_creates_total",
    "scheduler_volume_binder_cache_requests_total",
    "scheduler_volume_scheduling_stage_error_total",
};

std::string labels_of(const Series& series, const std::string& separator) {
  std::string text;
  for (const std::string_view label : series.labels) text += (text.empty() ? "" : separator) + std::string(label);
  return text;
}

std::string form_of(const Series& series) {
  std::ostringstream text;
  const std::size_t end = series.help.find(']');
  text << series.help.substr(1, end - 1) << "|" << to_string(series.type) << "|" << labels_of(series, ",") << "|";
  if (series.buckets.count > 0)
    text << series.buckets.first << "," << series.buckets.factor << "," << series.buckets.count;
  return text.str();
}

std::string document() {
  std::ifstream file("docs/metrics.md");
  return {(std::istreambuf_iterator<char>(file)), {}};
}

TEST(MetricSeries, HaveTheFormOfKubeScheduler) {
  std::size_t found = 0;
  for (const Series& series : all_series()) {
    const std::string name(series.name);
    if (name.starts_with("berth_")) continue;
    ASSERT_TRUE(kUpstream.contains(name)) << name;
    EXPECT_EQ(form_of(series), kUpstream.at(name)) << name;
    ++found;
  }
  EXPECT_EQ(found, kUpstream.size());
}

TEST(MetricSeries, NamesFollowTheTypes) {
  std::set<std::string_view> names;
  for (const Series& series : all_series()) {
    EXPECT_TRUE(names.insert(series.name).second) << series.name;
    EXPECT_EQ(series.name.ends_with("_total"), series.type == SeriesType::kCounter) << series.name;
    EXPECT_EQ(series.buckets.count > 0, series.type == SeriesType::kHistogram) << series.name;
    EXPECT_FALSE(series.help.empty()) << series.name;
  }
}

TEST(MetricSeries, AreInTheDocument) {
  const std::string text = document();
  for (const Series& series : all_series()) {
    std::ostringstream buckets;
    if (series.buckets.count > 0)
      buckets << "exp(" << series.buckets.first << ", " << series.buckets.factor << ", " << series.buckets.count << ")";
    const std::string row = "| `" + std::string(series.name) + "` | " + std::string(to_string(series.type)) + " | " +
                            labels_of(series, ", ") + " | " + buckets.str() + " | ";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
  for (const std::string& name : kLeftOut) {
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    EXPECT_THROW(series_named(name), std::out_of_range);
  }
}

TEST(MetricHistogram, PutsAValueOnABoundBelowIt) {
  MetricHistogram histogram(series_named("scheduler_preemption_victims"));
  for (const double value : {0.0, 1.0, 2.0, 64.0, 65.0}) histogram.observe(value);
  EXPECT_EQ(histogram.bounds(), (std::vector<double>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{2, 1, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(histogram.sum(), 132);
  EXPECT_EQ(histogram.count(), 5U);
}

}  // namespace
}  // namespace berth
