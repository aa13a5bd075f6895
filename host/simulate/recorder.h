// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps account of a simulation: reads what happens in the store, and is told by the scheduler what it does.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/scheduler/loop/loop_observer.h"
#include "host/simulate/timeline.h"
#include "host/store/object_store.h"

namespace berth {

/// What became of a pod.
enum class PodOutcome : std::uint8_t {
  kPending,    ///< has no node at the end
  kRunning,    ///< is on a node at the end
  kFinished,   ///< ran to its end
  kPreempted,  ///< was evicted for another pod
  kRemoved,    ///< was deleted, or lost with its node
};
/// "pending", "running", "finished", "preempted", "removed"
std::string_view to_string(PodOutcome outcome);

/// One pod of a simulation. Times are microseconds from the start.
struct SimulatedPod {
  std::string name;       ///< "namespace/name"
  std::string node_name;  ///< empty: it never had one
  std::int64_t arrived_us = 0;
  std::optional<std::int64_t> placed_us;  ///< bound by the scheduler; absent for one that came with a node
  std::optional<std::int64_t> ended_us;   ///< finished, or gone
  PodOutcome outcome = PodOutcome::kPending;
};

/// An event about a pod, as kube-scheduler records it.
struct SimulatedEvent {
  std::int64_t time_us = 0;  ///< from the start
  std::string pod;           ///< "namespace/name"
  bool is_warning = false;
  std::string_view reason;  ///< see SchedulerEvent
  std::string_view action;
  std::string note;
};

/// How long pods waited for a node, from their arrival until they were bound; nearest rank.
struct WaitTimes {
  std::int64_t count = 0;  ///< pods that were bound
  std::int64_t p50_us = 0;
  std::int64_t p90_us = 0;
  std::int64_t p99_us = 0;
  std::int64_t max_us = 0;
};
WaitTimes wait_times(const std::vector<SimulatedPod>& pods);

class Recorder : public LoopObserver {
 public:
  /// Takes what is in the store as there from the start. Pods without a node arrive at the start.
  /// @param resources  what utilisation is of, at most kTimelineResourcesMax; the first are cpu, memory and pods
  /// @param store  must outlive the recorder
  Recorder(ObjectStore& store, std::vector<std::string> resources, std::int64_t start_us);

  /// Reads what happened since. Call it at each instant before the clock moves.
  /// @return whether something happened that a pod could be placed for: anything but reports on why it was not
  bool read_events();
  /// Ends the instant: adds a sample if something changed.
  void end_instant(std::int64_t now_us);

  void on_attempt(const Attempt& attempt) override;
  void on_event(const SchedulerEvent& event) override;
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override;

  const std::vector<std::string>& resources() const { return resources_; }
  const Timeline& timeline() const { return timeline_; }
  const std::vector<SimulatedPod>& pods() const { return pods_; }  ///< in the order in which they came
  static constexpr std::size_t kEventsKept = 100'000;
  const std::vector<SimulatedEvent>& scheduler_events() const { return scheduler_events_; }  ///< the first kEventsKept
  std::int64_t scheduler_event_count() const { return scheduler_event_count_; }
  const ClusterState& state() const { return state_; }
  const ClusterEvents& totals() const { return totals_; }    ///< since the start
  std::int64_t pending_max() const { return pending_max_; }  ///< of all instants
  /// Requested over allocatable, both summed over the time from the start to `end_us` from the start.
  double mean_utilisation(std::size_t resource, std::int64_t end_us) const;

 private:
  struct NodeSums {
    bool exists = false;
    std::int64_t pods = 0;  ///< on it and not finished
    TimelineAmounts requested = {};
  };

  bool take(const WatchEvent& event);
  bool take(const ObjectChange<Node>& change);
  bool take(const ObjectChange<Pod>& change, std::int64_t time_us);
  void count_node(const Node& node, int sign);
  void count_pod(const Pod& pod, int sign);
  void note_pod(const StoredPod* before, const StoredPod* after, std::int64_t time_us);
  void end_pod(SimulatedPod& record, PodOutcome outcome, std::int64_t time_us);
  TimelineAmounts amounts_of(const Pod& pod) const;
  TimelineAmounts amounts_of(const Node& node) const;
  void integrate(std::int64_t until_us);

  const Clock& clock_;
  std::vector<std::string> resources_;
  std::int64_t start_us_;
  Watch watch_;
  Timeline timeline_;
  ClusterState state_;
  ClusterEvents totals_;
  ClusterEvents events_;              ///< since the last sample
  std::optional<ClusterState> last_;  ///< state of the last sample
  std::int64_t pending_max_ = 0;
  std::unordered_map<std::string, NodeSums> nodes_;
  std::vector<SimulatedEvent> scheduler_events_;
  std::int64_t scheduler_event_count_ = 0;
  std::vector<SimulatedPod> pods_;
  std::unordered_map<std::string, std::size_t> positions_;  ///< in pods_, by uid; pods that are in the store
  // Sums of amount x microseconds up to summed_us_: doubles, because memory over years is beyond 64 bits.
  std::array<double, kTimelineResourcesMax> requested_time_ = {};
  std::array<double, kTimelineResourcesMax> allocatable_time_ = {};
  std::int64_t summed_us_ = 0;
};

}  // namespace berth
