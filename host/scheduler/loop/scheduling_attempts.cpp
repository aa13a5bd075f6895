// SPDX-License-Identifier: Apache-2.0
// Attempts to place pods, and what becomes of those that fail: docs/behaviour/scheduler-core.md 3 and 5.5.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "host/framework/unsupported.h"
#include "host/scheduler/intake.h"
#include "host/scheduler/loop/scheduling_loop.h"
#include "host/scheduler/queue_run.h"

namespace berth {
namespace {

constexpr std::size_t kNoteBytesMax = 1024;

/// 5.5: a note has a limit, the condition has none.
std::string as_note(const std::string& message) {
  constexpr std::string_view kEnd = " ...";
  if (message.size() <= kNoteBytesMax) return message;
  return message.substr(0, kNoteBytesMax - kEnd.size()) + std::string(kEnd);
}

std::string_view condition_reason(AttemptResult result) {
  return result == AttemptResult::kUnschedulable ? "Unschedulable" : "SchedulerError";
}

std::uint64_t hash_of_condition(std::string_view reason, std::string_view message) {
  return std::hash<std::string>()(std::string(reason).append(message));
}

}  // namespace

std::string_view to_string(AttemptResult result) {
  switch (result) {
    case AttemptResult::kScheduled:
      return "scheduled";
    case AttemptResult::kUnschedulable:
      return "unschedulable";
    case AttemptResult::kError:
      break;
  }
  return "error";
}

/// @return pods that were popped
std::size_t SchedulingLoop::try_head(std::size_t pods_max) {
  cluster_.take_new_plugin_data();
  const std::size_t unbound_room = options_.unbound_pods_max - tasks_.size();
  std::vector<PodToPlace> pods;
  if (opportunistic_.empty()) pods = next_batch(std::min({pods_max, options_.batch_pods_max, unbound_room}));
  if (pods.empty()) {
    std::optional<QueuedPodInfo> info = pop();  // that is to be skipped, or goes alone
    if (!info) return 0;
    try_popped(std::move(*info));
    return 1;
  }
  Backend& backend = cluster_.backend();
  const MeterWatch watch(options_.meter);
  backend.compile(pods);
  if (options_.before_attempts) options_.before_attempts(pods, backend);
  const Portion portion = portion_of(pods);
  const std::uint64_t first = backend.mark().position;
  const BatchResult answer =
      commit_with_refills(std::span<const PodToPlace>(pods).first(portion.pod_count), portion.limits, backend);
  EngineBatch batch{answer.outcomes.size(), 0, options_.meter != nullptr ? watch.seconds() : 0};
  const double share = batch.answered > 0 ? batch.seconds / static_cast<double>(batch.answered) : 0;
  std::size_t popped = 0;
  for (std::size_t i = 0; i < answer.outcomes.size(); ++i) {
    std::optional<QueuedPodInfo> info = pop();
    const bool is_next = info && info->pod == pods[i].pod;
    if (!is_next) backend.rollback({first + i});
    if (!info) break;
    ++popped;
    if (!is_next) {
      try_popped(std::move(*info));
      break;
    }
    ++batch.used;
    time_.seconds = share;
    if (!conclude(std::move(*info), pods[i], answer.outcomes[i], answer.messages, {first + i + 1})) break;
  }
  if (options_.meter != nullptr && batch.answered > 0) options_.meter->on_batch(batch);
  backend.release(pods);
  return popped;
}

std::optional<QueuedPodInfo> SchedulingLoop::pop() {
  std::optional<QueuedPodInfo> info = queue_.pop();
  if (info) info->generation = generation_of(*info->pod);
  return info;
}

/// The head of the queue, up to a pod that is to be skipped or is nominated. Empty when the first one is to be skipped,
/// and when there is none.
std::vector<PodToPlace> SchedulingLoop::next_batch(std::size_t pods_max) {
  std::vector<PodToPlace> batch;
  for (PodPtr& pod : queue_.head(pods_max)) {
    if (pod->terminating || is_assumed(*pod)) break;
    const bool alone = goes_alone(*pod);
    if (alone && !batch.empty()) break;
    const std::int32_t profile = profile_index(options_.config, *pod);
    batch.push_back({std::move(pod), profile});
    if (alone) break;
  }
  return batch;
}

/// What becomes of the nomination is decided after the attempt, and the next pod sees it.
bool SchedulingLoop::goes_alone(const Pod& pod) const {
  if (!pod.rare().nominated_node_name.empty()) return true;
  return cluster_.has_nominations() && cluster_.is_nominated(pod);
}

/// Pods that may preempt stop the batch when they fail. Pods without a candidate fail as the ones before them, and
/// change nothing. One that may evict a pod of the same batch waits until that pod's binding is on its way.
SchedulingLoop::Portion SchedulingLoop::portion_of(std::span<const PodToPlace> pods) const {
  std::int32_t lowest = cluster_.lowest_priority();
  const auto may_preempt = [&](const PodToPlace& pod) {
    const PostFilterPlugins& plugins = post_filter_plugins(pod);
    const bool may = plugins.has_outside() || (plugins.preempts() && pod.pod->priority > lowest);
    lowest = std::min(lowest, pod.pod->priority);
    return may;
  };
  if (std::none_of(pods.begin(), pods.end(), may_preempt)) return {pods.size(), {}};
  lowest = std::numeric_limits<std::int32_t>::max();  // of those before it
  const auto outranks_earlier = [&](const PodToPlace& pod) {
    const bool outranks = pod.pod->priority > lowest;
    lowest = std::min(lowest, pod.pod->priority);
    return outranks;
  };
  const auto end = std::find_if(pods.begin(), pods.end(), outranks_earlier);
  pods = pods.first(static_cast<std::size_t>(end - pods.begin()));
  const auto is_unknown = [&](const PodToPlace& pod) {
    return post_filter_plugins(pod).has_outside() || !cluster_.has_no_candidate(pod);
  };
  const auto known_end = std::find_if(pods.begin(), pods.end(), is_unknown);
  if (known_end != pods.begin()) return {static_cast<std::size_t>(known_end - pods.begin()), {}};
  BatchLimits limits;
  limits.stop_at_failure = true;
  return {pods.size(), limits};
}

/// Pods that are not tried. @return whether this is one
bool SchedulingLoop::skip(const QueuedPodInfo& info) {
  if (!info.pod->terminating && !is_assumed(*info.pod)) return false;
  if (info.pod->terminating)
    observer_.on_event(
        {info.pod, true, "FailedScheduling", "Scheduling", "skip schedule deleting pod: " + info.pod->full_name()});
  queue_.done(info.pod->uid());
  return true;
}

void SchedulingLoop::try_popped(QueuedPodInfo info) {
  if (skip(info)) return;
  Backend& backend = cluster_.backend();
  PodToPlace pod{info.pod, profile_index(options_.config, *info.pod)};
  const MeterWatch watch(options_.meter);
  if (opportunistic_.empty()) {
    backend.compile({&pod, 1});
  } else {
    backend.prepare({&pod, 1});  // to be probed
  }
  if (options_.before_attempts) options_.before_attempts({&pod, 1}, backend);
  const BatchResult answer =
      opportunistic_.empty() ? commit_with_refills({&pod, 1}, {}, backend) : commit_with_hint(pod);
  if (options_.meter != nullptr) {
    time_.seconds = watch.seconds();
    options_.meter->on_batch({1, 1, time_.seconds});
  }
  conclude(std::move(info), pod, answer.outcomes.front(), answer.messages, backend.mark());
  backend.release({&pod, 1});
}

/// Opportunistic batching: 6.3 to 6.5. The hint is a nomination that ends with the answer, since the engine tries a
/// nominated node as upstream tries a hinted one.
BatchResult SchedulingLoop::commit_with_hint(const PodToPlace& pod) {
  auto& [signer, batch] = opportunistic_[static_cast<std::size_t>(pod.profile)];
  Backend& backend = cluster_.backend();
  const MeterWatch hint_watch(options_.meter);
  const NodeProbe probe = backend.probe(pod, batch.last_node());
  if (!probe.passes_pre_filter) return commit_with_refills({&pod, 1}, {}, backend);
  const OpportunisticBatch::Asked asked{queue_.scheduling_cycle(), signer.sign(signed_version(*pod.pod)),
                                        probe.node_exists, probe.node_refuses};
  const std::string hint = batch.hint(asked);
  const std::string& profile = pod.pod->spec->scheduler_name;
  if (options_.meter != nullptr) options_.meter->on_node_hint(profile, !hint.empty(), hint_watch.seconds());
  if (!hint.empty() && !goes_alone(*pod.pod)) cluster_.set_nomination(pod.pod, hint);
  BatchLimits limits;
  limits.ranks_nodes = true;
  BatchResult answer = commit_with_refills({&pod, 1}, limits, backend);
  if (answer.outcomes.front().kind != OutcomeKind::kPlaced) return answer;
  const MeterWatch store_watch(options_.meter);
  std::vector<std::string> others;
  others.reserve(answer.others.size());
  for (const NodeIndex node : answer.others) others.emplace_back(backend.node_name(node));
  batch.store(asked, hint, backend.node_name(answer.outcomes.front().node), std::move(others));
  if (options_.meter != nullptr) options_.meter->on_batch_stored(profile, store_watch.seconds());
  return answer;
}

const Pod& SchedulingLoop::signed_version(const Pod& pod) const {
  const auto at = signed_as_.empty() ? signed_as_.end() : signed_as_.find(pod.uid());
  return at == signed_as_.end() ? pod : *at->second;
}

/// 6.8: the queue of 1.36 signs a pod when it comes or changes, but not when it returns.
void SchedulingLoop::keep_signature(const PodPtr& tried, const PodPtr& newest) {
  if (opportunistic_.empty() || tried == newest || options_.config.gates.release() == Release::k1_35) return;
  signed_as_.try_emplace(tried->uid(), tried);
}

/// @param after  where the engine stands after this pod; what comes behind it in the batch is rolled back when the pod
///     does not keep its node
/// @return whether the batch goes on
bool SchedulingLoop::conclude(QueuedPodInfo info, PodToPlace& pod, const Outcome& outcome,
                              std::span<const Message> messages, CommitMark after) {
  cluster_.note_answered(*info.pod);
  if (options_.meter != nullptr) time_.decided_us = clock_.now_us();
  if (outcome.kind == OutcomeKind::kPlaced) return place(std::move(info), outcome, after);
  conclude_failure(std::move(info), pod, outcome, messages[static_cast<std::size_t>(outcome.message)]);
  return !synchronous_preemption_;
}

bool SchedulingLoop::place(QueuedPodInfo info, const Outcome& outcome, CommitMark after) {
  Backend& backend = cluster_.backend();
  const PodPtr pod = info.pod;
  const std::string node_name(backend.node_name(outcome.node));
  cluster_.note_placed(*pod);
  if (options_.meter != nullptr) options_.meter->on_decision(time_.seconds);
  const auto profile = static_cast<std::size_t>(profile_index(options_.config, *pod));
  auto task = std::make_unique<BindingTask>(BindingTask{
      std::move(info), pod,
      BindingCycle({frameworks_[profile], cluster_.cache(), waiting_pods_, hooks_}, pod, node_name, CycleState()),
      time_});
  const BindingOutcome reserved = task->cycle.reserve();
  if (reserved.result != BindingResult::kReserved) {
    backend.rollback(after);
    fail_binding(*task, reserved);
    return false;
  }
  observer_.on_attempt({task->info, AttemptResult::kScheduled, node_name, outcome.score, {}});
  BindingTask& kept = *task;
  tasks_.insert_or_assign(pod->uid(), std::move(task));
  proceed(kept);
  return true;
}

void SchedulingLoop::conclude_failure(QueuedPodInfo info, PodToPlace& pod, const Outcome& outcome,
                                      const Message& message) {
  Failure failure{AttemptResult::kError, message.text, {}, std::string(), time_};
  if (outcome.kind == OutcomeKind::kError) {
    if (options_.meter != nullptr) options_.meter->on_decision(time_.seconds);
    return fail(std::move(info), failure);
  }
  failure.result = AttemptResult::kUnschedulable;
  failure.rejectors = {message.rejectors, message.pending};
  if (cluster_.node_count() > 0) {
    const PostFilterResult found =
        options_.meter == nullptr ? post_filter(pod, message) : metered_post_filter(pod, message);
    failure.time = time_;
    failure.message = with_post_filter(message.text, found.text);
    if (found.keeps_nomination) failure.nominated_node = std::nullopt;
    if (!found.nominated_node.empty()) failure.nominated_node = found.nominated_node;
    if (found.candidate && !preempt(info, *found.candidate, failure)) return;
    if (found.candidate) failure.nominated_node = std::string(cluster_.backend().node_name(found.candidate->node));
  }
  if (options_.meter != nullptr) options_.meter->on_decision(failure.time.seconds);
  fail(std::move(info), failure);
}

PostFilterResult SchedulingLoop::post_filter(PodToPlace& pod, const Message& message) {
  const bool has_nomination = !pod.pod->rare().nominated_node_name.empty();
  const bool never = pod.pod->preemption_policy == PreemptionPolicy::kNever;
  const PostFilterPlugins& plugins = post_filter_plugins(pod);
  if (!plugins.has_outside() && !has_nomination && !never && pod.pod->priority <= cluster_.lowest_priority())
    return {plugins.text_without_victims(cluster_.node_count(), message), {}, false};
  return cluster_.post_filter().run(pod, message, plugins);
}

PostFilterResult SchedulingLoop::metered_post_filter(PodToPlace& pod, const Message& message) {
  LoopMeter& meter = *options_.meter;
  const MeterWatch watch(&meter);
  PostFilterResult found = post_filter(pod, message);
  const double seconds = watch.seconds();
  time_ = {time_.seconds + seconds, clock_.now_us()};
  const PostFilterPlugins& plugins = post_filter_plugins(pod);
  if (plugins.empty()) return found;
  StatusCode code = found.candidate || found.is_success ? StatusCode::kSuccess : StatusCode::kUnschedulable;
  if (found.is_error) code = StatusCode::kError;
  if (plugins.preempts_after(message)) {
    meter.on_preemption_attempt();
    if (meter.wants_plugins(MeteredPoint::kPostFilter))
      meter.on_plugin(kDefaultPreemptionName, MeteredPoint::kPostFilter, code, seconds);
  }
  meter.on_point(MeteredPoint::kPostFilter, code, pod.pod->spec->scheduler_name, seconds);
  return found;
}

/// Of an attempt that ends now; only with a meter.
double SchedulingLoop::seconds_of(const AttemptTime& time) const {
  return time.seconds + seconds_between(time.decided_us, clock_.now_us());
}

/// A stub of the nominator has priority 0 and no name to clear: docs/behaviour/scheduler-core.md 1.12.
std::vector<PodPtr> SchedulingLoop::lower_nominated(const ChosenCandidate& chosen) const {
  std::vector<PodPtr> lower = queue_.nominated_pods(chosen.node_name);
  std::erase_if(lower, [&](const PodPtr& nominated) {
    return nominated->priority >= chosen.preemptor->priority || nominated->rare().nominated_node_name.empty();
  });
  return lower;
}

/// @return false: the attempt ends when the victims' deletions are answered
bool SchedulingLoop::preempt(const QueuedPodInfo& info, const PreemptionCandidate& candidate, const Failure& failure) {
  ChosenCandidate chosen{info.pod, std::string(cluster_.backend().node_name(candidate.node)), {}, clock_.now_us()};
  for (const Pod* const victim : candidate.victims) {
    chosen.victims.push_back(cluster_.cache().get_pod(victim->uid()));
    if (!victim->terminating) cluster_.post_filter().note_eviction(*chosen.victims.back());
  }
  const std::size_t victim_count = chosen.victims.size();
  if (preempts_asynchronously_) {
    if (options_.meter != nullptr) options_.meter->on_victims(victim_count);
    evictions_.start(std::move(chosen));
    return true;
  }
  synchronous_preemption_.emplace(SynchronousPreemption{info, failure, info.pod});
  evictions_.start_and_tell(chosen, [this, victim_count, node = chosen.node_name](const StoreStatus& status) {
    SynchronousPreemption ended = std::move(*synchronous_preemption_);
    synchronous_preemption_.reset();
    awaits_events_ = true;
    if (options_.meter != nullptr) {
      if (status.is_success()) options_.meter->on_victims(victim_count);
      options_.meter->on_decision(seconds_of(ended.failure.time));
    }
    if (status.is_success()) {
      ended.failure.nominated_node = node;
    } else {
      ended.failure.nominated_node = std::nullopt;
      ended.failure.message = with_post_filter(ended.failure.message, "preemption: " + status.message);
    }
    fail(std::move(ended.info), ended.failure, ended.newest);
  });
  return false;
}

/// Says what became of an attempt, and then takes the pod back or lets it go: 5.5.
/// @param newest  what goes back; null: the pod is gone. Status and event are those of the pod that was tried
void SchedulingLoop::fail(QueuedPodInfo info, const Failure& failure, const PodPtr& newest) {
  observer_.on_attempt({info, failure.result, {}, 0, failure.message});
  if (options_.meter != nullptr) options_.meter->on_failed(info, failure.result, seconds_of(failure.time));
  const PodPtr pod = info.pod;
  const std::int64_t generation = info.generation;
  const std::uint64_t condition = hash_of_condition(condition_reason(failure.result), failure.message);
  const bool is_new_condition = std::exchange(info.told_condition, condition) != condition;
  const bool comes_back = newest != nullptr && newest->node_name.empty();
  if (comes_back) {
    keep_signature(pod, newest);
    info.pod = newest;
    Rejectors rejectors = failure.rejectors;
    rejectors.until_changed =
        failure.result == AttemptResult::kError && needs_missing_plugin(*pod) && needs_missing_plugin(*newest);
    queue_.add_failed(std::move(info), rejectors);
    queue_.nominator().add(newest, failure.nominated_node);
    sync_nomination(newest);
  } else {
    queue_.done(pod->uid());
    // As 1.36: nothing is said of a pod that came again under its name.
    if (newest == nullptr && queue_.find(*pod)) return;
  }
  observer_.on_event({pod, true, "FailedScheduling", "Scheduling", as_note(failure.message)});
  patch_status(pod, generation, failure, is_new_condition);
}

/// No node and no event of the cluster will help such a pod.
bool SchedulingLoop::needs_missing_plugin(const Pod& pod) const {
  const Profile* const profile = options_.config.find_profile(pod.spec->scheduler_name);
  return profile != nullptr && unsupported_use(pod, *profile, options_.engine.host_plugins);
}

/// What another process told the pod, or this one before it was started again, is told: upstream compares with the
/// pod's status.
void SchedulingLoop::note_condition(const StoredPod& pod) {
  const PodCondition* const condition = pod.find_condition("PodScheduled");
  if (condition == nullptr || condition->status != ConditionStatus::kFalse) return;
  queue_.note_told_condition(*pod.object, hash_of_condition(condition->reason, condition->message));
}

/// 5.5: another generation alone is no reason for a patch. Where calls merge, a patch that waits may say otherwise of
/// the nomination, so that it is named in any case.
void SchedulingLoop::patch_status(const PodPtr& pod, std::int64_t generation, const Failure& failure,
                                  bool is_new_condition) {
  PodStatusPatch patch;
  patch.uid = pod->stored_uid;
  const bool names_another = failure.nominated_node && *failure.nominated_node != pod->rare().nominated_node_name;
  if (names_another || calls_.merges()) patch.nominated_node_name = failure.nominated_node;
  if (!is_new_condition && !patch.nominated_node_name) return;
  if (!is_new_condition && calls_.merges()) return calls_.add({pod, std::move(patch)});
  patch.conditions = {{.type = "PodScheduled",
                       .status = ConditionStatus::kFalse,
                       .reason = std::string(condition_reason(failure.result)),
                       .message = failure.message,
                       .observed_generation = generation}};
  calls_.add({pod, std::move(patch)});
}

}  // namespace berth
