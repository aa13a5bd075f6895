// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scheduler between a queue, an engine and an API server: pops pods, places them, binds them, preempts for those
// that find no node, and applies the changes of the cluster in between. docs/behaviour/scheduler-core.md 3 to 5.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/binding/binding_cycle.h"
#include "host/framework/framework.h"
#include "host/queue/event_router.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/scheduling_queue.h"
#include "host/scheduler/loop/api_calls.h"
#include "host/scheduler/loop/api_client.h"
#include "host/scheduler/loop/batch_signature.h"
#include "host/scheduler/loop/evictions.h"
#include "host/scheduler/loop/loop_cluster.h"
#include "host/scheduler/loop/loop_observer.h"
#include "host/scheduler/loop/loop_options.h"
#include "host/scheduler/loop/opportunistic_batch.h"
#include "host/store/object_store.h"

namespace berth {

/// Starts no thread and never waits: its driver passes events to it, and calls run() when there may be something to
/// do. One call at a time.
///
/// Pods are tried in batches, with the results of one after another: the engine answers the head of the queue, and each
/// pod is popped when its turn comes. Where another pod comes first by then, because an attempt before it put one into
/// the queue, the rest of the batch is rolled back.
class SchedulingLoop : private AssumedPods {
 public:
  /// @param start  the cluster at first; events that follow it come through take()
  /// @param clock, client, observer  outlive the loop
  /// @throws InputError when the configuration asks for what is not built, or the backend cannot be opened
  SchedulingLoop(const StoreContents& start, const LoopOptions& options, const Clock& clock, ApiClient& client,
                 LoopObserver& observer);

  /// What happened to the cluster, in order; also nothing.
  void take(std::span<const WatchEvent> events);
  /// Everything that is there, for a watch that has lost events: what changed since the last ones is taken as events,
  /// with what an object was last known as before. Assumed pods stay assumed.
  void take_list(const StoreContents& now);
  /// Pods that wait are tried when their turn comes, whatever their backoff.
  void activate(std::span<const PodPtr> pods) { queue_.activate(pods); }
  /// Goes on with bindings and evictions, and tries at most `pods_max` pods. @return pods that were popped
  std::size_t run(std::size_t pods_max);
  /// The loop has evicted pods and tries no other before take(), since it does not see yet that they leave.
  bool awaits_events() const { return awaits_events_; }
  /// When run() has something to do although nothing happens to the cluster; ApiClient::kNeverUs: not before it does.
  std::int64_t next_wake_us() const;

  /// A pod that the scheduler has: one of its own that waits, or any that is on a node or being bound. null: none.
  PodPtr find_pod(std::string_view name_space, std::string_view name) const;
  /// What the pod means to every node now, alone. Nothing that the loop decides changes; the engine compiles the pod as
  /// for an attempt. @param pod  of find_pod()
  /// @param take  called once; what it gets is valid during the call. What it throws is thrown
  void explain(const PodPtr& pod, ExplainDepth depth, const TakeExplanation& take) const;

  const SchedulingQueue& queue() const { return queue_; }
  const Backend& backend() const { return cluster_.backend(); }
  /// Why this backend was chosen.
  const std::string& why_backend() const { return cluster_.why_backend(); }
  /// What the cache holds, as kube-scheduler counts it: nodes that are gone and still have pods included.
  struct CacheSizes {
    std::size_t nodes = 0;
    std::size_t pods = 0;          ///< assumed ones included
    std::size_t assumed_pods = 0;  ///< those included that are bound, until the API server's event is taken in
  };
  CacheSizes cache_sizes() const;
  const ClusterCache& cache() const { return cluster_.cache(); }
  const ApiCalls& calls() const { return calls_; }
  /// Pods that have a node and are not bound yet, those that wait at Permit or in PreBind included.
  std::size_t unbound_count() const { return tasks_.size(); }
  /// LoopOptions::unbound_pods_max is reached: no pod is tried until one is bound or fails.
  bool is_paused() const { return tasks_.size() >= options_.unbound_pods_max; }
  /// Forks that preemption opened: PreemptionLimits::replaceable_first.
  std::uint64_t fork_count() const { return cluster_.fork_count(); }

 private:
  /// What a meter wants to know of an attempt.
  struct AttemptTime {
    double seconds = 0;           ///< until the decision
    std::int64_t decided_us = 0;  ///< by the clock
  };
  /// A pod from its decision to its binding.
  struct BindingTask {
    QueuedPodInfo info;
    PodPtr newest;  ///< as the API server has it; null: it is gone
    BindingCycle cycle;
    AttemptTime time;
  };
  /// What an attempt that failed leaves behind: docs/behaviour/scheduler-core.md 5.5.
  struct Failure {
    AttemptResult result = AttemptResult::kError;
    std::string message;
    Rejectors rejectors;
    std::optional<std::string> nominated_node;  ///< absent: as the pod's status says
    AttemptTime time = {};
  };
  /// What the engine is asked of a batch at once.
  struct Portion {
    std::size_t pod_count = 0;
    BatchLimits limits;
  };
  /// A preemption without gate SchedulerAsyncPreemption: nothing else is tried until its calls are answered.
  struct SynchronousPreemption {
    QueuedPodInfo info;
    Failure failure;
    PodPtr newest;  ///< as watches tell it meanwhile; null: it is gone
  };

  void note_pause();
  ApiCallOptions make_call_options();
  void forget_told_condition(const Pod& pod);
  std::vector<Framework> make_frameworks();
  void add_opportunistic_batches();
  BindingHooks make_hooks();
  std::function<bool(const Pod&)> make_pre_bind_cancel();
  void add_pending_pods(const StoreContents& start);

  PodPtr find_queued(std::string_view name_space, std::string_view name) const;

  // Events
  void note_pod(const ObjectChange<Pod>& change);
  void note_generation(const StoredPod& pod);
  void note_condition(const StoredPod& pod);
  std::int64_t generation_of(const Pod& pod) const;
  std::map<std::string, PodPtr> known_pods(const std::set<std::string>& listed) const;
  void route(const WatchEvent& event);
  template <class T>
  void route_storage(const ObjectChange<T>& change);
  bool is_assumed(const Pod& pod) const override;
  PodPtr give_up(const Pod& pod) override;
  void sync_nomination(const PodPtr& pod);

  // Attempts: scheduling_attempts.cpp
  std::size_t try_head(std::size_t pods_max);
  std::optional<QueuedPodInfo> pop();
  std::vector<PodToPlace> next_batch(std::size_t pods_max);
  bool goes_alone(const Pod& pod) const;
  Portion portion_of(std::span<const PodToPlace> pods) const;
  bool skip(const QueuedPodInfo& info);
  void try_popped(QueuedPodInfo info);
  BatchResult commit_with_hint(const PodToPlace& pod);
  const Pod& signed_version(const Pod& pod) const;
  void keep_signature(const PodPtr& tried, const PodPtr& newest);
  bool conclude(QueuedPodInfo info, PodToPlace& pod, const Outcome& outcome, std::span<const Message> messages,
                CommitMark after);
  bool place(QueuedPodInfo info, const Outcome& outcome, CommitMark after);
  void conclude_failure(QueuedPodInfo info, PodToPlace& pod, const Outcome& outcome, const Message& message);
  const PostFilterPlugins& post_filter_plugins(const PodToPlace& pod) const {
    return post_filter_plugins_[static_cast<std::size_t>(pod.profile)];
  }
  PostFilterResult post_filter(PodToPlace& pod, const Message& message);
  PostFilterResult metered_post_filter(PodToPlace& pod, const Message& message);
  double seconds_of(const AttemptTime& time) const;
  std::vector<PodPtr> lower_nominated(const ChosenCandidate& chosen) const;
  bool preempt(const QueuedPodInfo& info, const PreemptionCandidate& candidate, const Failure& failure);
  void fail(QueuedPodInfo info, const Failure& failure) {
    const PodPtr pod = info.pod;
    fail(std::move(info), failure, pod);
  }
  void fail(QueuedPodInfo info, const Failure& failure, const PodPtr& newest);
  PodStanding standing_of(const Pod& pod) const;
  bool needs_missing_plugin(const Pod& pod) const;
  void patch_status(const PodPtr& pod, std::int64_t generation, const Failure& failure, bool is_new_condition);

  // Bindings: binding_tasks.cpp
  bool proceed_waiting();
  void proceed(BindingTask& task);
  void continue_with(BindingTask& task, const BindingOutcome& outcome);
  void start_binding(BindingTask& task);
  void bind_pod(BindingTask& task);
  void finish_binding(BindingTask& task, std::string problem);
  void fail_binding(BindingTask& task, const BindingOutcome& outcome);

  LoopOptions options_;
  const Clock& clock_;
  LoopObserver& observer_;
  LoopCluster cluster_;
  QueuePlugins queue_plugins_;
  SchedulingQueue queue_;
  EventRouter router_;
  WaitingPods waiting_pods_;
  FrameworkHandle handle_;
  std::vector<Framework> frameworks_;  ///< [profile]: PostFilter, and Reserve to PostBind
  BindingHooks hooks_;
  ApiCalls calls_;
  Evictions evictions_;
  std::vector<PostFilterPlugins> post_filter_plugins_;  ///< [profile]
  bool preempts_asynchronously_;
  /// Of a profile; EngineConfig::batching.
  struct Opportunistic {
    BatchSigner signer;
    OpportunisticBatch batch;
  };
  std::vector<Opportunistic> opportunistic_;  ///< [profile]; empty: off
  /// [uid] 1.36: the version that a pod was signed as, where it changed while it was attempted: its signature is that
  /// of the version until the pod changes again.
  std::unordered_map<std::string, PodPtr> signed_as_;
  std::unordered_map<std::string, std::unique_ptr<BindingTask>> tasks_;  ///< [uid]
  /// [uid] metadata.generation where it is not 1, which few pods have. The model's pod does not carry it.
  std::unordered_map<std::string, std::int64_t> generations_;
  std::optional<SynchronousPreemption> synchronous_preemption_;
  bool awaits_events_ = false;
  bool has_told_pause_ = false;
  AttemptTime time_;  ///< of the attempt that is being decided; only with a meter
};

}  // namespace berth
