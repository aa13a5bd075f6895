// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/api_calls.h"

#include <algorithm>
#include <variant>

#include "host/objects/resources.h"

namespace berth {
namespace {

/// PatchPodStatus() of upstream waits so long between its four tries: retry.DefaultBackoff of client-go, without the
/// jitter, so that a simulation repeats.
constexpr std::array<std::int64_t, 3> kRetryDelaysUs = {10'000, 50'000, 250'000};

/// What the newer patch leaves open is taken from the older one.
void inherit(const PodStatusPatch& older, PodStatusPatch& newer) {
  if (!newer.nominated_node_name) newer.nominated_node_name = older.nominated_node_name;
  if (newer.conditions.empty()) newer.conditions = older.conditions;
}

/// The node is named already, and there is no condition to write.
bool changes_nothing(const PodStatusPatch& patch, const Pod& pod) {
  if (!patch.conditions.empty()) return false;
  return !patch.nominated_node_name || *patch.nominated_node_name == pod.rare().nominated_node_name;
}

bool has_condition(const StoredPod& pod, const PodCondition& condition) {
  const PodCondition* const now = pod.find_condition(condition.type);
  return now != nullptr && now->status == condition.status && now->reason == condition.reason &&
         now->message == condition.message;
}

constexpr std::string_view kBindingType = "pod_binding";
constexpr std::string_view kStatusType = "pod_status_patch";

}  // namespace

ApiCalls::ApiCalls(ApiClient& client, const Clock& clock, ApiCallOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {}

void ApiCalls::add(ApiCall call, Done done) {
  std::string uid = call.pod->uid();
  Call added{std::move(call), std::move(done)};
  if (options_.merges) {
    const auto known = of_pod_.find(uid);
    if (known != of_pod_.end() && replaces_waiting(*known, added)) return;
    const auto* const patch = std::get_if<PodStatusPatch>(&added.call.request);
    const bool is_in_flight = known != of_pod_.end() && known->second.is_in_flight;
    if (patch != nullptr && !added.done && !is_in_flight && changes_nothing(*patch, *added.call.pod)) return;
  }
  Entry& entry = *of_pod_.try_emplace(std::move(uid)).first;
  entry.second.calls.push_back(std::move(added));
  ++size_;
  if (entry.second.calls.size() == 1) make_next(entry);
}

void ApiCalls::make_next(Entry& entry) {
  PodCalls& of_pod = entry.second;
  of_pod.order = next_order_++;
  Next& next = next_of(of_pod.calls.front().lane());
  next.emplace_hint(next.end(), of_pod.order, &entry);
}

/// Deletions, volumes, and patches whose answer somebody waits for, are neither replaced nor do they replace others.
bool ApiCalls::stands_alone(const Call& call) {
  return call.lane() == Lane::kDeletion || call.lane() == Lane::kVolumes || (call.lane() == Lane::kStatus && call.done);
}

/// A status patch gives way to a binding, whichever came first; of two patches the newer one is made, unless both
/// together change nothing.
/// @return whether there is nothing left to add
bool ApiCalls::replaces_waiting(Entry& entry, Call& call) {
  const PodCalls& of_pod = entry.second;
  std::vector<Call>& calls = entry.second.calls;
  if (stands_alone(call)) return false;
  if (call.lane() == Lane::kStatus &&
      std::any_of(calls.begin(), calls.end(), [](const Call& other) { return other.lane() == Lane::kBinding; }))
    return true;
  for (std::size_t i = of_pod.is_in_flight ? 1 : 0; i < calls.size(); ++i) {
    if (stands_alone(calls[i])) continue;
    const Lane lane = calls[i].lane();
    const auto* const older = std::get_if<PodStatusPatch>(&calls[i].call.request);
    auto* const newer = std::get_if<PodStatusPatch>(&call.call.request);
    if (older != nullptr && newer != nullptr) {
      inherit(*older, *newer);
      if (!of_pod.is_in_flight && changes_nothing(*newer, *call.call.pod)) {
        drop_waiting(entry, i);
        return true;
      }
    }
    calls[i] = std::move(call);
    if (i == 0 && lane != calls[0].lane()) next_of(calls[0].lane()).insert(next_of(lane).extract(of_pod.order));
    return true;
  }
  return false;
}

/// The call is not in flight. The pod's last one takes the pod along.
void ApiCalls::drop_waiting(Entry& entry, std::size_t index) {
  PodCalls& of_pod = entry.second;
  const bool is_next = index == 0;
  if (is_next) next_of(of_pod.calls[0].lane()).erase(of_pod.order);
  of_pod.calls.erase(of_pod.calls.begin() + static_cast<std::ptrdiff_t>(index));
  --size_;
  if (of_pod.calls.empty()) {
    of_pod_.erase(of_pod_.find(entry.first));
  } else if (is_next) {
    make_next(entry);
  }
}

void ApiCalls::note_pod(const StoredPod& now) {
  if (!options_.merges || of_pod_.empty()) return;
  const auto known = of_pod_.find(now.object->uid());
  if (known == of_pod_.end() || known->second.is_in_flight) return;
  std::vector<Call>& calls = known->second.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto* const patch = std::get_if<PodStatusPatch>(&calls[i].call.request);
    if (patch == nullptr || stands_alone(calls[i])) continue;
    const std::string& nominated = now.object->rare().nominated_node_name;
    const bool is_done = std::all_of(patch->conditions.begin(), patch->conditions.end(),
                                     [&](const PodCondition& condition) { return has_condition(now, condition); });
    if (is_done && patch->nominated_node_name.value_or(nominated) == nominated) drop_waiting(*known, i);
    return;
  }
}

bool ApiCalls::run() {
  bool has_run = false;
  for (bool goes_on = true; goes_on; has_run = has_run || goes_on) {
    goes_on = retry_due();
    goes_on = start_some() || goes_on;
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
      if (next_[lane].empty() || in_flight_[lane] >= in_flight_max_of(static_cast<Lane>(lane))) continue;
      if (first == kLaneCount || next_[lane].begin()->first < next_[first].begin()->first) first = lane;
    }
    if (first == kLaneCount) return started;
    const Next::node_type next = next_[first].extract(next_[first].begin());
    start(*next.mapped(), static_cast<Lane>(first));
    started = true;
  }
}

void ApiCalls::start(Entry& entry, Lane lane) {
  const std::uint64_t id = next_id_++;
  const std::int64_t now_us = clock_.now_us();
  running_.emplace(id, Running{&entry, lane});
  ++in_flight_[static_cast<std::size_t>(lane)];
  timeouts_.push_back({saturating_add(now_us, options_.timeout_us), id});
  PodCalls& of_pod = entry.second;
  of_pod.is_in_flight = true;
  of_pod.order = kNoOrder;
  Call& call = of_pod.calls.front();
  if (call.tries++ == 0) call.first_started_us = now_us;
  if (options_.meter != nullptr && call.call.pod_came_us != 0)
    options_.meter->on_first_binding(static_cast<double>(now_us - call.call.pod_came_us) * 1e-6);
  client_.start(id, call.call);
}

/// As upstream's Retriable(): pkg/scheduler/util/utils.go.
bool ApiCalls::is_tried_again(const Call& call, const StoreStatus& status) const {
  if (call.lane() != Lane::kStatus || call.tries > kRetryDelaysUs.size()) return false;
  return status.reason == StoreReason::kInternalError || status.reason == StoreReason::kServiceUnavailable ||
         (status.reason == StoreReason::kConflict && options_.release != Release::k1_35);
}

/// @return false: nobody waits for it, because it came twice or too late
bool ApiCalls::finish(const ApiAnswer& answer) {
  const auto running = running_.find(answer.id);
  if (running == running_.end()) return false;
  const auto [entry, lane] = running->second;
  running_.erase(running);
  --in_flight_[static_cast<std::size_t>(lane)];
  PodCalls& of_pod = entry->second;
  if (is_tried_again(of_pod.calls.front(), answer.status)) {
    const std::int64_t delay_us = kRetryDelaysUs[of_pod.calls.front().tries - 1];
    retries_.emplace(clock_.now_us() + delay_us, entry);  // other calls of the pod wait meanwhile
    return true;
  }
  const Call call = std::move(of_pod.calls.front());
  of_pod.calls.erase(of_pod.calls.begin());
  of_pod.is_in_flight = false;
  --size_;
  if (of_pod.calls.empty()) {
    of_pod_.erase(of_pod_.find(entry->first));
  } else {
    make_next(*entry);
  }
  if (options_.meter != nullptr && options_.merges) tell(call, answer.status);
  if (call.done) {
    call.done(answer.status);
  } else if (lane == Lane::kStatus && !answer.status.is_success() && options_.lost_patch) {
    options_.lost_patch(*call.call.pod);
  }
  return true;
}

/// Upstream's dispatcher makes bindings and status patches.
void ApiCalls::tell(const Call& call, const StoreStatus& status) const {
  if (call.lane() != Lane::kBinding && call.lane() != Lane::kStatus) return;
  options_.meter->on_api_call(call.lane() == Lane::kBinding ? kBindingType : kStatusType, status.is_success(),
                              seconds_between(call.first_started_us, clock_.now_us()));
}

std::vector<std::pair<std::string_view, std::size_t>> ApiCalls::pending_by_type() const {
  const auto count = [this](Lane lane) { return next_[static_cast<std::size_t>(lane)].size(); };
  return {{kBindingType, count(Lane::kBinding)}, {kStatusType, count(Lane::kStatus)}};
}

bool ApiCalls::retry_due() {
  bool is_due = false;
  while (!retries_.empty() && retries_.begin()->first <= clock_.now_us()) {
    Entry& entry = *retries_.begin()->second;
    retries_.erase(retries_.begin());
    make_next(entry);
    is_due = true;
  }
  return is_due;
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
  std::int64_t next_us = client_.next_answer_us();
  if (!retries_.empty()) next_us = std::min(next_us, retries_.begin()->first);
  for (const Timeout& timeout : timeouts_)
    if (running_.contains(timeout.id)) return std::min(timeout.at_us, next_us);
  return next_us;
}

}  // namespace berth
