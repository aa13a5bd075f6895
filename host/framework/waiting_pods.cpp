// SPDX-License-Identifier: Apache-2.0
#include "host/framework/waiting_pods.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/objects/go_duration.h"
#include "host/objects/resources.h"

namespace berth {
namespace {

constexpr std::int64_t kLongestPauseUs = 60'000'000;  // a deadline may be further away than a system clock can count

}  // namespace

void WaitingPods::add(PodPtr pod, const std::vector<PermitTimeout>& timeouts) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_us = clock_.now_us();
  std::string uid = pod->uid();
  forget(uid);
  Record& record = records_[uid];
  record.pod = std::move(pod);
  record.since_us = now_us;
  for (const PermitTimeout& entry : timeouts)
    record.timers[entry.plugin] = {entry.timeout_us, saturating_add(now_us, entry.timeout_us)};
  plan(uid, record);
  if (record.timers.empty()) decide(uid, record, Status{});
}

void WaitingPods::remove(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  forget(uid);
}

bool WaitingPods::allow(std::string_view uid, std::string_view plugin) {
  const std::lock_guard lock(mutex_);
  Record* record = undecided(uid);
  if (record == nullptr) return false;
  const auto timer = record->timers.find(plugin);
  if (timer == record->timers.end()) return false;
  const std::string key(uid);
  cancel(key, *record);
  record->timers.erase(timer);
  plan(key, *record);
  if (record->timers.empty()) decide(key, *record, Status{});
  return true;
}

bool WaitingPods::reject(std::string_view uid, std::string_view plugin, std::string message) {
  return decide(uid, {StatusCode::kUnschedulable, std::string(plugin), {std::move(message)}});
}

bool WaitingPods::preempt(std::string_view uid, std::string_view plugin) {
  return decide(uid, {StatusCode::kError, std::string(plugin), {"waiting on permit for pod: preempted"}});
}

bool WaitingPods::decide(std::string_view uid, Status decision) {
  const std::lock_guard lock(mutex_);
  Record* record = undecided(uid);
  if (record == nullptr) return false;
  decide(std::string(uid), *record, std::move(decision));
  return true;
}

bool WaitingPods::is_waiting(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  return records_.contains(uid);
}

std::optional<std::int64_t> WaitingPods::waits_since_us(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(uid);
  return found == records_.end() ? std::nullopt : std::optional(found->second.since_us);
}

std::vector<PodPtr> WaitingPods::pods() const {
  const std::lock_guard lock(mutex_);
  std::vector<PodPtr> pods;
  for (const auto& [uid, record] : records_) pods.push_back(record.pod);
  return pods;
}

std::vector<std::string> WaitingPods::pending_plugins(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> plugins;
  const auto found = records_.find(uid);
  if (found == records_.end()) return plugins;
  for (const auto& [plugin, timer] : found->second.timers) plugins.push_back(plugin);
  return plugins;
}

std::optional<Status> WaitingPods::decision(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  fire_due_timers();
  const auto found = records_.find(uid);
  return found == records_.end() ? Status{} : found->second.decision;
}

Status WaitingPods::wait(std::string_view uid) {
  std::unique_lock lock(mutex_);
  for (;;) {
    fire_due_timers();
    const auto found = records_.find(uid);
    if (found == records_.end()) return Status{};
    if (found->second.decision.has_value()) {
      Status decision = *std::move(found->second.decision);
      forget(uid);
      std::erase(ready_, uid);
      return decision;
    }
    const std::int64_t pause_us = std::min(first_deadline_us(found->second) - clock_.now_us(), kLongestPauseUs);
    decided_.wait_for(lock, std::chrono::microseconds(pause_us));
  }
}

std::optional<std::int64_t> WaitingPods::next_deadline_us() const {
  const std::lock_guard lock(mutex_);
  return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first);
}

void WaitingPods::wake(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  ready_.emplace_back(uid);
}

std::vector<std::string> WaitingPods::take_ready() {
  const std::lock_guard lock(mutex_);
  fire_due_timers();
  return std::exchange(ready_, {});
}

bool WaitingPods::has_ready() const {
  const std::lock_guard lock(mutex_);
  return !ready_.empty() || (!deadlines_.empty() && deadlines_.begin()->first <= clock_.now_us());
}

WaitingPods::Record* WaitingPods::undecided(std::string_view uid) {
  fire_due_timers();
  const auto found = records_.find(uid);
  return found == records_.end() || found->second.decision.has_value() ? nullptr : &found->second;
}

void WaitingPods::forget(std::string_view uid) {
  const auto found = records_.find(uid);
  if (found == records_.end()) return;
  if (!found->second.decision.has_value()) cancel(found->first, found->second);
  records_.erase(found);
}

void WaitingPods::plan(const std::string& uid, const Record& record) {
  if (!record.timers.empty()) deadlines_.emplace(first_deadline_us(record), uid);
}

void WaitingPods::cancel(const std::string& uid, const Record& record) {
  deadlines_.erase({first_deadline_us(record), uid});
}

void WaitingPods::decide(const std::string& uid, Record& record, Status decision) {
  cancel(uid, record);
  record.decision = std::move(decision);
  ready_.push_back(uid);
  decided_.notify_all();
}

/// In the order of their times.
void WaitingPods::fire_due_timers() {
  const std::int64_t now_us = clock_.now_us();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_us) {
    const std::string uid = deadlines_.begin()->second;
    Record& record = records_.find(uid)->second;
    const auto first = std::min_element(record.timers.begin(), record.timers.end(), [](const auto& a, const auto& b) {
      return a.second.deadline_us < b.second.deadline_us;
    });
    decide(uid, record,
           {StatusCode::kUnschedulable,
            first->first,
            {"rejected due to timeout after waiting " + go_duration_text(first->second.timeout_us) + " at plugin " +
             first->first}});
  }
}

std::int64_t WaitingPods::first_deadline_us(const Record& record) {
  std::int64_t first = INT64_MAX;
  for (const auto& [plugin, timer] : record.timers) first = std::min(first, timer.deadline_us);
  return first;
}

}  // namespace berth
