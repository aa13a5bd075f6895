// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/api_calls.h"

#include <algorithm>
#include <variant>

#include "host/objects/resources.h"

namespace berth {
namespace {

/// What the newer patch leaves open is taken from the older one.
void inherit(const PodStatusPatch& older, PodStatusPatch& newer) {
  if (!newer.nominated_node_name) newer.nominated_node_name = older.nominated_node_name;
  if (newer.conditions.empty()) newer.conditions = older.conditions;
}

constexpr std::string_view kBindingType = "pod_binding";
constexpr std::string_view kStatusType = "pod_status_patch";

}  // namespace

ApiCalls::ApiCalls(ApiClient& client, const Clock& clock, const ApiCallOptions& options)
    : client_(client), clock_(clock), options_(options) {}

void ApiCalls::add(ApiCall call, Done done) {
  const std::string uid = call.pod->uid();
  Call added{std::move(call), std::move(done)};
  PodCalls& of_pod = of_pod_[uid];
  if (options_.merges && replaces_waiting(uid, of_pod, added)) return;
  of_pod.calls.push_back(std::move(added));
  ++size_;
  if (of_pod.calls.size() == 1) make_next(uid, of_pod.calls.front().lane());
}

void ApiCalls::make_next(const std::string& uid, Lane lane) {
  next_[static_cast<std::size_t>(lane)].push_back({next_order_++, uid});
}

/// A status patch gives way to a binding, whichever came first; of two patches the newer one is made. Deletions, and
/// patches whose answer somebody waits for, are neither replaced nor do they replace others.
/// @return whether there is nothing left to add
bool ApiCalls::replaces_waiting(const std::string& uid, PodCalls& of_pod, Call& call) {
  std::vector<Call>& calls = of_pod.calls;
  const auto stands_alone = [](const Call& other) {
    return other.lane() == Lane::kDeletion || (other.lane() == Lane::kStatus && other.done);
  };
  if (stands_alone(call)) return false;
  if (call.lane() == Lane::kStatus &&
      std::any_of(calls.begin(), calls.end(), [](const Call& other) { return other.lane() == Lane::kBinding; }))
    return true;
  for (std::size_t i = of_pod.is_in_flight ? 1 : 0; i < calls.size(); ++i) {
    if (stands_alone(calls[i])) continue;
    const Lane lane = calls[i].lane();
    const auto* const older = std::get_if<PodStatusPatch>(&calls[i].call.request);
    auto* const newer = std::get_if<PodStatusPatch>(&call.call.request);
    if (older != nullptr && newer != nullptr) inherit(*older, *newer);
    calls[i] = std::move(call);
    if (i == 0 && lane != calls[0].lane()) {
      std::erase_if(next_[static_cast<std::size_t>(lane)], [&](const Next& next) { return next.uid == uid; });
      make_next(uid, calls[0].lane());
    }
    return true;
  }
  return false;
}

bool ApiCalls::run() {
  bool has_run = false;
  for (bool goes_on = true; goes_on; has_run = has_run || goes_on) {
    goes_on = start_some();
    for (const ApiAnswer& answer : client_.take_answers()) goes_on = finish(answer) || goes_on;
    goes_on = fail_overdue() || goes_on;
  }
  return has_run;
}

bool ApiCalls::start_some() {
  bool started = false;
  for (;;) {
    std::size_t first = kLaneCount;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      if (next_[lane].empty() || in_flight_[lane] >= options_.in_flight_max) continue;
      if (first == kLaneCount || next_[lane].front().order < next_[first].front().order) first = lane;
    }
    if (first == kLaneCount) return started;
    const std::string uid = std::move(next_[first].front().uid);
    next_[first].pop_front();
    start(uid, static_cast<Lane>(first));
    started = true;
  }
}

void ApiCalls::start(const std::string& uid, Lane lane) {
  const std::uint64_t id = next_id_++;
  const std::int64_t now_us = clock_.now_us();
  running_.emplace(id, Running{uid, lane, now_us});
  ++in_flight_[static_cast<std::size_t>(lane)];
  timeouts_.push_back({saturating_add(now_us, options_.timeout_us), id});
  PodCalls& of_pod = of_pod_.at(uid);
  of_pod.is_in_flight = true;
  client_.start(id, of_pod.calls.front().call);
}

/// @return false: nobody waits for it, because it came twice or too late
bool ApiCalls::finish(const ApiAnswer& answer) {
  const auto running = running_.find(answer.id);
  if (running == running_.end()) return false;
  const auto [uid, lane, started_us] = std::move(running->second);
  running_.erase(running);
  --in_flight_[static_cast<std::size_t>(lane)];
  const auto found = of_pod_.find(uid);
  PodCalls& of_pod = found->second;
  const Done done = std::move(of_pod.calls.front().done);
  of_pod.calls.erase(of_pod.calls.begin());
  of_pod.is_in_flight = false;
  --size_;
  if (of_pod.calls.empty()) {
    of_pod_.erase(found);
  } else {
    make_next(uid, of_pod.calls.front().lane());
  }
  if (options_.meter != nullptr && options_.merges) tell(lane, started_us, answer.status);
  if (done) done(answer.status);
  return true;
}

/// Upstream's dispatcher makes no deletions.
void ApiCalls::tell(Lane lane, std::int64_t started_us, const StoreStatus& status) const {
  if (lane == Lane::kDeletion) return;
  options_.meter->on_api_call(lane == Lane::kBinding ? kBindingType : kStatusType, status.is_success(),
                              seconds_between(started_us, clock_.now_us()));
}

std::vector<std::pair<std::string_view, std::size_t>> ApiCalls::pending_by_type() const {
  const auto count = [this](Lane lane) { return next_[static_cast<std::size_t>(lane)].size(); };
  return {{kBindingType, count(Lane::kBinding)}, {kStatusType, count(Lane::kStatus)}};
}

bool ApiCalls::fail_overdue() {
  bool failed = false;
  while (!timeouts_.empty() &&
         (timeouts_.front().at_us <= clock_.now_us() || !running_.contains(timeouts_.front().id))) {
    const std::uint64_t id = timeouts_.front().id;
    timeouts_.pop_front();
    failed = finish({id, {StoreReason::kTimeout, "the API server did not answer in time"}}) || failed;
  }
  return failed;
}

std::int64_t ApiCalls::next_event_us() const {
  for (const Timeout& timeout : timeouts_)
    if (running_.contains(timeout.id)) return std::min(timeout.at_us, client_.next_answer_us());
  return client_.next_answer_us();
}

}  // namespace berth
