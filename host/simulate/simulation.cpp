// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/simulation.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "host/metrics/exposition.h"
#include "host/metrics/scheduler_metrics.h"
#include "host/objects/pod_state.h"
#include "host/queue/scheduling_queue.h"
#include "host/scheduler/loop/loop_warnings.h"
#include "host/scheduler/loop/observers.h"
#include "host/scheduler/loop/store_scheduler.h"
#include "host/simulate/volume_controller.h"
#include "host/store/kubelet.h"

namespace berth {
namespace {

constexpr std::int64_t kNeverUs = INT64_MAX;
/// Pods that are tried before the clockwork is looked at again, so that events do not pile up.
constexpr std::size_t kAttemptsEach = 10'000;
/// Times that one thing may lead to another within an instant. Every pod starts and ends once, so that only a defect
/// goes on for ever.
constexpr std::int64_t kRoundsMax = 10'000'000;

/// What utilisation is of: cpu, memory, pods, and the first extended resources that some node ever has.
std::vector<std::string> resources_of(const Scenario& scenario) {
  std::set<std::string> extended;
  const auto add = [&](const ClusterObjects& objects) {
    for (const NodePtr& node : objects.nodes) {
      for (const auto& [name, amount] : node->allocatable.scalars)
        if (amount > 0) extended.insert(name);
    }
  };
  add(scenario.cluster);
  for (const ScenarioAction& action : scenario.actions) add(action.create);
  std::vector<std::string> resources = {std::string(kCpu), std::string(kMemory), std::string(kPods)};
  for (const std::string& name : extended)
    if (resources.size() < kTimelineResourcesMax) resources.push_back(name);
  return resources;
}

StoreOptions options_of_store(const LoopOptions& loop) {
  StoreOptions options = store_options(loop.config.gates);
  options.seed = loop.engine.seed;
  // Events are read at every instant, which may bring as many as there are pods.
  options.watch_history_limit = SIZE_MAX;
  return options;
}

KubeletOptions kubelet_options(const Scenario& scenario) {
  KubeletOptions options;
  options.start_delay_us = scenario.start_delay_us;
  options.run_duration_us = [otherwise = scenario.run_duration_us](const Pod& pod) {
    const auto& own = pod.rare().run_duration_us;
    return own ? own : otherwise;
  };
  return options;
}

/// The time within which each waiting pod is tried again, whatever happens: the leftover flush takes it, and it backs
/// off once more.
std::int64_t quiet_period_us(const SchedulerConfig& config) {
  const QueueOptions options = queue_options(config);
  return options.max_unschedulable_us + SchedulingQueue::kLeftoverIntervalUs + options.max_backoff_us;
}

LoopOptions loop_of(LoopOptions options, LoopMeter* meter) {
  options.meter = meter;
  return options;
}

class Simulation {
 public:
  Simulation(const Scenario& scenario, const SimulationOptions& options)
      : scenario_(scenario),
        options_(options),
        clock_(scenario.start_us),
        store_(clock_, options_of_store(options.loop)),
        player_(scenario, store_),
        volumes_(store_),
        kubelet_(store_, kubelet_options(scenario)),
        recorder_(store_, resources_of(scenario), scenario.start_us),
        guest_(options.observe ? options.observe(clock_) : nullptr),
        warnings_(options.warn),
        observers_({&recorder_, &warnings_, guest_.get()}),
        metrics_(options.keeps_metrics ? std::make_unique<SchedulerMetrics>(clock_) : nullptr),
        scheduler_(store_, loop_of(options.loop, metrics_.get()), observers_),
        last_change_us_(scenario.start_us),
        quiet_us_(quiet_period_us(options.loop.config)) {}

  SimulationResult run() {
    const std::int64_t until_us = scenario_.until_us ? scenario_.start_us + *scenario_.until_us : kNeverUs;
    for (;;) {
      settle();
      if (is_quiet()) break;
      const std::int64_t next_us = std::min(planned_us(), scheduler_.next_wake_us());
      if (next_us > until_us) break;
      if (next_us <= clock_.now_us()) throw std::logic_error("something that is due was not done");
      clock_.advance_to(next_us);
    }
    if (scenario_.until_us) clock_.advance_to(until_us);
    return result();
  }

 private:
  /// Of what does not depend on the scheduler.
  std::int64_t planned_us() { return std::min(player_.next_us(), kubelet_.next_event_us()); }

  bool is_quiet() {
    if (planned_us() != kNeverUs) return false;
    const std::int64_t wake_us = scheduler_.next_wake_us();
    return wake_us == kNeverUs || wake_us > last_change_us_ + quiet_us_;
  }

  /// Does all that happens now, and what follows from it now.
  void settle() {
    const std::int64_t now_us = clock_.now_us();
    for (std::int64_t round = 0;; ++round) {
      if (round == kRoundsMax) throw std::logic_error("the simulation does not come to the end of an instant");
      const std::uint64_t version_before = store_.resource_version();
      const std::size_t provisioner_changes = player_.provisioner_changes();
      player_.run_until(now_us);
      if (player_.provisioner_changes() != provisioner_changes) volumes_.try_again();
      volumes_.run();
      kubelet_.run_until(now_us);
      const std::size_t tried = scheduler_.run(kAttemptsEach);
      count_attempts(tried);
      if (recorder_.read_events()) last_change_us_ = now_us;
      if (tried == 0 && store_.resource_version() == version_before && planned_us() > now_us) break;
    }
    recorder_.end_instant(now_us);
  }

  void count_attempts(std::size_t tried) {
    attempts_ += static_cast<std::int64_t>(tried);
    if (options_.progress && tried > 0) options_.progress(attempts_);
    if (attempts_ <= kSimulationAttemptsMax) return;
    throw InputError(InputProblem{
        "", "",
        "the simulation needs more than " + std::to_string(kSimulationAttemptsMax) +
            " attempts to place a pod, expected a scenario that ends before; pods that do not fit are tried again "
            "every five minutes, so that a shorter until helps"});
  }

  SimulationResult result() {
    SimulationResult result;
    result.start_us = scenario_.start_us;
    result.end_us = clock_.now_us() - scenario_.start_us;
    result.end = scenario_.until_us ? SimulationEnd::kUntil : SimulationEnd::kQuiet;
    result.resources = recorder_.resources();
    result.samples_interval_us = recorder_.timeline().interval_us();
    result.samples = fold(recorder_.timeline().samples(), 0, result.end_us);
    result.last = recorder_.state();
    result.totals = recorder_.totals();
    result.pending_max = recorder_.pending_max();
    for (std::size_t r = 0; r < result.resources.size(); ++r)
      result.mean_utilisation.push_back(recorder_.mean_utilisation(r, result.end_us));
    result.pods = recorder_.pods();
    result.waiting = waiting_pods();
    result.events = recorder_.scheduler_events();
    result.event_count = recorder_.scheduler_event_count();
    result.failed_actions = player_.failures();
    result.failed_action_count = player_.failure_count();
    if (metrics_ != nullptr)
      result.metrics_text = metrics_text(LoopCollectable(*metrics_, scheduler_.loop()).Collect());
    return result;
  }

  std::vector<WaitingPod> waiting_pods() const {
    std::vector<WaitingPod> waiting;
    for (const StoredPodPtr& pod : store_.list<Pod>().items) {
      if (!is_pending(*pod->object)) continue;
      WaitingPod& entry = waiting.emplace_back();
      entry.name = pod->object->full_name();
      if (const PodCondition* condition = pod->find_condition("PodScheduled")) {
        entry.reason = condition->reason;
        entry.message = condition->message;
      } else if (!pod->object->rare().scheduling_gates.empty()) {
        entry.reason = "SchedulingGated";  // the model keeps no conditions of a dump
      }
    }
    return waiting;
  }

  const Scenario& scenario_;
  const SimulationOptions& options_;
  VirtualClock clock_;
  ObjectStore store_;
  ScenarioPlayer player_;  ///< loads the cluster, which those below begin with
  VolumeController volumes_;
  Kubelet kubelet_;
  Recorder recorder_;
  std::unique_ptr<LoopObserver> guest_;  ///< null: none
  LoopWarnings warnings_;
  LoopObservers observers_;
  std::unique_ptr<SchedulerMetrics> metrics_;  ///< null: nobody asked for them
  StoreScheduler scheduler_;
  std::int64_t last_change_us_;  ///< of the cluster, by the clock
  std::int64_t quiet_us_;
  std::int64_t attempts_ = 0;
};

}  // namespace

SimulationResult simulate(const Scenario& scenario, const SimulationOptions& options) {
  return Simulation(scenario, options).run();
}

}  // namespace berth
