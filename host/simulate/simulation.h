// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a scenario on a virtual clock: an object store stands for the API server, a Kubelet for all kubelets, and a
// StoreScheduler places the pods. The same scenario and options give the same result.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/scheduler/loop/loop_observer.h"
#include "host/scheduler/loop/loop_options.h"
#include "host/simulate/actions.h"
#include "host/simulate/recorder.h"
#include "host/simulate/scenario.h"
#include "host/simulate/timeline.h"

namespace berth {

struct SimulationOptions {
  LoopOptions loop;
  bool keeps_metrics = false;  ///< fills SimulationResult::metrics_text
  /// Called now and then, on the calling thread, with the pods that were tried so far. May be empty.
  std::function<void(std::int64_t attempts)> progress;
  /// Called with what the user has to hear of, a sentence each: LoopWarnings. May be empty.
  std::function<void(const std::string& sentence)> warn;
  /// Makes one more observer of the scheduler, for the simulation's clock. It lives as long as the simulation, and what
  /// it throws ends the simulation. May be empty.
  std::function<std::unique_ptr<LoopObserver>(const Clock& clock)> observe;
};

/// Attempts to place a pod that one simulation may take.
inline constexpr std::int64_t kSimulationAttemptsMax = 100'000'000;

enum class SimulationEnd : std::uint8_t {
  kUntil,  ///< the time that the scenario names
  kQuiet,  ///< it names none: when nothing was planned any more, and what waited could not be placed
};

/// A pod that has no node at the end.
struct WaitingPod {
  std::string name;     ///< "namespace/name"
  std::string reason;   ///< of its condition PodScheduled: "Unschedulable", "SchedulingGated"; empty: it was not tried
  std::string message;  ///< of that condition
};

struct SimulationResult {
  std::int64_t start_us = 0;  ///< since the epoch
  std::int64_t end_us = 0;    ///< from the start
  SimulationEnd end = SimulationEnd::kQuiet;
  std::vector<std::string> resources;
  std::vector<TimelineSample> samples;
  std::int64_t samples_interval_us = 0;  ///< length of their steps; 0: one at each change
  ClusterState last;
  ClusterEvents totals;
  std::int64_t pending_max = 0;
  std::vector<double> mean_utilisation;  ///< by resource, over the whole time
  std::vector<SimulatedPod> pods;        ///< in the order in which they came
  std::vector<WaitingPod> waiting;       ///< by namespace and name
  std::vector<SimulatedEvent> events;    ///< of the scheduler, in order; the first Recorder::kEventsKept
  std::int64_t event_count = 0;          ///< those that were not kept included
  std::vector<FailedAction> failed_actions;
  std::int64_t failed_action_count = 0;  ///< those that were not kept included
  std::string metrics_text;              ///< docs/metrics.md, as at the end; empty unless they were asked for
};

/// A simulation ends at scenario.until_us, or when nothing can happen any more: no action and no event of a kubelet is
/// planned, and for a quiet period the cluster has not changed. The scheduler tries every pod again after five minutes
/// at the latest, so that by then each waiting pod was tried on the cluster as it is, and trying again gives the same.
///
/// @throws InputError  as StoreScheduler; when more than kSimulationAttemptsMax attempts are needed
SimulationResult simulate(const Scenario& scenario, const SimulationOptions& options);

}  // namespace berth
