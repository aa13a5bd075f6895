// SPDX-License-Identifier: Apache-2.0
#include "tests/property/plain_queue.h"

#include <algorithm>
#include <tuple>

namespace berth::test {
namespace {

/// The pod that pops first: of higher priority, earlier, or else of the lower number.
auto rank(const PlainQueue::Attempt& attempt) {
  return std::tuple(-std::int64_t{attempt.pod->priority}, attempt.timestamp_us, attempt.number);
}

}  // namespace

std::int64_t PlainQueue::window(std::int64_t time_us) const {
  return options_.early_pop ? time_us / 1'000'000 * 1'000'000 : time_us;
}

std::optional<std::int64_t> PlainQueue::expiry_us(const Attempt& attempt) const {
  const int count = attempt.errors > 0 ? attempt.errors : attempt.failures;
  if (options_.max_us == 0 || count == 0) return std::nullopt;
  std::int64_t duration_us = options_.initial_us;
  for (int i = 1; i < count && duration_us < options_.max_us; ++i) duration_us *= 2;
  return window(attempt.timestamp_us + std::min(duration_us, options_.max_us));
}

bool PlainQueue::backs_off(const Attempt& attempt) const {
  const auto expiry = expiry_us(attempt);
  return expiry && !(*expiry < window(now_us_));
}

bool PlainQueue::registered(const std::string& plugin, ClusterEvent event) const {
  for (const auto& hints : hints_) {
    if (hints->plugin() != plugin) continue;
    bool adds = false;
    bool taints = false;
    for (const EventRegistration& registration : hints->registrations()) {
      if (matches(registration.event, event)) return true;
      if (registration.event.resource != EventResource::kNode) continue;
      adds = adds || (registration.event.actions & EventAction::kAdd) != 0;
      taints = taints || (registration.event.actions & EventAction::kUpdateNodeTaint) != 0;
    }
    return adds && !taints && event == ClusterEvent{EventResource::kNode, EventAction::kUpdateNodeTaint};
  }
  return false;
}

PlainQueue::Verdict PlainQueue::worth(const Attempt& attempt, const Raised& raised) const {
  if (attempt.unschedulable.empty() && attempt.pending.empty()) return Verdict::kAfterBackoff;
  const Pod* about = raised.objects.new_pod ? raised.objects.new_pod.get() : raised.objects.old_pod.get();
  const bool own = about != nullptr && about->uid() == attempt.pod->uid();
  if (raised.event == kWildcardEvent) return raised.for_one && !own ? Verdict::kSkip : Verdict::kAfterBackoff;
  Verdict verdict = Verdict::kSkip;
  for (const auto& hints : hints_) {
    const std::string plugin(hints->plugin());
    const bool is_pending = attempt.pending.contains(plugin);
    if (!is_pending && !attempt.unschedulable.contains(plugin)) continue;
    if (!registered(plugin, raised.event)) continue;
    bool queues = true;
    for (const EventRegistration& registration : hints->registrations()) {
      if (!matches(registration.event, raised.event) || !registration.has_function) continue;
      const auto prepared = hints->prepare(*attempt.pod);
      const EventObjects& objects = raised.objects;
      const QueueingHint hint =
          about != nullptr
              ? prepared->after_pod_change({objects.old_pod.get(), objects.new_pod.get(), own, attempt.pod.get()})
              : prepared->after_node_change({objects.old_node.get(), objects.new_node.get()});
      queues = hint == QueueingHint::kQueue;
    }
    if (queues && is_pending) return Verdict::kImmediately;
    if (queues) verdict = Verdict::kAfterBackoff;
  }
  return verdict;
}

void PlainQueue::run_gates(Attempt& attempt) const {
  const std::vector<std::string> closed = gates_(*attempt.pod);
  const bool again = std::find(closed.begin(), closed.end(), attempt.gating) != closed.end();
  if (!again) attempt.gating = closed.empty() ? "" : closed.front();
  if (!attempt.gating.empty()) attempt.unschedulable.insert(attempt.gating);
}

bool PlainQueue::to_active(Attempt attempt, bool from_backoff) {
  if (!(options_.early_pop && from_backoff)) run_gates(attempt);
  const std::string name = attempt.pod->name;
  const bool gated = !attempt.gating.empty();
  (gated ? unschedulable_ : active_)[name] = std::move(attempt);
  return !gated;
}

bool PlainQueue::to_backoff(Attempt attempt) {
  if (options_.early_pop) run_gates(attempt);
  const std::string name = attempt.pod->name;
  if (options_.early_pop && !attempt.gating.empty()) {
    unschedulable_[name] = std::move(attempt);
    return false;
  }
  const bool is_error = attempt.unschedulable.empty() && attempt.pending.empty();
  (is_error ? error_ : backoff_)[name] = std::move(attempt);
  return true;
}

/// @return whether it left the unschedulable set
bool PlainQueue::place(Attempt attempt, Verdict verdict) {
  const std::string name = attempt.pod->name;
  if (verdict == Verdict::kSkip) {
    unschedulable_[name] = std::move(attempt);
    return false;
  }
  if (verdict == Verdict::kAfterBackoff && backs_off(attempt)) return to_backoff(std::move(attempt));
  return to_active(std::move(attempt), false);
}

void PlainQueue::add(const PodPtr& pod) {
  Attempt attempt;
  attempt.pod = pod;
  attempt.timestamp_us = now_us_;
  attempt.number = next_number_++;
  to_active(std::move(attempt), false);
}

bool PlainQueue::is_in_flight(const Pod& pod) const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [&](const Entry& entry) { return entry.marker == pod.uid(); });
}

void PlainQueue::record(const Raised& raised) {
  if (!in_flight_.empty()) in_flight_.push_back({std::nullopt, raised});
}

void PlainQueue::update(const PodPtr& before, const PodPtr& after, const std::vector<ClusterEvent>& events) {
  if (is_in_flight(*after)) {
    for (const ClusterEvent event : events) record({event, {.old_pod = before, .new_pod = after}});
    return;
  }
  for (Pods* pods : {&active_, &backoff_, &error_}) {
    const auto at = pods->find(after->name);
    if (at == pods->end()) continue;
    at->second.pod = after;
    return;
  }
  if (!unschedulable_.contains(after->name)) return add(after);
  unschedulable_[after->name].pod = after;
  for (const ClusterEvent event : events) {
    const Verdict verdict = worth(unschedulable_[after->name], {event, {.old_pod = before, .new_pod = after}});
    if (verdict == Verdict::kSkip) continue;
    auto attempt = unschedulable_.extract(after->name).mapped();
    if (place(std::move(attempt), verdict)) return;
  }
}

void PlainQueue::remove(const Pod& pod) {
  for (Pods* pods : {&active_, &backoff_, &error_, &unschedulable_}) pods->erase(pod.name);
}

void PlainQueue::activate(const PodPtr& pod) {
  for (Pods* pods : {&unschedulable_, &backoff_, &error_}) {
    if (!pods->contains(pod->name)) continue;
    if (to_active(pods->extract(pod->name).mapped(), pods != &unschedulable_)) return;
    break;
  }
  if (is_in_flight(*pod)) record({kWildcardEvent, {.new_pod = pod}, true});
}

std::optional<PlainQueue::Attempt> PlainQueue::pop() {
  const auto best = [this](Pods& pods, bool by_expiry) {
    return std::min_element(pods.begin(), pods.end(), [&](const auto& a, const auto& b) {
      const std::int64_t x = by_expiry ? expiry_us(a.second).value_or(INT64_MIN) : 0;
      const std::int64_t y = by_expiry ? expiry_us(b.second).value_or(INT64_MIN) : 0;
      return std::tuple(x, rank(a.second)) < std::tuple(y, rank(b.second));
    });
  };
  Pods& from = active_.empty() && options_.early_pop ? backoff_ : active_;
  if (from.empty()) return std::nullopt;
  Attempt attempt = from.extract(best(from, &from == &backoff_)->first).mapped();
  if (is_in_flight(*attempt.pod)) return pop();
  ++attempt.attempts;
  attempt.unschedulable.clear();
  attempt.pending.clear();
  attempt.gating.clear();
  in_flight_.push_back({attempt.pod->uid(), {}});
  return attempt;
}

bool PlainQueue::add_failed(Attempt attempt, std::set<std::string> unschedulable, std::set<std::string> pending) {
  const PodPtr pod = attempt.pod;
  if (places().contains(pod->name)) {
    done(*pod);
    return false;
  }
  attempt.unschedulable = std::move(unschedulable);
  attempt.pending = std::move(pending);
  attempt.timestamp_us = now_us_;
  attempt.number = next_number_++;
  const bool is_error = attempt.unschedulable.empty() && attempt.pending.empty();
  attempt.errors = is_error ? attempt.errors + 1 : 0;
  if (!is_error) ++attempt.failures;
  Verdict verdict = Verdict::kSkip;
  if (is_error || !is_in_flight(*pod)) {
    verdict = Verdict::kAfterBackoff;
  } else {
    auto entry =
        std::find_if(in_flight_.begin(), in_flight_.end(), [&](const Entry& e) { return e.marker == pod->uid(); });
    for (; entry != in_flight_.end(); ++entry)
      if (!entry->marker) verdict = std::max(verdict, worth(attempt, entry->raised));
  }
  place(std::move(attempt), verdict);
  done(*pod);
  return true;
}

void PlainQueue::done(const Pod& pod) {
  std::erase_if(in_flight_, [&](const Entry& entry) { return entry.marker == pod.uid(); });
  while (!in_flight_.empty() && !in_flight_.front().marker) in_flight_.pop_front();
}

void PlainQueue::raise(ClusterEvent event, const EventObjects& objects, std::int32_t priority_max) {
  const bool interests = std::any_of(
      hints_.begin(), hints_.end(), [&](const auto& hints) { return registered(std::string(hints->plugin()), event); });
  if (!interests) return;
  std::vector<std::pair<std::string, Verdict>> moved;
  for (const auto& [name, attempt] : unschedulable_) {
    if (attempt.pod->priority > priority_max) continue;
    if (!attempt.gating.empty() && !registered(attempt.gating, event)) continue;
    const Verdict verdict = worth(attempt, {event, objects});
    if (verdict != Verdict::kSkip) moved.emplace_back(name, verdict);
  }
  for (const auto& [name, verdict] : moved) place(unschedulable_.extract(name).mapped(), verdict);
  record({event, objects});
}

void PlainQueue::flush(Pods& pods) {
  std::vector<std::string> ready;
  for (const auto& [name, attempt] : pods)
    if (!backs_off(attempt)) ready.push_back(name);
  for (const std::string& name : ready) to_active(pods.extract(name).mapped(), true);
}

void PlainQueue::flush_backoff() {
  flush(backoff_);
  flush(error_);
}

void PlainQueue::flush_leftovers() {
  std::vector<std::string> old;
  bool any = false;
  for (const auto& [name, attempt] : unschedulable_) {
    if (now_us_ - attempt.timestamp_us <= options_.stay_us) continue;
    any = true;
    if (attempt.gating.empty()) old.push_back(name);
  }
  for (const std::string& name : old) place(unschedulable_.extract(name).mapped(), Verdict::kAfterBackoff);
  if (any) record({kWildcardEvent, {}});
}

std::map<std::string, std::string> PlainQueue::places() const {
  std::map<std::string, std::string> places;
  for (const auto& [name, attempt] : active_) places[name] = "active";
  for (const Pods* pods : {&backoff_, &error_})
    for (const auto& [name, attempt] : *pods) places[name] = "backoff";
  for (const auto& [name, attempt] : unschedulable_) places[name] = attempt.gating.empty() ? "unschedulable" : "gated";
  return places;
}

}  // namespace berth::test
