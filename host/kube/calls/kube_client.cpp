// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/kube_client.h"

#include <algorithm>
#include <array>
#include <variant>

#include "host/kube/calls/api_requests.h"
#include "host/kube/calls/kube_call.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

/// As ApiCall::request orders them.
constexpr std::array<std::string_view, 4> kNames = {"bind", "patch status", "delete", "bind volumes"};

bool is_unscheduled(const StoredPtr<Pod>& pod) {
  if (pod == nullptr || is_assigned(*pod->object)) return false;
  const PodCondition* const condition = pod->find_condition("PodScheduled");
  return condition != nullptr && condition->status == ConditionStatus::kFalse;
}

}  // namespace

KubeClient::KubeClient(Parts parts, const KubeClientOptions& options) : parts_(std::move(parts)), options_(options) {}
KubeClient::~KubeClient() = default;

bool KubeClient::keeps_transition_time(const Pod& pod, const PodStatusPatch& patch) const {
  return patch.conditions.size() == 1 && patch.conditions.front().type == "PodScheduled" &&
         unscheduled_.contains(pod.uid());
}

std::unique_ptr<KubeCall> KubeClient::make_call(std::uint64_t id, const ApiCall& call) {
  struct Maker {
    KubeClient& client;
    std::uint64_t id;
    const PodPtr& pod;
    std::unique_ptr<KubeCall> operator()(const PodBinding& binding) const {
      return make_bind_call(client, id, pod, binding);
    }
    std::unique_ptr<KubeCall> operator()(const PodStatusPatch& patch) const {
      return make_plain_call(
          client, id,
          status_patch_request(*pod, patch, client.parts_.clock.now_us(), client.keeps_transition_time(*pod, patch)));
    }
    std::unique_ptr<KubeCall> operator()(const DeleteOptions& options) const {
      return make_plain_call(client, id, delete_request(*pod, options));
    }
    std::unique_ptr<KubeCall> operator()(const VolumeDecisionsPtr& decisions) const {
      return make_volume_call(client, id, decisions);
    }
  };
  std::unique_ptr<KubeCall> made = std::visit(Maker{*this, id, call.pod}, call.request);
  made->what = kNames.at(call.request.index());
  made->subject = call.pod;
  return made;
}

void KubeClient::start(std::uint64_t id, const ApiCall& call) {
  KubeCall& made = *calls_.emplace(id, make_call(id, call)).first->second;
  made.begin();
  if (made.answer()) touched_.push_back(id);
}

void KubeClient::send(std::uint64_t id, std::uint64_t request_number, HttpRequest request) {
  parts_.client.start(std::move(request), [this, id, request_number](HttpResponse response) {
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = responses_.empty();
      responses_.push_back({id, request_number, std::move(response)});
    }
    if (was_empty) parts_.wake();
  });
}

std::vector<ApiAnswer> KubeClient::take_answers() {
  std::vector<Response> responses;
  {
    const std::lock_guard lock(mutex_);
    responses.swap(responses_);
  }
  for (Response& response : responses)
    if (const auto call = calls_.find(response.id); call != calls_.end())
      call->second->take_response(response.request, std::move(response.response));
  while (!wakes_.empty() && wakes_.begin()->first <= parts_.clock.now_us()) {
    const std::uint64_t id = wakes_.extract(wakes_.begin()).mapped();
    if (const auto call = calls_.find(id); call != calls_.end() && !call->second->answer()) call->second->go_on();
    touched_.push_back(id);
  }
  for (const Response& response : responses) touched_.push_back(response.id);
  std::vector<ApiAnswer> answers;
  for (const std::uint64_t id : std::exchange(touched_, {})) {
    const auto call = calls_.find(id);
    if (call == calls_.end() || !call->second->answer()) continue;
    const KubeCall& ended = *call->second;
    if (parts_.on_failure && !ended.answer()->is_success())
      parts_.on_failure(ended.what, *ended.subject, *ended.answer());
    answers.push_back({id, *ended.answer()});
    wait_for_claims_.erase(id);
    calls_.erase(call);
  }
  return answers;
}

std::int64_t KubeClient::next_answer_us() const {
  if (!touched_.empty()) return parts_.clock.now_us();
  return wakes_.empty() ? kNeverUs : wakes_.begin()->first;
}

void KubeClient::note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after) {
  if (is_unscheduled(after)) {
    unscheduled_.insert(after->object->uid());
  } else if (!unscheduled_.empty()) {
    unscheduled_.erase(after == nullptr ? before->object->uid() : after->object->uid());
  }
}

template <class T>
void KubeClient::note_version(ObjectTable<T>& table, const StoredPtr<T>& before, const StoredPtr<T>& after) {
  if (after == nullptr) {
    if (table.find(key_of(*before->object)) != nullptr) table.erase(key_of(*before->object));
  } else if (table.find(key_of(*after->object)) != nullptr) {
    table.replace(after);
  } else {
    table.reserve_one();
    table.insert(after);
  }
}

void KubeClient::note_contents(const StoreContents& contents) {
  for (const StoredPtr<Pod>& pod : contents.of<Pod>()) note(nullptr, pod);
  for (const auto& volume : contents.of<PersistentVolume>()) note_version(volumes_, {}, volume);
  for (const auto& claim : contents.of<VolumeClaim>()) note_version(claims_, {}, claim);
}

void KubeClient::note_events(std::span<const WatchEvent> events) {
  bool has_claims = false;
  for (const WatchEvent& event : events) {
    if (const auto* const pod = event.get<Pod>()) note(pod->before, pod->after);
    if (const auto* const volume = event.get<PersistentVolume>()) note_version(volumes_, volume->before, volume->after);
    if (const auto* const claim = event.get<VolumeClaim>()) {
      note_version(claims_, claim->before, claim->after);
      has_claims = true;
    }
  }
  if (!has_claims) return;
  for (const std::uint64_t id : wait_for_claims_) {
    calls_.at(id)->note_claims();
    if (calls_.at(id)->answer()) touched_.push_back(id);
  }
}

}  // namespace berth
