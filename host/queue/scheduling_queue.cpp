// SPDX-License-Identifier: Apache-2.0
#include "host/queue/scheduling_queue.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "host/config/unbuilt_gates.h"
#include "host/objects/errors.h"
#include "host/queue/change_events.h"
#include "host/queue/reserve_more.h"

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
      nominator_(options.lister),
      rejected_(table_.profile_count()) {
  if (sort_ == nullptr) throw std::invalid_argument("the first profile of the queue has no QueueSort plugin");
}

SchedulingQueue::~SchedulingQueue() = default;

bool SchedulingQueue::has_profile(std::string_view scheduler_name) const {
  return table_.profile_of(scheduler_name) != HintTable::kUnknownProfile;
}

// Pods come, change and go.

void SchedulingQueue::add(const PodPtr& pod) { add(pod, kPodAdd); }

void SchedulingQueue::add(const PodPtr& pod, const QueueLabel& label) {
  PodRecord record = new_record({.pod = pod, .timestamp_us = clock_.now_us()});
  const Entry entry = to_active(record, label, false);
  Nominator::Change nomination;
  if (entry.place == Place::kActive) nomination = nominator_.addition(pod, std::nullopt);
  const std::uint32_t known = records_.find(*pod);
  records_.reserve_one();
  make_room({&entry, 1});
  // Nothing below needs memory.
  if (known != PodRecords::kNone) drop(known);
  enter(create(std::move(record)), entry);
  nominator_.apply(std::move(nomination));
  classes_.sweep();
}

void SchedulingQueue::update(const PodPtr& before, const PodPtr& after) {
  const std::vector<ClusterEvent> events = pod_change_events(*before, *after, release_);
  if (in_flight_.contains(after->uid())) {
    std::vector<std::shared_ptr<const RaisedEvent>> raised;
    raised.reserve(events.size());
    for (const ClusterEvent event : events)
      raised.push_back(
          std::make_shared<const RaisedEvent>(RaisedEvent{event, {.old_pod = before, .new_pod = after}, false}));
    in_flight_.make_room(raised.size());
    for (auto& event : raised) in_flight_.add_event(std::move(event));
    return;
  }
  const std::uint32_t slot = records_.find(*after);
  if (slot == PodRecords::kNone) return add(after, kPodUpdate);
  if (records_[slot].place == Place::kUnschedulable) return update_unschedulable(slot, before, after, events);
  if (records_[slot].place == Place::kHeld) return update_held(slot, before, after, events.front());
  update_waiting(slot, before, after);
}

/// Of a pod that is active or backs off.
void SchedulingQueue::update_waiting(std::uint32_t slot, const PodPtr& before, const PodPtr& after) {
  Nominator::Change nomination = nominator_.update_of(*before, after);
  records_[slot].info.pod = after;
  if (records_[slot].place == Place::kActive) active_.fix(slot);
  if (records_[slot].place == Place::kBackoff) backoff_queue_.fix(slot);
  if (records_[slot].place == Place::kErrorBackoff) error_queue_.fix(slot);
  nominator_.apply(std::move(nomination));
}

void SchedulingQueue::update_unschedulable(std::uint32_t slot, const PodPtr& before, const PodPtr& after,
                                           std::span<const ClusterEvent> events) {
  PodRecord record = records_[slot];
  record.info.pod = after;
  record.hint_class = PodRecord::kNone;
  std::vector<Entry> entries;  // the last one is where it stays
  for (const ClusterEvent event : events) {
    const Requeue requeue = classes_.decide(record, {event, {.old_pod = before, .new_pod = after}, false});
    if (requeue == Requeue::kSkip) continue;
    const Entry& entry = entries.emplace_back(to(record, requeue, {QueueLabel::Move::kEvent, event}));
    if (entry.place != Place::kUnschedulable) break;
    record.gating_plugin = entry.gating_plugin;
    record.unschedulable = entry.unschedulable;
    record.pending = entry.pending;
  }
  if (entries.empty() || entries.back().place == Place::kUnschedulable) {
    entries.push_back(to_unschedulable(record, {}));
    entries.back().is_counted = false;
  }
  const Entry& last = entries.back();
  const bool is_as_new = last.place == Place::kActive && last.label == kPodUpdate;
  Nominator::Change nomination = nominator_.update_of(*before, after, !is_as_new);
  make_room(entries);
  // Nothing below needs memory.
  detach(slot);
  records_[slot].info.pod = after;
  for (const Entry& passed : std::span(entries).first(entries.size() - 1))
    counts_.count(QueueCounts::Queue::kUnschedulable, passed.label);
  enter(slot, last);
  nominator_.apply(std::move(nomination));
  classes_.sweep();
}

void SchedulingQueue::update_held(std::uint32_t slot, const PodPtr& before, const PodPtr& after, ClusterEvent event) {
  Nominator::Change nomination = nominator_.update_of(*before, after);
  if (asks_the_same(*records_[slot].info.pod, *after)) {
    records_[slot].info.pod = after;
    return nominator_.apply(std::move(nomination));
  }
  PodRecord record = records_[slot];
  record.info.pod = after;
  const Entry entry = to(record, Requeue::kAfterBackoff, {QueueLabel::Move::kEvent, event});
  make_room({&entry, 1});
  // Nothing below needs memory.
  records_[slot].info.pod = after;
  nominator_.apply(std::move(nomination));
  move({&slot, 1}, {&entry, 1});
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
  const Place place = slot == PodRecords::kNone ? Place::kNone : records_[slot].place;
  if (place == Place::kHeld) return;
  const bool is_in_flight = in_flight_.contains(pod->uid());
  std::shared_ptr<const RaisedEvent> raised;
  if (is_in_flight) {
    raised = std::make_shared<const RaisedEvent>(RaisedEvent{kWildcardEvent, {.new_pod = pod}, true});
    in_flight_.make_room(1);
  }
  if (place != Place::kNone && place != Place::kActive) {
    const Entry entry = to_active(records_[slot], kForceActivate, place != Place::kUnschedulable);
    make_room({&entry, 1});
    move({&slot, 1}, {&entry, 1});
    if (entry.place == Place::kActive) return;
  }
  if (is_in_flight) in_flight_.add_event(std::move(raised));
}

// Attempts.

/// The pod that is tried next; kNone: none is ready.
std::uint32_t SchedulingQueue::next() const {
  if (!active_.empty()) return active_.top();
  return pops_from_backoff_ && !backoff_queue_.empty() ? backoff_queue_.top() : PodRecords::kNone;
}

std::vector<PodPtr> SchedulingQueue::head(std::size_t count) const {
  std::vector<PodPtr> pods;
  for (const std::uint32_t slot : active_.first(count)) pods.push_back(records_[slot].info.pod);
  if (pops_from_backoff_ && pods.size() < count)
    for (const std::uint32_t slot : backoff_queue_.first(count - pods.size())) pods.push_back(records_[slot].info.pod);
  return pods;
}

std::optional<QueuedPodInfo> SchedulingQueue::pop() {
  in_flight_.make_room(1);
  counts_.make_room(QueueCounts::Queue::kActive, kPopFromBackoffQ);
  for (std::uint32_t slot = next(); slot != PodRecords::kNone; slot = next()) {
    const std::string uid = records_[slot].info.pod->uid();
    // Nothing below needs memory.
    if (records_[slot].place == Place::kBackoff) counts_.count(QueueCounts::Queue::kActive, kPopFromBackoffQ);
    detach(slot);
    set_rejectors(slot, 0, 0);
    QueuedPodInfo info = records_.destroy(slot);
    if (in_flight_.contains(uid)) continue;  // attempted already, under another name
    ++info.attempts;
    in_flight_.add_pod(info.pod, uid);
    ++cycle_;
    return info;
  }
  return std::nullopt;
}

bool SchedulingQueue::add_failed(QueuedPodInfo info, const Rejectors& rejectors) {
  const PodPtr pod = info.pod;
  const std::string uid = pod->uid();
  if (records_.find(*pod) != PodRecords::kNone) {
    done(uid);
    return false;
  }
  PodRecord record = new_record(std::move(info));
  record.unschedulable = table_.set_of(rejectors.unschedulable);
  record.pending = table_.set_of(rejectors.pending);
  const bool is_error = record.rejectors() == 0;
  record.info.consecutive_errors = is_error ? record.info.consecutive_errors + 1 : 0;
  if (!is_error) ++record.info.unschedulable_count;
  record.info.timestamp_us = clock_.now_us();
  record.info.was_flushed = false;
  const Entry entry = rejectors.until_changed ? as_it_is(record, Place::kHeld, kAttemptFailure)
                                              : to(record, replay(record, uid), kAttemptFailure);
  records_.reserve_one();
  make_room({&entry, 1});
  // Nothing below needs memory.
  record.unschedulable = record.pending = 0;  // enter() counts them
  enter(create(std::move(record)), entry);
  done(uid);
  classes_.sweep();
  return true;
}

void SchedulingQueue::note_told_condition(const Pod& pod, std::uint64_t told) {
  const std::uint32_t slot = records_.find(pod);
  if (slot == PodRecords::kNone || !same_uid(*records_[slot].info.pod, pod)) return;
  if (records_[slot].info.told_condition == 0) records_[slot].info.told_condition = told;
}

void SchedulingQueue::forget_told_condition(const Pod& pod) {
  const std::uint32_t slot = records_.find(pod);
  if (slot == PodRecords::kNone || !same_uid(*records_[slot].info.pod, pod)) return;
  if (records_[slot].place == Place::kHeld) {  // else nothing would tell it again
    const Entry entry = to(records_[slot], Requeue::kAfterBackoff, kAttemptFailure);
    make_room({&entry, 1});
    move({&slot, 1}, {&entry, 1});
  }
  records_[slot].info.told_condition = 0;
}

// Events and time.

void SchedulingQueue::move_on_events(std::span<const ClusterEvent> events, const EventObjects& objects,
                                     const EventScope& scope) {
  std::vector<std::shared_ptr<const RaisedEvent>> all;
  std::vector<std::uint32_t> slots;
  std::vector<Entry> entries;
  for (const ClusterEvent event : events) {
    if (!table_.is_of_interest(event)) continue;
    all.push_back(std::make_shared<const RaisedEvent>(RaisedEvent{event, objects, false}));
    std::vector<std::uint32_t> moved = slots;  // by the events before
    std::ranges::sort(moved);
    const std::vector<HintClasses::Decision> decisions = classes_.decide_all(*all.back(), scope);
    slots.reserve(slots.size() + decisions.size());
    entries.reserve(entries.size() + decisions.size());
    for (const auto& [slot, requeue] : decisions) {
      if (std::ranges::binary_search(moved, slot)) continue;
      slots.push_back(slot);
      entries.push_back(to(records_[slot], requeue, {QueueLabel::Move::kEvent, event}));
    }
  }
  make_room(entries);
  if (in_flight_.pod_count() == 0) all.clear();
  in_flight_.make_room(all.size());
  // Nothing below needs memory.
  move(slots, entries);
  for (auto& raised : all) in_flight_.add_event(std::move(raised));
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
  std::vector<std::uint32_t> slots;
  std::vector<Entry> entries;
  const auto flush = [&](const auto& queue) {
    const auto is_over = [&](std::uint32_t slot, std::size_t /*before*/) { return !is_backing_off(records_[slot]); };
    for (const std::uint32_t slot : queue.first_while(is_over)) {
      slots.push_back(slot);
      entries.push_back(to_active(records_[slot], kBackoffComplete, true));
    }
  };
  flush(backoff_queue_);
  flush(error_queue_);
  make_room(entries);
  move(slots, entries);
}

void SchedulingQueue::flush_leftovers() {
  bool any = false;
  const std::vector<std::uint32_t> slots = classes_.older_than(clock_.now_us() - max_unschedulable_us_, any);
  std::vector<Entry> entries;
  entries.reserve(slots.size());
  for (const std::uint32_t slot : slots)
    entries.push_back(to(records_[slot], Requeue::kAfterBackoff, kUnschedulableTimeout));
  const bool tells = any && in_flight_.pod_count() > 0;
  std::shared_ptr<const RaisedEvent> raised;
  if (tells) raised = std::make_shared<const RaisedEvent>(RaisedEvent{kWildcardEvent, {}, false});
  if (tells) in_flight_.make_room(1);
  make_room(entries);
  // Nothing below needs memory.
  move(slots, entries);
  for (const std::uint32_t slot : slots) records_[slot].info.was_flushed = true;
  if (tells) in_flight_.add_event(std::move(raised));
}

}  // namespace berth
