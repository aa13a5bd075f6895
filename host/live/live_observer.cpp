// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_observer.h"

#include "host/live/live_scheduler.h"

namespace berth {

void LiveObserver::on_attempt(const Attempt& attempt) {
  if (attempt.result == AttemptResult::kScheduled) return;
  if (attempt.result == AttemptResult::kError) {
    log_.error("Error scheduling pod; retrying",
               {{"pod", attempt.info.pod->full_name()}, {"err", std::string(attempt.message)}});
  } else if (log_.has_level(2)) {
    log_.detail(2, "Unable to schedule pod; no fit; waiting",
                {{"pod", attempt.info.pod->full_name()}, {"err", std::string(attempt.message)}});
  }
}

void LiveObserver::on_bound(const QueuedPodInfo& info, std::string_view node_name) {
  if (log_.has_level(2))
    log_.detail(2, "Successfully bound pod to node",
                {{"pod", info.pod->full_name()}, {"node", std::string(node_name)}});
}

void LiveObserver::on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
  if (log_.has_level(2))
    log_.detail(
        2, "Preemptor pod preempted victim pod",
        {{"preemptor", preemptor->full_name()}, {"victim", victim->full_name()}, {"node", std::string(node_name)}});
}

void LiveObserver::on_mismatch(std::string_view text) {
  log_.error("The cache differs from a watch; the watch is taken as true", {{"err", std::string(text)}});
}

void LiveObserver::on_pause(std::size_t unbound_pods) {
  log_.warning("No pod is tried until some are bound", {{"unbound", std::to_string(unbound_pods)}});
}

void LiveObserver::on_event(const SchedulerEvent& event) {
  if (events_ != nullptr) events_->add(event);
}

}  // namespace berth
