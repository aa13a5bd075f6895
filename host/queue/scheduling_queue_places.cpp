// SPDX-License-Identifier: Apache-2.0
// Which container a pod of the queue enters, and in which order it lies there.

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "host/queue/reserve_more.h"
#include "host/queue/scheduling_queue.h"

namespace berth {
namespace {

QueueCounts::Queue queue_of(PodRecord::Place place) {
  if (place == PodRecord::Place::kActive) return QueueCounts::Queue::kActive;
  const bool backs_off = place == PodRecord::Place::kBackoff || place == PodRecord::Place::kErrorBackoff;
  return backs_off ? QueueCounts::Queue::kBackoff : QueueCounts::Queue::kUnschedulable;
}

}  // namespace

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
  const std::int64_t first_us = records_[a].expiry_us = expiry_us(records_[a]);
  const std::int64_t second_us = records_[b].expiry_us = expiry_us(records_[b]);
  if (first_us != second_us) return first_us < second_us;
  return then_sorted ? sorts_before(a, b) : records_[a].order < records_[b].order;
}

std::int64_t SchedulingQueue::expiry_us(const PodRecord& record) const {
  if (record.expiry_us != PodRecord::kExpiryUnknownUs) return record.expiry_us;
  const QueuedPodInfo& info = record.info;
  const std::uint32_t count = info.consecutive_errors > 0 ? info.consecutive_errors : info.unschedulable_count;
  return backoff_.expiry_us(info.timestamp_us, count);
}

// Where a pod goes.

PodRecord SchedulingQueue::new_record(QueuedPodInfo info) const {
  PodRecord record;
  record.profile = table_.profile_of(info.pod->spec->scheduler_name);
  record.info = std::move(info);
  return record;
}

SchedulingQueue::Entry SchedulingQueue::as_it_is(const PodRecord& record, Place place, const QueueLabel& label) {
  Entry entry;
  entry.place = place;
  entry.label = label;
  entry.gating_plugin = record.gating_plugin;
  entry.unschedulable = record.unschedulable;
  entry.pending = record.pending;
  return entry;
}

void SchedulingQueue::run_pre_enqueue(const PodRecord& record, Entry& entry) {
  if (record.profile == HintTable::kUnknownProfile) return;
  const Framework& framework = table_.framework(record.profile);
  if (!framework.has_plugins(ExtensionPoint::kPreEnqueue)) return;
  const std::string_view last = record.is_gated() ? std::string_view(table_.name_of(record.gating_plugin)) : "";
  const Status status = framework.run_pre_enqueue(*record.info.pod, last);
  entry.gating_plugin = PodRecord::kNotGated;
  if (status.ok()) return;
  entry.gating_plugin = table_.number_of(status.plugin);
  entry.unschedulable |= PluginSet{1} << entry.gating_plugin;
  entry.place = Place::kUnschedulable;
  find_class(record, entry);
}

void SchedulingQueue::find_class(const PodRecord& record, Entry& entry) {
  PodRecord then = record;
  then.gating_plugin = entry.gating_plugin;
  then.unschedulable = entry.unschedulable;
  then.pending = entry.pending;
  entry.hint_class = classes_.class_of(then);
}

SchedulingQueue::Entry SchedulingQueue::to_active(const PodRecord& record, const QueueLabel& label, bool from_backoff) {
  Entry entry = as_it_is(record, Place::kActive, label);
  if (!(pops_from_backoff_ && from_backoff)) {
    run_pre_enqueue(record, entry);
  } else if (record.is_gated()) {
    return to_unschedulable(record, label);
  }
  return entry;
}

SchedulingQueue::Entry SchedulingQueue::to_backoff(const PodRecord& record, const QueueLabel& label) {
  Entry entry = as_it_is(record, Place::kBackoff, label);
  if (pops_from_backoff_) run_pre_enqueue(record, entry);
  if (entry.place == Place::kBackoff && (entry.unschedulable | entry.pending) == 0) entry.place = Place::kErrorBackoff;
  return entry;
}

SchedulingQueue::Entry SchedulingQueue::to_unschedulable(const PodRecord& record, const QueueLabel& label) {
  Entry entry = as_it_is(record, Place::kUnschedulable, label);
  find_class(record, entry);
  return entry;
}

SchedulingQueue::Entry SchedulingQueue::to(const PodRecord& record, Requeue requeue, const QueueLabel& label) {
  if (requeue == Requeue::kSkip) return to_unschedulable(record, label);
  if (requeue == Requeue::kAfterBackoff && is_backing_off(record)) return to_backoff(record, label);
  return to_active(record, label, false);
}

Requeue SchedulingQueue::replay(const PodRecord& record, const std::string& uid) {
  if (record.rejectors() == 0 || !in_flight_.contains(uid)) return Requeue::kAfterBackoff;
  Requeue strongest = Requeue::kSkip;
  for (const std::shared_ptr<const RaisedEvent>& event : in_flight_.events_since(uid)) {
    const Requeue requeue = classes_.decide(record, *event);
    if (requeue == Requeue::kImmediately) return requeue;
    if (requeue == Requeue::kAfterBackoff) strongest = requeue;
    if (strongest != Requeue::kSkip && record.pending == 0) break;
  }
  return strongest;
}

// Records and containers.

void SchedulingQueue::make_room(std::span<const Entry> entries) {
  std::size_t active = 0;
  std::size_t backoff = 0;
  std::size_t errors = 0;
  std::size_t held = 0;
  for (const Entry& entry : entries) {
    active += entry.place == Place::kActive ? 1 : 0;
    backoff += entry.place == Place::kBackoff ? 1 : 0;
    errors += entry.place == Place::kErrorBackoff ? 1 : 0;
    held += entry.place == Place::kHeld ? 1 : 0;
    if (entry.is_counted) counts_.make_room(queue_of(entry.place), entry.label);
  }
  active_.make_room(active);
  backoff_queue_.make_room(backoff);
  error_queue_.make_room(errors);
  reserve_more(held_, held_.size() + held);
}

std::uint32_t SchedulingQueue::create(PodRecord record) {
  record.order = next_order_++;
  return records_.create(std::move(record));
}

void SchedulingQueue::enter(std::uint32_t slot, const Entry& entry) {
  set_rejectors(slot, entry.unschedulable, entry.pending);
  PodRecord& record = records_[slot];
  record.gating_plugin = entry.gating_plugin;
  record.place = entry.place;
  if (entry.is_counted) counts_.count(queue_of(entry.place), entry.label);
  switch (entry.place) {
    case Place::kNone:
      break;
    case Place::kActive:
      if (record.info.initial_attempt_us == kNotYetUs) record.info.initial_attempt_us = clock_.now_us();
      active_.push(slot);
      break;
    case Place::kBackoff:
      backoff_queue_.push(slot);
      break;
    case Place::kErrorBackoff:
      error_queue_.push(slot);
      break;
    case Place::kUnschedulable:
      classes_.insert(slot, entry.hint_class);
      if (record.is_gated()) ++gated_;
      break;
    case Place::kHeld:
      record.position = static_cast<std::uint32_t>(held_.size());
      held_.push_back(slot);
      break;
  }
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
    (before >> plugin & 1u) != 0 ? rejected_.remove(plugin, record.profile) : rejected_.add(plugin, record.profile);
  }
}

void SchedulingQueue::move(std::span<const std::uint32_t> slots, std::span<const Entry> entries) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    detach(slots[i]);
    enter(slots[i], entries[i]);
  }
  classes_.sweep();
}

}  // namespace berth
