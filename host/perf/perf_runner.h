// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a planned workload: a new store, a StoreScheduler over it, the real clock.

#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/engine_config.h"
#include "host/perf/workload_plan.h"
#include "host/perf/workload_run.h"

namespace berth {

struct PerfRunOptions {
  EngineConfig engine;
  double rate_factor = 1;      ///< see RatePolicy
  bool volumes_first = false;  ///< see WorkloadRunOptions
  std::int64_t wait_limit_us = WorkloadRunOptions{}.wait_limit_us;
  bool keeps_metrics = false;  ///< fills PerfResult::metrics
  /// See WorkloadRunOptions. May be empty.
  std::function<void(const std::string& workload, const std::string& measurement, const ClusterObjects& cluster)>
      on_measured = {};
  /// Called with what the user has to hear of, a sentence each: LoopWarnings. May be empty.
  std::function<void(const std::string& sentence)> warn = {};
};

/// What became of one workload.
struct PerfResult {
  std::string name;
  std::string skip_reason;  ///< empty: it was run
  std::string error;        ///< why the run ended early; empty: it did not
  bool hints_on = false;    ///< see WorkloadPlan
  double threshold = 0;     ///< pods a second; 0: none
  std::vector<PerfMeasurement> measurements;
  /// docs/metrics.md, of the whole workload, as at its end; with a label `workload`. Empty unless they were asked for.
  std::vector<prometheus::MetricFamily> metrics;
};

/// @param plan  one that is skipped gives a result that says so
/// @throws InputError, DeviceError when no engine can be opened
PerfResult run_workload(const WorkloadPlan& plan, const PerfRunOptions& options);

enum class PerfVerdict : std::uint8_t {
  kSkipped,
  kFailed,
  kNotMeasured,  ///< pods met fewer repetitions of churn and deletions than at the threshold
  kBelow,        ///< fewer pods a second than the threshold
  kReached,
  kNoThreshold,
};
PerfVerdict verdict_of(const PerfMeasurement& measurement, double threshold);
/// The worst of its measurements.
PerfVerdict verdict_of(const PerfResult& result);
std::string_view to_string(PerfVerdict verdict);

struct PerfTotals {
  std::size_t run = 0;
  std::size_t skipped = 0;
  std::size_t below = 0;
  std::size_t failed = 0;  ///< not among `run`
};
PerfTotals totals_of(const std::vector<PerfResult>& results);

}  // namespace berth
