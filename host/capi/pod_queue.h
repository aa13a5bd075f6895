// SPDX-License-Identifier: Apache-2.0
#pragma once

// kube-scheduler's queue for programs that decide themselves where pods go, on a clock of theirs.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "host/capi/what_if.h"
#include "host/framework/clock.h"
#include "host/queue/queue_plugins.h"
#include "host/queue/queued_pod.h"
#include "host/queue/scheduling_queue.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth::capi {

/// A handle that its owner frees with this.
struct FreePod {
  void operator()(berth_pod* pod) const noexcept { berth_pod_free(&pod); }
};
using RetainedPod = std::unique_ptr<berth_pod, FreePod>;

/// A queue of the C API. One thread at a time, which Use checks. A call that throws has changed nothing, but for
/// advance().
class PodQueue {
 public:
  PodQueue(std::shared_ptr<Cluster> cluster, std::int64_t now_us);

  /// Holds the queue for a call. @throws ApiError BERTH_E_BUSY
  class Use {
   public:
    explicit Use(PodQueue& queue);
    ~Use() {
      queue_.note_memory();
      queue_.busy_.clear(std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    PodQueue& queue_;
  };

  const std::shared_ptr<Cluster>& cluster() const { return cluster_; }
  // Call these with a Use.
  /// @throws ApiError BERTH_E_EXISTS: a pod of its name waits or is tried
  void add(const berth_pod& pod);
  /// The functions below throw ApiError BERTH_E_NOT_FOUND where the pod is not in the queue, or not tried.
  void remove(const PodHandle& pod);
  /// null: no pod is ready
  RetainedPod pop();
  void fail(const PodHandle& pod, const Rejectors& rejectors);
  void done(const PodHandle& pod);
  /// Up to each time at which something is due, and then to `now_us`. Where it throws, the clock stands at one of them.
  void advance(std::int64_t now_us);
  std::int64_t now_us() const { return clock_.now_us(); }
  /// INT64_MAX: no pod waits for the clock.
  std::int64_t next_us() const { return queue_.next_wake_us(); }
  /// A pod that stands on a node in the state came there, or is about to leave.
  void pod_came(const State& state, const std::string& uid);
  void pod_leaves(const State& state, const std::string& uid);
  /// null: there was none, or is none
  void node_changed(const NodePtr& before, const NodePtr& after);
  SchedulingQueue::Sizes sizes() const { return queue_.sizes(); }
  std::size_t tried_count() const { return queue_.in_flight().pod_count(); }
  std::uint64_t bytes() const;

 private:
  void note_memory() noexcept {
    if (share_.is_counted()) share_.set(bytes());
  }

  struct Kept {
    RetainedPod handle;
    std::optional<QueuedPodInfo> tried = std::nullopt;  ///< of one that was popped
  };
  struct NameHash {
    std::size_t operator()(const Pod* pod) const { return hash_of_name(pod->namespace_, pod->name); }
  };
  struct SameName {
    bool operator()(const Pod* a, const Pod* b) const { return same_name(*a, *b); }
  };
  using KeptPods = std::unordered_map<const Pod*, Kept, NameHash, SameName>;
  KeptPods::iterator kept(const PodHandle& pod);
  KeptPods::iterator tried(const PodHandle& pod);

  std::shared_ptr<Cluster> cluster_;
  MemoryShare share_{cluster_->engine().memory};
  VirtualClock clock_;
  ObjectsByNamespace selecting_;
  DefaultSelectors selectors_{selecting_};
  bool has_declared_features_;
  QueuePlugins plugins_;
  KeptPods pods_;  ///< that wait or are tried, by namespace and name
  SchedulingQueue queue_;
  std::atomic_flag busy_;
};

}  // namespace berth::capi
