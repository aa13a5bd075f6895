// SPDX-License-Identifier: Apache-2.0
#include "host/framework/waiting_pods.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "host/config/go_duration.h"
#include "host/objects/resources.h"

namespace berth {
namespace {

constexpr std::int64_t kLongestPauseUs = 60'000'000;  // a deadline may be further away than a system clock can count

}  // namespace

void WaitingPods::add(PodPtr pod, const std::vector<PermitTimeout>& timeouts) {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_us = clock_.now_us();
  Record record;
  for (const PermitTimeout& entry : timeouts) {
    record.timers[entry.plugin] = {entry.timeout_us, saturating_add(now_us, entry.timeout_us)};
  }
  if (record.timers.empty()) record.decision = Status{};
  std::string uid = pod->uid();
  record.pod = std::move(pod);
  records_.insert_or_assign(std::move(uid), std::move(record));
}

void WaitingPods::remove(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(uid);
  if (found != records_.end()) records_.erase(found);
}

bool WaitingPods::allow(std::string_view uid, std::string_view plugin) {
  const std::lock_guard lock(mutex_);
  Record* record = undecided(uid);
  if (record == nullptr) return false;
  const auto timer = record->timers.find(plugin);
  if (timer == record->timers.end()) return false;
  record->timers.erase(timer);
  if (!record->timers.empty()) return true;
  record->decision = Status{};
  decided_.notify_all();
  return true;
}

bool WaitingPods::reject(std::string_view uid, std::string_view plugin, std::string message) {
  const std::lock_guard lock(mutex_);
  Record* record = undecided(uid);
  if (record == nullptr) return false;
  record->decision = Status{StatusCode::kUnschedulable, std::string(plugin), {std::move(message)}};
  decided_.notify_all();
  return true;
}

bool WaitingPods::is_waiting(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  return records_.contains(uid);
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
  const auto found = records_.find(uid);
  if (found == records_.end()) return Status{};
  fire_due_timer(found->second, clock_.now_us());
  return found->second.decision;
}

Status WaitingPods::wait(std::string_view uid) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = records_.find(uid);
    if (found == records_.end()) return Status{};
    const std::int64_t now_us = clock_.now_us();
    fire_due_timer(found->second, now_us);
    if (found->second.decision.has_value()) {
      Status decision = *std::move(found->second.decision);
      records_.erase(found);
      return decision;
    }
    const std::int64_t pause_us = std::min(first_deadline_us(found->second) - now_us, kLongestPauseUs);
    decided_.wait_for(lock, std::chrono::microseconds(pause_us));
  }
}

std::optional<std::int64_t> WaitingPods::next_deadline_us() const {
  const std::lock_guard lock(mutex_);
  std::optional<std::int64_t> next;
  for (const auto& [uid, record] : records_) {
    if (record.decision.has_value()) continue;
    const std::int64_t deadline_us = first_deadline_us(record);
    if (!next.has_value() || deadline_us < *next) next = deadline_us;
  }
  return next;
}

WaitingPods::Record* WaitingPods::undecided(std::string_view uid) {
  const auto found = records_.find(uid);
  if (found == records_.end()) return nullptr;
  fire_due_timer(found->second, clock_.now_us());
  return found->second.decision.has_value() ? nullptr : &found->second;
}

void WaitingPods::fire_due_timer(Record& record, std::int64_t now_us) {
  if (record.decision.has_value()) return;
  const auto first = std::min_element(record.timers.begin(), record.timers.end(), [](const auto& a, const auto& b) {
    return a.second.deadline_us < b.second.deadline_us;
  });
  if (first->second.deadline_us > now_us) return;
  record.decision = Status{StatusCode::kUnschedulable,
                           first->first,
                           {"rejected due to timeout after waiting " + go_duration_text(first->second.timeout_us) +
                            " at plugin " + first->first}};
}

std::int64_t WaitingPods::first_deadline_us(const Record& record) {
  std::int64_t first = INT64_MAX;
  for (const auto& [plugin, timer] : record.timers) first = std::min(first, timer.deadline_us);
  return first;
}

}  // namespace berth
