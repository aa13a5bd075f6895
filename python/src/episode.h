// SPDX-License-Identifier: Apache-2.0
/// One environment of a Sim: a fork, a queue of pods and a virtual clock. Uses berth.h and nothing of Python.
#pragma once

#include <berth/berth.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace berth_python {

/// What all environments of a Sim have in common.
struct Scenario {
  std::vector<std::shared_ptr<berth_pod>> pods;
  std::vector<std::string> uids;                // parallel to pods
  std::vector<double> arrivals;                 // seconds, rising; of the i-th pod that comes
  std::vector<double> durations;                // seconds that a pod runs; infinity: to the end. Parallel to pods
  std::vector<std::uint32_t> nodes;             // numbers of the snapshot's nodes, ascending
  std::vector<std::string> resources;           // whose use is shown
  std::vector<const char*> names_of_resources;  // of those
  bool is_recorded = false;                     // events are kept until they are taken
  bool is_shuffled = false;                     // pods come in an order that the seed draws
};

/// Actions that are no position of a node.
enum : std::int32_t { kSetAside = -1, kSchedule = -2 };

enum class EventKind : std::uint8_t { kSubmitted = 0, kPlaced = 1, kSetAside = 2, kIllegal = 3, kFinished = 4 };
struct Event {
  double time;
  std::int32_t pod;   // position among the scenario's pods
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
};

class Episode {
 public:
  Episode(const Scenario& scenario, std::shared_ptr<berth_fork> fork) : scenario_(&scenario), fork_(std::move(fork)) {}

  /// Starts again. The functions below that return a status leave the episode in a state that only reset() leaves,
  /// where that is negative.
  berth_status reset(std::uint64_t seed, Shown& shown, berth_error* error);
  /// Decides about the current pod: a position of a node, kSetAside or kSchedule. Nothing happens in an episode that is
  /// over.
  berth_status step(std::int32_t action, Shown& shown, berth_error* error);

  /// Since the last call.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

 private:
  struct Ending {
    double time;
    std::uint32_t pod;
    bool operator>(const Ending& other) const { return time != other.time ? time > other.time : pod > other.pod; }
  };

  berth_status place(std::int32_t action, Shown& shown, berth_error* error);
  berth_status schedule(std::uint32_t pod, std::int32_t& position, berth_error* error) const;
  berth_status go_on(berth_error* error);
  berth_status show(Shown& shown, berth_error* error);
  berth_status show_mask(std::uint8_t* mask, berth_error* error);
  berth_status show_use(std::int64_t* use, berth_error* error) const;
  void set_aside(EventKind why);
  void say(EventKind kind, std::uint32_t pod, std::int32_t node) {
    if (scenario_->is_recorded) events_.push_back({time_, static_cast<std::int32_t>(pod), node, kind});
  }

  const Scenario* scenario_;
  std::shared_ptr<berth_fork> fork_;
  std::vector<std::uint32_t> order_;  // pods as they come
  std::size_t arrived_ = 0;
  std::deque<std::uint32_t> waiting_;  // to be decided about, the first one now
  std::vector<std::uint32_t> aside_;   // until something ends
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  std::vector<std::uint8_t> mask_;
  std::vector<Event> events_;
  double time_ = 0;
  std::int32_t placed_ = 0;
};

}  // namespace berth_python
