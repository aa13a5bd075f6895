// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/objects/pod.h"
#include "host/queue/queued_pod.h"

namespace berth {

enum class AttemptResult : std::uint8_t { kScheduled, kUnschedulable, kError };
/// As kube-scheduler labels its metrics: "scheduled", "unschedulable", "error".
std::string_view to_string(AttemptResult result);

/// One attempt to place a pod. Valid during the call.
struct Attempt {
  const QueuedPodInfo& info;  ///< its `attempts` counts this one
  AttemptResult result = AttemptResult::kError;
  std::string_view node_name;  ///< chosen; empty where there is none
  std::int64_t score = 0;
  std::string_view message;  ///< why there is no node, as the pod's condition says it
};

/// An event about a pod, as kube-scheduler records it: docs/behaviour/scheduler-core.md 5.5.
struct SchedulerEvent {
  PodPtr pod;
  bool is_warning = false;
  std::string_view reason;  ///< "Scheduled", "FailedScheduling", "Preempted"
  std::string_view action;  ///< "Binding", "Scheduling", "Preempting"
  std::string note;
  PodPtr related = nullptr;  ///< of "Preempted": the preemptor
};

/// Is told what a SchedulingLoop does, in order. Calls must not call the loop.
class LoopObserver {
 public:
  virtual ~LoopObserver() = default;
  /// The scheduling cycle of a pod is over.
  virtual void on_attempt(const Attempt& attempt) { static_cast<void>(attempt); }
  /// The API server has taken the binding.
  virtual void on_bound(const QueuedPodInfo& info, std::string_view node_name) {
    static_cast<void>(info), static_cast<void>(node_name);
  }
  /// Preemption chose a pod to evict; its deletion is asked for.
  virtual void on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
    static_cast<void>(victim), static_cast<void>(preemptor), static_cast<void>(node_name);
  }
  /// An event contradicts the cache, which upstream's process does not survive; the pod was taken as the event has it.
  /// @param text  names the pod, and both nodes
  virtual void on_mismatch(std::string_view text) { static_cast<void>(text); }
  /// LoopOptions::unbound_pods_max is reached, and no pod is tried until some are bound. Called once until half of them
  /// are.
  virtual void on_pause(std::size_t unbound_pods) { static_cast<void>(unbound_pods); }
  virtual void on_event(const SchedulerEvent& event) { static_cast<void>(event); }
};

}  // namespace berth
