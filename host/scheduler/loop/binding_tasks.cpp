// SPDX-License-Identifier: Apache-2.0
// From a decision to a binding: docs/behaviour/scheduler-core.md 5.1 to 5.4.

#include <string>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/scheduler/loop/scheduling_loop.h"

namespace berth {
namespace {

constexpr ClusterEvent kAssignedPodDelete{EventResource::kAssignedPod, EventAction::kDelete};

}  // namespace

/// Pods that plugins have decided on. @return whether there was one
bool SchedulingLoop::proceed_waiting() {
  if (!waiting_pods_.has_ready()) return false;
  for (const std::string& uid : waiting_pods_.take_ready())
    if (const auto task = tasks_.find(uid); task != tasks_.end() && task->second->cycle.can_proceed())
      proceed(*task->second);
  return true;
}

/// The task may be over afterwards.
void SchedulingLoop::proceed(BindingTask& task) { continue_with(task, task.cycle.proceed(PermitWait::kPoll)); }

void SchedulingLoop::continue_with(BindingTask& task, const BindingOutcome& outcome) {
  switch (outcome.result) {
    case BindingResult::kReserved:
    case BindingResult::kWaiting:
      return;
    case BindingResult::kBinding:
      return start_binding(task);
    case BindingResult::kBound: {
      const PodPtr& pod = task.cycle.pod();
      observer_.on_bound(task.info, task.cycle.node_name());
      if (options_.meter != nullptr) {
        options_.meter->on_bound(task.info, seconds_of(task.time));
        const bool counts_flushes = options_.config.gates.release() != Release::k1_35;
        if (counts_flushes && task.info.was_flushed) options_.meter->on_bound_after_flush();
      }
      observer_.on_event({pod, false, "Scheduled", "Binding",
                          "Successfully assigned " + pod->full_name() + " to " + task.cycle.node_name()});
      tasks_.erase(pod->uid());
      return;
    }
    case BindingResult::kUnschedulable:
    case BindingResult::kError: {
      const auto owned = tasks_.extract(task.cycle.pod()->uid());
      return fail_binding(*owned.mapped(), outcome);
    }
  }
}

/// Claims that were decided on come before the pod, as in PreBind of VolumeBinding.
void SchedulingLoop::start_binding(BindingTask& task) {
  VolumeDecisionsPtr volumes;
  if (!task.cycle.pod()->rare().volumes.empty()) volumes = cluster_.backend().volume_decisions(*task.cycle.pod());
  if (volumes == nullptr) return bind_pod(task);
  calls_.add({task.cycle.pod(), std::move(volumes)}, [this, &task](const StoreStatus& status) {
    if (status.is_success()) return bind_pod(task);
    finish_binding(task, "running PreBind plugin \"VolumeBinding\": binding volumes: " + status.message);
  });
}

void SchedulingLoop::bind_pod(BindingTask& task) {
  const Pod& pod = *task.cycle.pod();
  calls_.add({task.cycle.pod(), PodBinding{pod.namespace_, pod.name, task.cycle.node_name(), pod.stored_uid},
              task.info.attempts == 1 ? task.info.timestamp_us : 0},
             [this, &task](const StoreStatus& status) {
               const std::string what = "running Bind plugin \"" + task.cycle.binder() + "\": ";
               finish_binding(task, status.is_success() ? "" : what + status.message);
             });
}

/// @param problem  empty: the pod is bound
void SchedulingLoop::finish_binding(BindingTask& task, std::string problem) {
  Status bound;
  if (!problem.empty()) bound = {StatusCode::kError, std::string(), {std::move(problem)}};
  continue_with(task, task.cycle.finish(std::move(bound)));
}

/// The reservations are undone already; what is left is the engine's room, the queue and the pod's status: 5.4.
void SchedulingLoop::fail_binding(BindingTask& task, const BindingOutcome& outcome) {
  const PodPtr pod = task.cycle.pod();
  cluster_.undo(*pod);
  const bool is_rejected = outcome.result == BindingResult::kUnschedulable;
  const std::shared_ptr<Pod> on_node = copy_of(*pod);
  on_node->node_name = task.cycle.node_name();
  const EventObjects left{.old_pod = on_node};
  if (outcome.forgot_pod && !is_rejected) queue_.move_on_event(kAssignedPodDelete, left);
  Failure failure{is_rejected ? AttemptResult::kUnschedulable : AttemptResult::kError,
                  outcome.message,
                  {},
                  std::string(),
                  task.time};
  for (const std::string& plugin : outcome.rejectors) failure.rejectors.unschedulable.insert(plugin);
  if (outcome.status.code == StatusCode::kPending) failure.rejectors.pending = failure.rejectors.unschedulable;
  fail(std::move(task.info), failure, task.newest);
  if (outcome.forgot_pod && is_rejected)
    queue_.move_on_event(kAssignedPodDelete, left, {.priority_max = INT32_MAX, .except = pod});
}

}  // namespace berth
