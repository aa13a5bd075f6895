// SPDX-License-Identifier: Apache-2.0
#include "host/queue/scheduling_queue.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "host/config/unbuilt_gates.h"
#include "host/objects/errors.h"
#include "host/queue/change_events.h"

namespace berth {
namespace {

constexpr QueueLabel kPodAdd{QueueLabel::Move::kEvent, {EventResource::kUnschedulablePod, EventAction::kAdd}};
constexpr QueueLabel kPodUpdate{QueueLabel::Move::kEvent, {EventResource::kUnschedulablePod, EventAction::kUpdate}};
constexpr QueueLabel kAttemptFailure{QueueLabel::Move::kScheduleAttemptFailure, {}};
constexpr QueueLabel kBackoffComplete{QueueLabel::Move::kBackoffComplete, {}};
constexpr QueueLabel kPopFromBackoffQ{QueueLabel::Move::kPopFromBackoffQ, {}};
constexpr QueueLabel kForceActivate{QueueLabel::Move::kForceActivate, {}};
constexpr QueueLabel kUnschedulableTimeout{QueueLabel::Move::kUnschedulableTimeout, {}};

/// The first moment of a series that lies behind `now_us`.
std::int64_t next_of_series(std::int64_t one_us, std::int64_t interval_us, std::int64_t now_us) {
  return one_us > now_us ? one_us : one_us + ((now_us - one_us) / interval_us + 1) * interval_us;
}

}  // namespace

QueueOptions queue_options(const SchedulerConfig& config) {
  refuse_unbuilt_gates(config.gates);
  QueueOptions options;
  options.initial_backoff_us = config.pod_initial_backoff_seconds * Backoff::kSecondUs;
  options.max_backoff_us = config.pod_max_backoff_seconds * Backoff::kSecondUs;
  options.pops_from_backoff = config.gates.enabled("SchedulerPopFromBackoffQ");
  options.release = config.gates.release();
  return options;
}

SchedulingQueue::SchedulingQueue(std::vector<QueueProfile> profiles, const QueueOptions& options, const Clock& clock)
    : backoff_{options.initial_backoff_us, options.max_backoff_us, options.pops_from_backoff},
      max_unschedulable_us_(options.max_unschedulable_us),
      pops_from_backoff_(options.pops_from_backoff),
      release_(options.release),
      clock_(clock),
      next_backoff_flush_us_(backoff_.window_us(clock.now_us() + Backoff::kSecondUs)),
      next_leftover_flush_us_(clock.now_us()),
      table_(std::move(profiles)),
      sort_(table_.framework(0).queue_sort()),
      nominator_(options.lister) {
  if (sort_ == nullptr) throw std::invalid_argument("the first profile of the queue has no QueueSort plugin");
}

SchedulingQueue::~SchedulingQueue() = default;

bool SchedulingQueue::has_profile(std::string_view scheduler_name) const {
  return table_.profile_of(scheduler_name) != HintTable::kUnknownProfile;
}

// Order.

bool SchedulingQueue::sorts_before(std::uint32_t a, std::uint32_t b) const {
  const PodRecord& x = records_[a];
  const PodRecord& y = records_[b];
  const QueuedPod first{x.info.pod.get(), x.info.timestamp_us};
  const QueuedPod second{y.info.pod.get(), y.info.timestamp_us};
  if (sort_->less(first, second)) return true;
  return !sort_->less(second, first) && x.order < y.order;
}

bool SchedulingQueue::ends_before(std::uint32_t a, std::uint32_t b, bool then_sorted) {
  const std::int64_t first_us = expiry_us(a);
  const std::int64_t second_us = expiry_us(b);
  if (first_us != second_us) return first_us < second_us;
  return then_sorted ? sorts_before(a, b) : records_[a].order < records_[b].order;
}

std::int64_t SchedulingQueue::expiry_us(std::uint32_t slot) {
  PodRecord& record = records_[slot];
  if (record.expiry_us != PodRecord::kExpiryUnknownUs) return record.expiry_us;
  const QueuedPodInfo& info = record.info;
  const std::uint32_t count = info.consecutive_errors > 0 ? info.consecutive_errors : info.unschedulable_count;
  return record.expiry_us = backoff_.expiry_us(info.timestamp_us, count);
}

// Records and containers.

std::uint32_t SchedulingQueue::create(QueuedPodInfo info) {
  const std::uint16_t profile = table_.profile_of(info.pod->spec->scheduler_name);
  const std::uint32_t slot = records_.create(std::move(info));
  records_[slot].profile = profile;
  records_[slot].order = next_order_++;
  return slot;
}

void SchedulingQueue::detach(std::uint32_t slot) {
  PodRecord& record = records_[slot];
  switch (record.place) {
    case Place::kNone:
      break;
    case Place::kActive:
      active_.remove(slot);
      break;
    case Place::kBackoff:
      backoff_queue_.remove(slot);
      break;
    case Place::kErrorBackoff:
      error_queue_.remove(slot);
      break;
    case Place::kUnschedulable:
      classes_.erase(slot);
      if (record.is_gated()) --gated_;
      break;
    case Place::kHeld:
      records_[held_.back()].position = record.position;
      held_[record.position] = held_.back();
      held_.pop_back();
      break;
  }
  record.place = Place::kNone;
}

void SchedulingQueue::drop(std::uint32_t slot) {
  detach(slot);
  set_rejectors(slot, 0, 0);
  records_.destroy(slot);
}

void SchedulingQueue::set_rejectors(std::uint32_t slot, PluginSet unschedulable, PluginSet pending) {
  PodRecord& record = records_[slot];
  const PluginSet before = record.rejectors();
  record.unschedulable = unschedulable;
  record.pending = pending;
  for (PluginSet changed = before ^ record.rejectors(); changed != 0; changed &= changed - 1) {
    const auto plugin = static_cast<std::uint8_t>(std::countr_zero(changed));
    std::uint64_t& count = rejected_[{plugin, record.profile}];
    (before >> plugin & 1u) != 0 ? --count : ++count;
  }
}

void SchedulingQueue::run_pre_enqueue(std::uint32_t slot) {
  PodRecord& record = records_[slot];
  if (record.profile == HintTable::kUnknownProfile) return;
  const Framework& framework = table_.framework(record.profile);
  if (!framework.has_plugins(ExtensionPoint::kPreEnqueue)) return;
  const std::string_view last = record.is_gated() ? std::string_view(table_.name_of(record.gating_plugin)) : "";
  const Status status = framework.run_pre_enqueue(*record.info.pod, last);
  record.gating_plugin = PodRecord::kNotGated;
  if (status.ok()) return;
  record.gating_plugin = table_.number_of(status.plugin);
  set_rejectors(slot, record.unschedulable | PluginSet{1} << record.gating_plugin, record.pending);
}

SchedulingQueue::Place SchedulingQueue::to_active(std::uint32_t slot, const QueueLabel& label, bool from_backoff) {
  if (!(pops_from_backoff_ && from_backoff)) run_pre_enqueue(slot);
  PodRecord& record = records_[slot];
  if (record.is_gated()) return to_unschedulable(slot, label);
  if (record.info.initial_attempt_us == kNotYetUs) record.info.initial_attempt_us = clock_.now_us();
  active_.push(slot);
  counts_.count(QueueCounts::Queue::kActive, label);
  if (label == kPodAdd || label == kPodUpdate) nominator_.add(record.info.pod, std::nullopt);
  return record.place = Place::kActive;
}

SchedulingQueue::Place SchedulingQueue::to_backoff(std::uint32_t slot, const QueueLabel& label) {
  if (pops_from_backoff_) run_pre_enqueue(slot);
  PodRecord& record = records_[slot];
  if (pops_from_backoff_ && record.is_gated()) return to_unschedulable(slot, label);
  counts_.count(QueueCounts::Queue::kBackoff, label);
  if (record.rejectors() == 0) {
    error_queue_.push(slot);
    return record.place = Place::kErrorBackoff;
  }
  backoff_queue_.push(slot);
  return record.place = Place::kBackoff;
}

SchedulingQueue::Place SchedulingQueue::to_unschedulable(std::uint32_t slot, const QueueLabel& label) {
  counts_.count(QueueCounts::Queue::kUnschedulable, label);
  return wait_unschedulable(slot);
}

SchedulingQueue::Place SchedulingQueue::wait_unschedulable(std::uint32_t slot) {
  PodRecord& record = records_[slot];
  classes_.insert(slot);
  if (record.is_gated()) ++gated_;
  return record.place = Place::kUnschedulable;
}

SchedulingQueue::Place SchedulingQueue::place(std::uint32_t slot, Requeue requeue, const QueueLabel& label) {
  if (requeue == Requeue::kSkip) return to_unschedulable(slot, label);
  if (requeue == Requeue::kAfterBackoff && is_backing_off(slot)) return to_backoff(slot, label);
  return to_active(slot, label, false);
}

// Pods come, change and go.

void SchedulingQueue::add(const PodPtr& pod) {
  const std::uint32_t known = records_.find(*pod);
  if (known != PodRecords::kNone) drop(known);
  QueuedPodInfo info;
  info.pod = pod;
  info.timestamp_us = clock_.now_us();
  to_active(create(std::move(info)), kPodAdd, false);
}

void SchedulingQueue::update(const PodPtr& before, const PodPtr& after) {
  const std::vector<ClusterEvent> events = pod_change_events(*before, *after, release_);
  if (in_flight_.contains(after->uid())) {
    for (const ClusterEvent event : events)
      in_flight_.add_event(
          std::make_shared<const RaisedEvent>(RaisedEvent{event, {.old_pod = before, .new_pod = after}, false}));
    return;
  }
  const std::uint32_t slot = records_.find(*after);
  if (slot == PodRecords::kNone) {
    QueuedPodInfo info;
    info.pod = after;
    info.timestamp_us = clock_.now_us();
    to_active(create(std::move(info)), kPodUpdate, false);
    return;
  }
  if (records_[slot].place == Place::kUnschedulable) return update_unschedulable(slot, before, after, events);
  if (records_[slot].place == Place::kHeld) return update_held(slot, before, after, events.front());
  records_[slot].info.pod = after;
  if (records_[slot].place == Place::kActive) active_.fix(slot);
  if (records_[slot].place == Place::kBackoff) backoff_queue_.fix(slot);
  if (records_[slot].place == Place::kErrorBackoff) error_queue_.fix(slot);
  nominator_.update(*before, after);
}

void SchedulingQueue::update_unschedulable(std::uint32_t slot, const PodPtr& before, const PodPtr& after,
                                           std::span<const ClusterEvent> events) {
  detach(slot);
  records_[slot].info.pod = after;
  nominator_.update(*before, after);
  for (const ClusterEvent event : events) {
    const Requeue requeue = classes_.decide(slot, {event, {.old_pod = before, .new_pod = after}, false});
    if (requeue == Requeue::kSkip) continue;
    if (place(slot, requeue, {QueueLabel::Move::kEvent, event}) != Place::kUnschedulable) return;
    detach(slot);
  }
  wait_unschedulable(slot);
}

void SchedulingQueue::remove(const Pod& pod) {
  nominator_.remove(pod);
  const std::uint32_t slot = records_.find(pod);
  if (slot != PodRecords::kNone) drop(slot);
}

void SchedulingQueue::activate(std::span<const PodPtr> pods) {
  for (const PodPtr& pod : pods) activate(pod);
}

void SchedulingQueue::activate(const PodPtr& pod) {
  const std::uint32_t slot = records_.find(*pod);
  if (slot != PodRecords::kNone && records_[slot].place == Place::kHeld) return;
  if (slot != PodRecords::kNone && records_[slot].place != Place::kActive) {
    const bool from_backoff = records_[slot].place != Place::kUnschedulable;
    detach(slot);
    if (to_active(slot, kForceActivate, from_backoff) == Place::kActive) return;
  }
  if (in_flight_.contains(pod->uid()))
    in_flight_.add_event(std::make_shared<const RaisedEvent>(RaisedEvent{kWildcardEvent, {.new_pod = pod}, true}));
}

// Attempts.

std::optional<std::uint32_t> SchedulingQueue::take_next() {
  std::uint32_t slot = PodRecords::kNone;
  if (!active_.empty()) {
    slot = active_.top();
  } else if (pops_from_backoff_ && !backoff_queue_.empty()) {
    slot = backoff_queue_.top();
    counts_.count(QueueCounts::Queue::kActive, kPopFromBackoffQ);
  } else {
    return std::nullopt;
  }
  detach(slot);
  return slot;
}

std::vector<PodPtr> SchedulingQueue::head(std::size_t count) const {
  std::vector<PodPtr> pods;
  for (const std::uint32_t slot : active_.first(count)) pods.push_back(records_[slot].info.pod);
  if (pops_from_backoff_ && pods.size() < count)
    for (const std::uint32_t slot : backoff_queue_.first(count - pods.size())) pods.push_back(records_[slot].info.pod);
  return pods;
}

std::optional<QueuedPodInfo> SchedulingQueue::pop() {
  while (const std::optional<std::uint32_t> slot = take_next()) {
    const PodPtr pod = records_[*slot].info.pod;
    set_rejectors(*slot, 0, 0);
    QueuedPodInfo info = records_.destroy(*slot);
    if (in_flight_.contains(pod->uid())) continue;  // attempted already, under another name
    ++info.attempts;
    in_flight_.add_pod(pod);
    ++cycle_;
    return info;
  }
  return std::nullopt;
}

bool SchedulingQueue::add_failed(QueuedPodInfo info, const Rejectors& rejectors) {
  const PluginSet unschedulable = table_.set_of(rejectors.unschedulable);
  const PluginSet pending = table_.set_of(rejectors.pending);
  const PodPtr pod = info.pod;
  const bool is_new = records_.find(*pod) == PodRecords::kNone;
  if (is_new) {
    const bool is_error = (unschedulable | pending) == 0;
    info.consecutive_errors = is_error ? info.consecutive_errors + 1 : 0;
    if (!is_error) ++info.unschedulable_count;
    info.timestamp_us = clock_.now_us();
    info.was_flushed = false;
    const std::uint32_t slot = create(std::move(info));
    set_rejectors(slot, unschedulable, pending);
    if (rejectors.until_changed) {
      hold(slot);
    } else {
      place(slot, replay(slot), kAttemptFailure);
    }
  }
  done(pod->uid());
  return is_new;
}

Requeue SchedulingQueue::replay(std::uint32_t slot) {
  const PodRecord& record = records_[slot];
  const std::string uid = record.info.pod->uid();
  if (record.rejectors() == 0 || !in_flight_.contains(uid)) return Requeue::kAfterBackoff;
  Requeue strongest = Requeue::kSkip;
  for (const std::shared_ptr<const RaisedEvent>& event : in_flight_.events_since(uid)) {
    const Requeue requeue = classes_.decide(slot, *event);
    if (requeue == Requeue::kImmediately) return requeue;
    if (requeue == Requeue::kAfterBackoff) strongest = requeue;
    if (strongest != Requeue::kSkip && record.pending == 0) break;
  }
  return strongest;
}

// Pods that nothing but a change of their own helps.

SchedulingQueue::Place SchedulingQueue::hold(std::uint32_t slot) {
  counts_.count(QueueCounts::Queue::kUnschedulable, kAttemptFailure);
  records_[slot].position = static_cast<std::uint32_t>(held_.size());
  held_.push_back(slot);
  return records_[slot].place = Place::kHeld;
}

void SchedulingQueue::update_held(std::uint32_t slot, const PodPtr& before, const PodPtr& after, ClusterEvent event) {
  const bool changed = !asks_the_same(*std::exchange(records_[slot].info.pod, after), *after);
  nominator_.update(*before, after);
  if (!changed) return;
  detach(slot);
  place(slot, Requeue::kAfterBackoff, {QueueLabel::Move::kEvent, event});
}

void SchedulingQueue::note_told_condition(const Pod& pod, std::uint64_t told) {
  const std::uint32_t slot = records_.find(pod);
  if (slot == PodRecords::kNone || !same_uid(*records_[slot].info.pod, pod)) return;
  if (records_[slot].info.told_condition == 0) records_[slot].info.told_condition = told;
}

void SchedulingQueue::forget_told_condition(const Pod& pod) {
  const std::uint32_t slot = records_.find(pod);
  if (slot == PodRecords::kNone || !same_uid(*records_[slot].info.pod, pod)) return;
  records_[slot].info.told_condition = 0;
  if (records_[slot].place != Place::kHeld) return;
  detach(slot);  // else nothing would tell it again
  place(slot, Requeue::kAfterBackoff, kAttemptFailure);
}

// Events and time.

void SchedulingQueue::move_on_event(ClusterEvent event, const EventObjects& objects, const EventScope& scope) {
  if (!table_.is_of_interest(event)) return;
  const auto raised = std::make_shared<const RaisedEvent>(RaisedEvent{event, objects, false});
  for (const auto& [slot, requeue] : classes_.decide_all(*raised, scope)) {
    detach(slot);
    place(slot, requeue, {QueueLabel::Move::kEvent, event});
  }
  if (in_flight_.pod_count() > 0) in_flight_.add_event(raised);
}

std::int64_t SchedulingQueue::next_flush_us() const {
  return std::min(next_backoff_flush_us_, next_leftover_flush_us_);
}

std::int64_t SchedulingQueue::next_wake_us() const {
  const Sizes waiting = sizes();
  std::int64_t next_us = INT64_MAX;
  if (waiting.backoff > 0) next_us = next_backoff_flush_us_;
  if (waiting.unschedulable > 0) next_us = std::min(next_us, next_leftover_flush_us_);
  return next_us;
}

void SchedulingQueue::flush() {
  const std::int64_t now_us = clock_.now_us();
  if (now_us >= next_backoff_flush_us_) {
    flush_backoff();
    next_backoff_flush_us_ = next_of_series(next_backoff_flush_us_, Backoff::kSecondUs, now_us);
  }
  if (now_us >= next_leftover_flush_us_) {
    flush_leftovers();
    next_leftover_flush_us_ = next_of_series(next_leftover_flush_us_, kLeftoverIntervalUs, now_us);
  }
}

void SchedulingQueue::flush_backoff() {
  const auto flush = [this](const auto& queue) {
    while (!queue.empty() && !is_backing_off(queue.top())) {
      const std::uint32_t slot = queue.top();
      detach(slot);
      to_active(slot, kBackoffComplete, true);
    }
  };
  flush(backoff_queue_);
  flush(error_queue_);
}

void SchedulingQueue::flush_leftovers() {
  bool any = false;
  for (const std::uint32_t slot : classes_.older_than(clock_.now_us() - max_unschedulable_us_, any)) {
    detach(slot);
    records_[slot].info.was_flushed = true;
    place(slot, Requeue::kAfterBackoff, kUnschedulableTimeout);
  }
  if (any && in_flight_.pod_count() > 0)
    in_flight_.add_event(std::make_shared<const RaisedEvent>(RaisedEvent{kWildcardEvent, {}, false}));
}

}  // namespace berth
