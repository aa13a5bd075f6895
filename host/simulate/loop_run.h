// SPDX-License-Identifier: Apache-2.0
#pragma once

// Drives a SchedulingLoop over an object store of its own, on a virtual clock, so that every pod of a queue is tried
// once, and those that preempt again when victims are gone.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "host/framework/clock.h"
#include "host/scheduler/intake.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/scheduler/loop/store_client.h"
#include "host/scheduler/scheduler.h"
#include "host/store/object_store.h"

namespace berth {

/// Keeps what was decided about volumes, which the store makes objects of.
class DecisionKeeper : public ApiClient {
 public:
  explicit DecisionKeeper(ObjectStore& store) : client_(store) {}
  void start(std::uint64_t id, const ApiCall& call) override {
    if (const auto* const volumes = std::get_if<VolumeDecisionsPtr>(&call.request))
      decisions_.insert_or_assign(call.pod->full_name(), *volumes);
    client_.start(id, call);
  }
  std::vector<ApiAnswer> take_answers() override { return client_.take_answers(); }
  VolumeDecisionsPtr of(const Pod& pod) const {
    const auto at = decisions_.find(pod.full_name());
    return at == decisions_.end() ? nullptr : at->second;
  }

 private:
  StoreClient client_;
  std::unordered_map<std::string, VolumeDecisionsPtr> decisions_;
};

class LoopRun : public LoopObserver {
 public:
  enum class Phase : std::uint8_t {
    kUntried,   ///< PreEnqueue keeps it out of the queue
    kReserved,  ///< waits at Permit or in PreBind
    kPlaced,    ///< bound
    kUnschedulable,
    kError,
  };
  /// Of a pod of the queue.
  struct State {
    Phase phase = Phase::kUntried;
    NodeIndex node = kNoNode;
    std::int64_t score = 0;
    std::string message = {};                   ///< of the last attempt that failed
    bool had_node = false;                      ///< and lost it behind the decision
    bool is_in_queue = true;                    ///< it may be tried again
    std::int64_t victims_gone_us = 0;           ///< of those evicted for it
    std::int64_t due_us = ApiClient::kNeverUs;  ///< when it is to be tried again
    std::optional<std::size_t> eviction = {};   ///< of evictions_
  };

  /// @param intake, loaded  of partition_pods(). Everything must outlive the object
  /// @throws InputError  as SchedulingLoop; where the objects cannot stand beside each other in an API server
  LoopRun(const ClusterObjects& objects, const ScheduleOptions& options, const EngineConfig& engine,
          const PluginRegistry& plugins, const Intake& intake, const ClusterCache& loaded);

  /// Once. @throws DeviceError
  void run();

  const std::vector<State>& states() const { return states_; }  ///< by position in the queue
  const std::vector<Eviction>& evictions() const { return evictions_; }
  /// Of a pod that may be in the queue still; kNoNode: none.
  NodeIndex nomination_of(const Pod& pod) const;
  VolumeDecisionsPtr volumes_of(const Pod& pod) const { return client_.of(pod); }
  const Backend& backend() const { return loop_->backend(); }
  const std::string& why_backend() const { return loop_->why_backend(); }

 private:
  struct LeavingPod {
    PodPtr pod;
    std::string node;
  };

  void load(const ClusterObjects& objects);
  void try_all();
  bool read_events();
  bool may_pop();
  void settle_failures();
  std::int64_t due_us(const State& state, const std::string& node) const;
  void let_terminating_leave(const std::string& node);
  /// Times of deletions are whole seconds, as in the API.
  std::int64_t run_time_us() const;
  void remove_victims();
  std::int64_t next_time_us() const;
  void wake_preemptors();
  State* state_of(const Pod& pod);

  void on_attempt(const Attempt& attempt) override;
  void on_bound(const QueuedPodInfo& info, std::string_view node_name) override;
  void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) override;

  const ScheduleOptions& options_;
  const Intake& intake_;
  SchedulerConfig config_;
  VirtualClock clock_;
  ObjectStore store_;
  DecisionKeeper client_;
  StoreContents start_;
  Watch watch_;
  std::unique_ptr<SchedulingLoop> loop_;
  std::unordered_map<std::string, PodPtr> given_;             ///< [name] as in the input
  std::unordered_map<std::string, std::size_t> position_of_;  ///< [name] in the queue
  std::unordered_map<std::string, NodeIndex> node_of_name_;
  std::vector<State> states_;        ///< by position in the queue
  std::size_t untried_ = 0;          ///< of those
  std::vector<std::size_t> failed_;  ///< positions, since the last settle_failures()
  std::vector<Eviction> evictions_;
  std::multimap<std::int64_t, LeavingPod> leaving_;                   ///< by the time when they are gone
  std::unordered_map<std::string, std::vector<PodPtr>> terminating_;  ///< [node] of the input, not in leaving_ yet
};

}  // namespace berth
