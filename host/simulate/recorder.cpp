// SPDX-License-Identifier: Apache-2.0
#include "host/simulate/recorder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "host/objects/pod_requests.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

constexpr std::size_t kPodsResource = 2;

/// Nearest rank. @param sorted  not empty
std::int64_t percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

/// Whether two versions of a pod differ in more than what is reported about it.
bool differs(const StoredPod& before, const StoredPod& after) {
  return before.object->node_name != after.object->node_name || before.object->phase != after.object->phase ||
         before.object->labels.bytes() != after.object->labels.bytes() ||
         before.object->rare().scheduling_gates != after.object->rare().scheduling_gates ||
         before.meta.is_being_deleted() != after.meta.is_being_deleted();
}

void add(const TimelineAmounts& from, int sign, TimelineAmounts& to) {
  for (std::size_t r = 0; r < to.size(); ++r) to[r] += sign * from[r];
}

}  // namespace

std::string_view to_string(PodOutcome outcome) {
  constexpr std::array<std::string_view, 5> kNames = {"pending", "running", "finished", "preempted", "removed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

WaitTimes wait_times(const std::vector<SimulatedPod>& pods) {
  std::vector<std::int64_t> waits;
  for (const SimulatedPod& pod : pods)
    if (pod.placed_us) waits.push_back(*pod.placed_us - pod.arrived_us);
  if (waits.empty()) return {};
  std::sort(waits.begin(), waits.end());
  return {static_cast<std::int64_t>(waits.size()), percentile(waits, 50), percentile(waits, 90), percentile(waits, 99),
          waits.back()};
}

Recorder::Recorder(ObjectStore& store, std::vector<std::string> resources, std::int64_t start_us)
    : clock_(store.clock()), resources_(std::move(resources)), start_us_(start_us) {
  const StoreContents contents = store.list_all();
  watch_ = store.watch(contents.resource_version, KindSet().with(ObjectKind::kPod).with(ObjectKind::kNode)).watch;
  for (const StoredPtr<Node>& node : contents.of<Node>()) take(ObjectChange<Node>{nullptr, node});
  for (const StoredPodPtr& pod : contents.of<Pod>()) take(ObjectChange<Pod>{nullptr, pod}, start_us);
}

bool Recorder::read_events() {
  bool has_changed = false;
  const WatchBatch batch = watch_.poll();
  if (!batch.status.is_success())
    throw std::logic_error("the watch of a simulation has expired: " + batch.status.message);
  for (const WatchEvent& event : batch.events) has_changed |= take(event);
  return has_changed;
}

bool Recorder::take(const WatchEvent& event) {
  if (const auto* node = event.get<Node>()) return take(*node);
  return take(*event.get<Pod>(), event.time_us);
}

bool Recorder::take(const ObjectChange<Node>& change) {
  if (change.before != nullptr) count_node(*change.before->object, -1);
  if (change.after != nullptr) count_node(*change.after->object, 1);
  return true;
}

bool Recorder::take(const ObjectChange<Pod>& change, std::int64_t time_us) {
  if (change.before != nullptr) count_pod(*change.before->object, -1);
  if (change.after != nullptr) count_pod(*change.after->object, 1);
  note_pod(change.before.get(), change.after.get(), time_us - start_us_);
  return change.before == nullptr || change.after == nullptr || differs(*change.before, *change.after);
}

/// Pods of a node that is gone hold nothing.
void Recorder::count_node(const Node& node, int sign) {
  NodeSums& sums = nodes_[node.name];
  sums.exists = sign > 0;
  state_.nodes += sign;
  add(amounts_of(node), sign, state_.allocatable);
  add(sums.requested, sign, state_.requested);
  if (!sums.exists && sums.pods == 0) nodes_.erase(node.name);
}

void Recorder::count_pod(const Pod& pod, int sign) {
  if (is_pending(pod)) state_.pending += sign;
  if (!is_on_node(pod)) return;
  state_.running += sign;
  NodeSums& sums = nodes_[pod.node_name];
  const TimelineAmounts amounts = amounts_of(pod);
  sums.pods += sign;
  add(amounts, sign, sums.requested);
  if (sums.exists) add(amounts, sign, state_.requested);
  if (!sums.exists && sums.pods == 0) nodes_.erase(pod.node_name);
}

void Recorder::note_pod(const StoredPod* before, const StoredPod* after, std::int64_t time_us) {
  const std::string uid = uid_of(after != nullptr ? *after : *before);
  if (before == nullptr) {
    const Pod& pod = *after->object;
    positions_[uid] = pods_.size();
    pods_.push_back({pod.full_name(), pod.node_name, time_us, std::nullopt, std::nullopt,
                     is_assigned(pod) ? PodOutcome::kRunning : PodOutcome::kPending});
    if (is_pending(pod)) ++events_.arrived;
    return;
  }
  const auto position = positions_.find(uid);
  SimulatedPod& record = pods_[position->second];
  if (after == nullptr) {
    end_pod(record, PodOutcome::kRemoved, time_us);
    positions_.erase(position);
    return;
  }
  if (!is_assigned(*before->object) && is_assigned(*after->object)) {
    record.node_name = after->object->node_name;
    record.placed_us = time_us;
    if (record.outcome == PodOutcome::kPending) record.outcome = PodOutcome::kRunning;
    ++events_.placed;
  }
  if (after->object->phase == PodPhase::kSucceeded) end_pod(record, PodOutcome::kFinished, time_us);
  if (after->object->phase == PodPhase::kFailed) end_pod(record, PodOutcome::kRemoved, time_us);
}

/// The first end counts: a pod that has finished may be removed later. One that was to be evicted stays so.
void Recorder::end_pod(SimulatedPod& record, PodOutcome outcome, std::int64_t time_us) {
  if (record.ended_us) return;
  record.ended_us = time_us;
  ++(outcome == PodOutcome::kFinished ? state_.finished : state_.removed);
  if (record.outcome != PodOutcome::kPreempted || outcome == PodOutcome::kFinished) record.outcome = outcome;
}

void Recorder::end_instant(std::int64_t now_us) {
  const std::int64_t time_us = now_us - start_us_;
  pending_max_ = std::max(pending_max_, state_.pending);
  const bool is_same = last_ && *last_ == state_ && events_ == ClusterEvents{};
  if (is_same) return;
  timeline_.add({time_us, state_, events_});
  totals_.arrived += events_.arrived;
  totals_.placed += events_.placed;
  totals_.preempted += events_.preempted;
  totals_.failed += events_.failed;
  events_ = {};
  integrate(time_us);
  last_ = state_;
}

/// The state of the last sample lasted until then.
void Recorder::integrate(std::int64_t until_us) {
  if (!last_ || until_us <= summed_us_) return;
  const auto span = static_cast<double>(until_us - summed_us_);
  for (std::size_t r = 0; r < resources_.size(); ++r) {
    requested_time_[r] += span * static_cast<double>(last_->requested[r]);
    allocatable_time_[r] += span * static_cast<double>(last_->allocatable[r]);
  }
  summed_us_ = until_us;
}

double Recorder::mean_utilisation(std::size_t resource, std::int64_t end_us) const {
  const auto rest = static_cast<double>(std::max<std::int64_t>(end_us - summed_us_, 0));
  const double requested = requested_time_[resource] + rest * static_cast<double>(state_.requested[resource]);
  const double allocatable = allocatable_time_[resource] + rest * static_cast<double>(state_.allocatable[resource]);
  return allocatable > 0 ? requested / allocatable : 0;
}

void Recorder::on_attempt(const Attempt& attempt) {
  if (attempt.result != AttemptResult::kScheduled) ++events_.failed;
}

void Recorder::on_event(const SchedulerEvent& event) {
  ++scheduler_event_count_;
  if (scheduler_events_.size() < kEventsKept)
    scheduler_events_.push_back({clock_.now_us() - start_us_, event.pod->full_name(), event.is_warning, event.reason,
                                 event.action, event.note});
}

void Recorder::on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
  static_cast<void>(preemptor), static_cast<void>(node_name);
  ++events_.preempted;
  const auto position = positions_.find(victim->uid());
  if (position != positions_.end()) pods_[position->second].outcome = PodOutcome::kPreempted;
}

TimelineAmounts Recorder::amounts_of(const Pod& pod) const {
  TimelineAmounts amounts = {};
  const ResourceAmounts requested = requested_on_node(pod);
  for (std::size_t r = 0; r < resources_.size(); ++r)
    amounts[r] = r == kPodsResource ? 1 : requested.amount(resources_[r]);
  return amounts;
}

TimelineAmounts Recorder::amounts_of(const Node& node) const {
  TimelineAmounts amounts = {};
  for (std::size_t r = 0; r < resources_.size(); ++r)
    amounts[r] = r == kPodsResource ? node.allowed_pod_number : node.allocatable.amount(resources_[r]);
  return amounts;
}

}  // namespace berth
