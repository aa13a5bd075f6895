// SPDX-License-Identifier: Apache-2.0
/// One environment of a Sim: a fork, a queue of pods and a virtual clock. Uses berth.h and nothing of Python.
#pragma once

#include <berth/berth.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "waiting_pods.h"

namespace berth_python {

/// What all environments of a Sim have in common.
struct Scenario {
  std::vector<std::shared_ptr<berth_pod>> pods;
  std::vector<std::string> uids;         // parallel to pods
  std::vector<std::int32_t> priorities;  // parallel to pods
  std::unordered_map<std::string, std::uint32_t> pod_of_uid;
  std::unordered_map<const berth_pod*, std::uint32_t> position_of_pod;
  std::shared_ptr<berth_cluster> cluster;
  std::vector<double> arrivals;        // seconds, rising; of the i-th pod that comes. Infinity: by submit() alone
  std::vector<double> durations;       // seconds that a pod runs; infinity: to the end. Parallel to pods
  std::vector<std::uint32_t> nodes;    // numbers of the snapshot's nodes, ascending
  std::vector<std::string> resources;  // whose use is shown
  std::vector<const char*> names_of_resources;  // of those
  bool is_recorded = false;                     // events are kept until they are taken
  bool is_shuffled = false;                     // pods come in an order that the seed draws
  bool preempts = false;                        // pods that fit nowhere evict others
  bool has_kube_queue = false;                  // who was set aside waits as in kube-scheduler's queue
};

/// Actions that are no position of a node.
enum : std::int32_t { kSetAside = -1, kSchedule = -2 };

enum class EventKind : std::uint8_t {
  kSubmitted = 0,
  kPlaced = 1,
  kSetAside = 2,
  kIllegal = 3,
  kFinished = 4,
  kEvicted = 5
};
struct Event {
  double time;
  std::int32_t pod;   // position among the scenario's pods; -1: a pod of the snapshot, which was evicted
  std::int32_t node;  // position among the nodes, or -1
  EventKind kind;
};

/// What an environment shows of itself after a step.
struct Shown {
  std::uint8_t* mask;  // [nodes]: whether the pod fits there
  std::int64_t* use;   // [resources x nodes]: what the pods there request
  std::int32_t pod;    // to decide about; -1: none, the episode is over
  std::int32_t node;   // where the last one went; -1: nowhere
  std::int32_t placed, pending;
  double time;
  std::uint8_t is_illegal, is_done;
  std::int32_t evicted;
};

class Episode {
 public:
  Episode(const Scenario& scenario, std::shared_ptr<berth_fork> fork);

  /// Starts again. The functions below that return a status leave the episode in a state that only reset() leaves,
  /// where that is negative.
  berth_status reset(std::uint64_t seed, Shown& shown, berth_error* error);
  /// Decides about the current pod: a position of a node, kSetAside or kSchedule. Nothing happens in an episode that is
  /// over.
  berth_status step(std::int32_t action, Shown& shown, berth_error* error);
  /// Whether submit() may be called for the pod.
  bool is_out(std::uint32_t pod) const { return where_[pod] == Where::kOut; }
  /// The pods come now. Each of them is_out().
  berth_status submit(std::span<const std::int32_t> pods, Shown& shown, berth_error* error);
  /// Everything up to a time happens, with decisions as kube-scheduler's. A time that is past changes nothing but that
  /// the pods that wait are decided about.
  berth_status advance(double until, Shown& shown, berth_error* error);

  /// Since the last call.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  enum class Where : std::uint8_t { kToCome, kPending, kRunning, kOut };
  struct Ending {
    double time;
    std::uint32_t pod;
    std::uint32_t run;  // of the pod; where it runs again, or no more, the ending is void
    bool operator>(const Ending& other) const { return time != other.time ? time > other.time : pod > other.pod; }
  };
  /// Who rejected a pod, as texts of berth_queue_fail().
  struct Rejectors {
    std::string all, pending;
  };

  berth_status decide(std::int32_t action, Shown& shown, berth_error* error);
  /// And who is to be decided about next.
  berth_status decide_as_kube_scheduler(Shown& shown, berth_error* error);
  /// @param rejectors  [out] of a pod without a node; null: not wanted
  berth_status schedule(std::uint32_t pod, std::int32_t& position, Rejectors* rejectors, berth_error* error) const;
  berth_status leave(EventKind why, bool fits_nowhere, const Rejectors* known, berth_error* error);
  berth_status preempt(std::uint32_t pod, bool& evicts, berth_error* error);
  berth_status evict(const std::string& uid, std::int32_t node, berth_error* error);
  double next_event_at();
  berth_status next_event(berth_error* error);
  berth_status go_on(berth_error* error);
  /// @param has_happened  [out] whether something did; otherwise nothing more happens, or not before `until`
  berth_status to_next(double until, bool& has_happened, berth_error* error);
  berth_status show(Shown& shown, berth_error* error);
  berth_status show_mask(std::uint8_t* mask, berth_error* error);
  berth_status show_use(std::int64_t* use, berth_error* error) const;
  std::int32_t position_of(std::uint32_t node) const;
  void say(EventKind kind, std::int32_t pod, std::int32_t node) {
    if (scenario_->is_recorded) events_.push_back({time_, pod, node, kind});
  }
  void say(EventKind kind, std::uint32_t pod, std::int32_t node) { say(kind, static_cast<std::int32_t>(pod), node); }

  const Scenario* scenario_;
  std::shared_ptr<berth_fork> fork_;
  std::vector<std::uint32_t> order_;  // pods as they come
  std::size_t arrived_ = 0;
  std::unique_ptr<WaitingPods> waiting_;
  std::int32_t current_ = -1;        // to be decided about; -1: none
  std::vector<Where> where_;         // of each pod
  std::vector<std::uint32_t> runs_;  // of each pod, how often it ran
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  std::vector<std::uint8_t> mask_;
  std::vector<Event> events_;
  double time_ = 0;
  std::int32_t placed_ = 0, evicted_ = 0;
};

}  // namespace berth_python
