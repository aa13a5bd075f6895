// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a live scheduler serves: docs/behaviour/scheduler-core.md 7.8.

#include <functional>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/live/lease_keeper.h"
#include "host/live/live_scheduler.h"
#include "host/metrics/scheduler_metrics.h"
#include "host/serving/component_metrics.h"
#include "host/serving/health.h"
#include "host/serving/metric_filter.h"
#include "host/serving/route.h"

namespace berth {

/// All outlive the routes.
struct LiveSources {
  LiveScheduler& scheduler;
  const SchedulerMetrics& metrics;  ///< read on the scheduler's thread
  RequestMetrics& requests;
  LeaderMetrics& leaders;
  const SchedulerConfig& config;
  BuildInfo build;
  HealthResults& health;
  const LeaseKeeper* lease = nullptr;  ///< null: no leader election
  std::function<bool()> is_ending;     ///< the process was asked to end
  MetricFilter metric_filter = {};
  std::function<void(int)> set_verbosity = {};  ///< of the log; any thread
};

std::vector<Route> live_routes(const LiveSources& sources, const ServingLog& log);

}  // namespace berth
