// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/framework/waiting_pods.h"
#include "host/scheduler/loop/api_calls.h"
#include "host/scheduler/loop/loop_meter.h"
#include "host/scheduler/loop/loop_observer.h"
#include "plugins/default_preemption/preemption_gate.h"

namespace berth {

/// A node that preemption chose, and what has to go first.
struct ChosenCandidate {
  PodPtr preemptor;
  std::string node_name;
  std::vector<PodPtr> victims;  ///< most important first
  std::int64_t chosen_us = 0;   ///< by the clock
};

/// Makes room for preemptors: docs/behaviour/scheduler-core.md 4.8.
class Evictions {
 public:
  struct Parts {
    ApiCalls& calls;
    WaitingPods& waiting_pods;
    RunningPreemptions& running;
    LoopObserver& observer;
    /// The preemptor may be tried again, because a victim could not be evicted.
    std::function<void(const PodPtr&)> activate;
    /// Pods of lower priority that are nominated to the node now, as the API server has them.
    std::function<std::vector<PodPtr>(const ChosenCandidate&)> lower_nominated;
    /// metadata.generation of the pod's newest version.
    std::function<std::int64_t(const Pod&)> generation_of;
    /// 1.36: a victim that waits in PreBind is given up without an API call. @return false where it does not wait
    /// there; empty: 1.35
    std::function<bool(const Pod& victim)> cancel_pre_bind;
    const Clock& clock;
    LoopMeter* meter = nullptr;      ///< null: nobody is told
    std::size_t per_minute_max = 0;  ///< evictions; 0: no limit
  };
  /// What `parts` refers to must outlive the object.
  explicit Evictions(Parts parts) : parts_(std::move(parts)) {}

  /// Gate SchedulerAsyncPreemption: lower nominations are cleared, all victims but the last are evicted, then the last
  /// one; the preemptor is kept out of the queue until then. Victims that are being deleted already are left alone, and
  /// where all are, nothing is done. The last victim is left alone where another one could not be evicted: v1.35 tries
  /// it with a context that is cancelled by then.
  void start(ChosenCandidate candidate);
  /// Without the gate: all victims at once, and when they are evicted, lower nominations are cleared.
  /// @param done  called when all calls are answered, with the first failure of an eviction
  void start_and_tell(const ChosenCandidate& candidate, std::function<void(const StoreStatus&)> done);

  /// The pod is gone, or is being deleted: a preemptor whose last victim it is need not be kept any longer, and the pod
  /// need not be evicted.
  void note_leaving(const Pod& pod);

  /// Goes on with evictions that Parts::per_minute_max held back. @return whether there was one that may go now
  bool run();
  /// When run() has something to do; ApiClient::kNeverUs: not before somebody else is to be evicted.
  std::int64_t next_event_us() const;

 private:
  using Done = std::function<void(const StoreStatus&)>;
  using SharedCandidate = std::shared_ptr<const ChosenCandidate>;
  struct Eviction {
    PodPtr victim;
    PodPtr preemptor;
    std::string node_name;
    Done done;
  };

  void evict_some(const SharedCandidate& candidate, const StoreStatus& cleared);
  void evict_last(const SharedCandidate& candidate, const StoreStatus& cleared);
  void evict_all(const ChosenCandidate& candidate, std::span<const PodPtr> victims, Done done);
  void evict(const PodPtr& victim, const ChosenCandidate& candidate, Done done);
  void evict_now(const Eviction& eviction);
  void drop_held_back(const std::string& uid);
  bool evict_in_memory(const Pod& victim) const;
  void clear_lower_nominations(const ChosenCandidate& candidate, Done done);
  void end(const ChosenCandidate& candidate, const StoreStatus& status);

  Parts parts_;
  std::unordered_map<std::string, std::vector<PodPtr>> last_victim_of_;  ///< [uid of the victim] preemptors
  std::deque<Eviction> held_back_;                                       ///< in the order in which they were asked for
  std::deque<std::int64_t> evicted_us_;  ///< by the clock: the last Parts::per_minute_max evictions
};

}  // namespace berth
