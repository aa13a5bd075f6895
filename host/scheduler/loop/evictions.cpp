// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/evictions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace berth {
namespace {

constexpr std::string_view kPreemptionPlugin = "DefaultPreemption";
constexpr std::int64_t kMicrosPerMinute = 60'000'000;

PodCondition disruption_target(const Pod& preemptor, std::int64_t generation) {
  return {.type = "DisruptionTarget",
          .status = ConditionStatus::kTrue,
          .reason = "PreemptionByScheduler",
          .message = preemptor.spec->scheduler_name + ": preempting to accommodate a higher priority pod",
          .observed_generation = generation};
}

/// One status of many calls: the first failure.
struct Gathered {
  std::size_t open = 0;
  StoreStatus status;
  std::function<void(const StoreStatus&)> done;

  void take(const StoreStatus& answer) {
    if (status.is_success() && !answer.is_success()) status = answer;
    if (--open == 0) done(status);
  }
};

/// A pod that is gone needs no eviction.
StoreStatus unless_gone(const StoreStatus& answer) {
  return answer.reason == StoreReason::kNotFound ? StoreStatus() : answer;
}

}  // namespace

void Evictions::start(ChosenCandidate candidate) {
  std::erase_if(candidate.victims, [](const PodPtr& victim) { return victim->terminating; });
  if (candidate.victims.empty()) return;
  parts_.running.begin(*candidate.preemptor);
  const auto shared = std::make_shared<const ChosenCandidate>(std::move(candidate));
  clear_lower_nominations(*shared, [this, shared](const StoreStatus& status) { evict_some(shared, status); });
}

/// That a nomination could not be cleared ends nothing, but counts as a failure of the preemption.
void Evictions::evict_some(const SharedCandidate& candidate, const StoreStatus& cleared) {
  const std::span<const PodPtr> all(candidate->victims);
  evict_all(*candidate, all.first(all.size() - 1), [this, candidate, cleared](const StoreStatus& status) {
    if (status.is_success()) return evict_last(candidate, cleared);
    end(*candidate, status);
  });
}

void Evictions::evict_last(const SharedCandidate& candidate, const StoreStatus& cleared) {
  const PodPtr& last = candidate->victims.back();
  last_victim_of_[last->uid()].push_back(candidate->preemptor);
  evict(last, *candidate, [this, candidate, cleared](const StoreStatus& status) {
    end(*candidate, status.is_success() ? cleared : status);
  });
}

/// The preemptor is kept no longer; it may be in the queue again since note_leaving().
void Evictions::end(const ChosenCandidate& candidate, const StoreStatus& status) {
  if (parts_.meter != nullptr)
    parts_.meter->on_evicted(status.is_success(), seconds_between(candidate.chosen_us, parts_.clock.now_us()));
  parts_.running.end(*candidate.preemptor);
  const auto waits = last_victim_of_.find(candidate.victims.back()->uid());
  if (waits != last_victim_of_.end()) {
    std::erase(waits->second, candidate.preemptor);
    if (waits->second.empty()) last_victim_of_.erase(waits);
  }
  if (!status.is_success()) parts_.activate(candidate.preemptor);
}

void Evictions::note_leaving(const Pod& pod) {
  drop_held_back(pod.uid());
  if (last_victim_of_.empty()) return;
  const auto waits = last_victim_of_.find(pod.uid());
  if (waits == last_victim_of_.end()) return;
  for (const PodPtr& preemptor : waits->second) parts_.running.end(*preemptor);
  last_victim_of_.erase(waits);
}

void Evictions::start_and_tell(const ChosenCandidate& candidate, std::function<void(const StoreStatus&)> done) {
  std::vector<PodPtr> victims = candidate.victims;
  std::erase_if(victims, [](const PodPtr& victim) { return victim->terminating; });
  const auto shared = std::make_shared<const ChosenCandidate>(candidate);
  evict_all(candidate, victims, [this, shared, done = std::move(done)](const StoreStatus& status) {
    if (!status.is_success()) return done(status);
    clear_lower_nominations(*shared, [done](const StoreStatus&) { done({}); });
  });
}

void Evictions::evict_all(const ChosenCandidate& candidate, std::span<const PodPtr> victims, Done done) {
  if (victims.empty()) return done({});
  const auto gathered = std::make_shared<Gathered>(Gathered{victims.size(), {}, std::move(done)});
  for (const PodPtr& victim : victims)
    evict(victim, candidate, [gathered](const StoreStatus& status) { gathered->take(status); });
}

/// A victim that is not bound yet: it goes back to the queue.
bool Evictions::evict_in_memory(const Pod& victim) const {
  if (!parts_.cancel_pre_bind) return parts_.waiting_pods.reject(victim.uid(), kPreemptionPlugin, "preempted");
  return parts_.waiting_pods.preempt(victim.uid(), kPreemptionPlugin) || parts_.cancel_pre_bind(victim);
}

void Evictions::evict(const PodPtr& victim, const ChosenCandidate& candidate, Done done) {
  Eviction eviction{victim, candidate.preemptor, candidate.node_name, std::move(done)};
  if (parts_.per_minute_max == 0) return evict_now(eviction);
  held_back_.push_back(std::move(eviction));
  run();
}

bool Evictions::run() {
  bool was_due = false;
  while (next_event_us() <= parts_.clock.now_us()) {
    was_due = true;
    const Eviction eviction = std::move(held_back_.front());
    held_back_.pop_front();
    if (evicted_us_.size() == parts_.per_minute_max) evicted_us_.pop_front();
    evicted_us_.push_back(parts_.clock.now_us());
    evict_now(eviction);
  }
  return was_due;
}

std::int64_t Evictions::next_event_us() const {
  if (held_back_.empty()) return ApiClient::kNeverUs;
  if (evicted_us_.size() < parts_.per_minute_max) return parts_.clock.now_us();
  return evicted_us_.front() + kMicrosPerMinute;
}

/// The victim is gone: its held-back evictions count as done and use up none of the limit.
void Evictions::drop_held_back(const std::string& uid) {
  std::vector<Done> done;
  std::erase_if(held_back_, [&](Eviction& eviction) {
    if (eviction.victim->uid() != uid) return false;
    done.push_back(std::move(eviction.done));
    return true;
  });
  for (const Done& each : done) each({});
}

void Evictions::evict_now(const Eviction& eviction) {
  const PodPtr& victim = eviction.victim;
  const PodPtr& preemptor = eviction.preemptor;
  parts_.observer.on_preempted(victim, preemptor, eviction.node_name);
  SchedulerEvent event{victim,
                       false,
                       "Preempted",
                       "Preempting",
                       "Preempted by pod " + preemptor->uid() + " on node " + eviction.node_name,
                       preemptor};
  if (evict_in_memory(*victim)) {
    if (parts_.cancel_pre_bind) event.note += " (in kube-scheduler memory).";
    parts_.observer.on_event(event);
    return eviction.done({});
  }
  const auto deleted = [this, event = std::move(event), done = eviction.done](const StoreStatus& status) {
    if (status.is_success()) parts_.observer.on_event(event);
    done(unless_gone(status));
  };
  PodStatusPatch patch;
  patch.uid = victim->stored_uid;
  patch.conditions = {disruption_target(*preemptor, parts_.generation_of(*victim))};
  parts_.calls.add({victim, std::move(patch)}, [this, victim, deleted](const StoreStatus& status) {
    if (!status.is_success()) return deleted(status);
    DeleteOptions options;
    options.uid = victim->stored_uid;
    parts_.calls.add({victim, options}, deleted);
  });
}

/// @param done  called when all calls are answered, with the first failure
void Evictions::clear_lower_nominations(const ChosenCandidate& candidate, Done done) {
  const std::vector<PodPtr> pods = parts_.lower_nominated(candidate);
  if (pods.empty()) return done({});
  const auto gathered = std::make_shared<Gathered>(Gathered{pods.size(), {}, std::move(done)});
  for (const PodPtr& pod : pods) {
    PodStatusPatch patch;
    patch.uid = pod->stored_uid;
    patch.nominated_node_name = std::string();
    parts_.calls.add({pod, std::move(patch)}, [gathered](const StoreStatus& status) { gathered->take(status); });
  }
}

}  // namespace berth
