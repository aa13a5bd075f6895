// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <vector>

#include "host/metrics/scheduler_metrics.h"
#include "host/scheduler/loop/scheduling_loop.h"

namespace berth {

/// Reads the figures of a loop when it is asked, so that the loop itself takes no lock. Not while the loop runs.
class LoopCollectable : public prometheus::Collectable {
 public:
  /// @param metrics, loop  outlive this
  LoopCollectable(const SchedulerMetrics& metrics, const SchedulingLoop& loop) : metrics_(metrics), loop_(loop) {}
  /// One family for each of all_series() that has a value, in that order; labels are sorted by name, as Go clients do.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SchedulerMetrics& metrics_;
  const SchedulingLoop& loop_;
};

/// Adds a label to every metric.
void add_label(std::vector<prometheus::MetricFamily>& families, std::string_view name, const std::string& value);
/// Appends the metrics of `more` to the families of the same names.
void merge(std::vector<prometheus::MetricFamily>& families, std::vector<prometheus::MetricFamily> more);

/// In Prometheus' text format, version 0.0.4; label values are escaped.
std::string metrics_text(const std::vector<prometheus::MetricFamily>& families);

}  // namespace berth
