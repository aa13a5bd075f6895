// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_runner.h"

#include <chrono>
#include <thread>
#include <utility>

#include "host/framework/clock.h"
#include "host/metrics/exposition.h"
#include "host/metrics/scheduler_metrics.h"
#include "host/scheduler/loop/loop_warnings.h"
#include "host/scheduler/loop/observers.h"
#include "host/scheduler/loop/store_scheduler.h"

namespace berth {
namespace {

static_assert(PerfScheduler::kNeverUs == ApiClient::kNeverUs);

/// The scheduler of a workload. Counts evictions, and keeps metrics where the options have a meter.
class LoopScheduler final : public PerfScheduler, private LoopObserver {
 public:
  LoopScheduler(ObjectStore& store, const LoopOptions& options, LoopWarnings::Warn warn)
      : warnings_(std::move(warn)), observers_({this, &warnings_}), scheduler_(store, options, observers_) {}
  const SchedulingLoop& loop() const { return scheduler_.loop(); }

  std::size_t run(std::size_t attempts_max) override { return scheduler_.run(attempts_max); }
  std::int64_t next_wake_us() const override { return scheduler_.next_wake_us(); }
  std::int64_t preempted() const override { return preempted_; }

 private:
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override {
    static_cast<void>(victim), static_cast<void>(preemptor), static_cast<void>(node_name);
    ++preempted_;
  }

  std::int64_t preempted_ = 0;
  LoopWarnings warnings_;
  LoopObservers observers_;
  StoreScheduler scheduler_;  // last: it may call the observer while it is made
};

void sleep_until(std::int64_t time_us) {
  const std::int64_t rest_us = time_us - RealClock::shared().now_us();
  if (rest_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(rest_us));
}

LoopOptions loop_options(const WorkloadPlan& plan, const PerfRunOptions& options) {
  LoopOptions loop;
  loop.config = plan.config;
  loop.engine = options.engine;
  return loop;
}

}  // namespace

PerfResult run_workload(const WorkloadPlan& plan, const PerfRunOptions& options) {
  PerfResult result;
  result.name = plan.name;
  result.skip_reason = plan.skip_reason;
  result.hints_on = plan.hints_on;
  result.threshold = plan.threshold;
  if (!result.skip_reason.empty()) return result;
  ObjectStore store(RealClock::shared(), store_options(plan.config.gates));
  SchedulerMetrics metrics(store.clock());
  LoopOptions loop = loop_options(plan, options);
  if (options.keeps_metrics) loop.meter = &metrics;
  LoopScheduler scheduler(store, loop, [&](const std::string& sentence) {
    if (options.warn) options.warn(plan.name + ": " + sentence);
  });
  const std::function<void(std::int64_t)> sleep = sleep_until;
  WorkloadRunOptions run_options;
  run_options.rate = {options.rate_factor, plan.threshold};
  run_options.wait_limit_us = options.wait_limit_us;
  run_options.volumes_first = options.volumes_first;
  run_options.seed = options.engine.seed;
  if (options.on_measured)
    run_options.on_measured = [&](const std::string& measurement, const ClusterObjects& cluster) {
      options.on_measured(plan.name, measurement, cluster);
    };
  try {
    result.measurements = WorkloadRun(store, scheduler, sleep, run_options).execute(plan.ops);
  } catch (const WorkloadError& error) {
    result.error = error.what();
  }
  if (options.keeps_metrics) {
    result.metrics = LoopCollectable(metrics, scheduler.loop()).Collect();
    add_label(result.metrics, "workload", result.name);
  }
  return result;
}

}  // namespace berth
