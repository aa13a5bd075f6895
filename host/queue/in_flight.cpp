// SPDX-License-Identifier: Apache-2.0
#include "host/queue/in_flight.h"

#include <utility>

#include "host/queue/queue_counts.h"
#include "host/queue/reserve_more.h"

namespace berth {
namespace {

/// Wildcard events are moves of the queue itself.
QueueLabel label_of(const RaisedEvent& raised) {
  if (raised.event != kWildcardEvent) return {QueueLabel::Move::kEvent, raised.event};
  return {raised.is_for_one_pod ? QueueLabel::Move::kForceActivate : QueueLabel::Move::kUnschedulableTimeout, {}};
}

}  // namespace

std::uint32_t InFlight::find(std::string_view uid) const {
  return by_uid_.find(hash_of_uid(uid), [&](std::uint32_t slot) { return has_uid(*entries_[slot].pod, uid); });
}

void InFlight::make_room(std::size_t count) {
  by_uid_.reserve_one();
  reserve_more(entries_, entries_.size() + count);
  reserve_more(free_, entries_.capacity());
}

std::uint32_t InFlight::append(Entry entry) {
  const std::uint32_t slot = free_.empty() ? static_cast<std::uint32_t>(entries_.size()) : free_.back();
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    free_.pop_back();
  }
  entry.previous = last_;
  entries_[slot] = std::move(entry);
  (last_ == kNone ? first_ : entries_[last_].next) = slot;
  last_ = slot;
  return slot;
}

void InFlight::unlink(std::uint32_t slot) {
  const Entry entry = std::exchange(entries_[slot], Entry());
  (entry.previous == kNone ? first_ : entries_[entry.previous].next) = entry.next;
  (entry.next == kNone ? last_ : entries_[entry.next].previous) = entry.previous;
  free_.push_back(slot);
}

void InFlight::add_pod(PodPtr pod, std::string_view uid) {
  make_room(1);
  by_uid_.insert(hash_of_uid(uid), append({std::move(pod), nullptr, kNone, kNone}));
}

void InFlight::add_event(std::shared_ptr<const RaisedEvent> event) {
  make_room(1);
  append({nullptr, std::move(event), kNone, kNone});
  ++event_count_;
}

void InFlight::remove_pod(std::string_view uid) {
  const std::uint32_t slot = find(uid);
  if (slot == kNone) return;
  by_uid_.erase(hash_of_uid(uid), slot);
  unlink(slot);
  while (first_ != kNone && entries_[first_].pod == nullptr) {
    unlink(first_);
    --event_count_;
  }
}

std::vector<std::shared_ptr<const RaisedEvent>> InFlight::events_since(std::string_view uid) const {
  std::vector<std::shared_ptr<const RaisedEvent>> events;
  for (std::uint32_t slot = entries_[find(uid)].next; slot != kNone; slot = entries_[slot].next)
    if (entries_[slot].event != nullptr) events.push_back(entries_[slot].event);
  return events;
}

std::map<std::string, std::size_t> InFlight::counts_by_label() const {
  std::map<std::string, std::size_t> counts;
  counts["PodPopped"] = pod_count();
  for (std::uint32_t slot = first_; slot != kNone; slot = entries_[slot].next)
    if (entries_[slot].event != nullptr) ++counts[to_string(label_of(*entries_[slot].event))];
  return counts;
}

std::vector<PodPtr> InFlight::pods() const {
  std::vector<PodPtr> pods;
  for (std::uint32_t slot = first_; slot != kNone; slot = entries_[slot].next)
    if (entries_[slot].pod != nullptr) pods.push_back(entries_[slot].pod);
  return pods;
}

}  // namespace berth
