// SPDX-License-Identifier: Apache-2.0
#include "host/kube/calls/kube_call.h"

#include <algorithm>
#include <random>
#include <utility>

#include "host/kube/calls/api_requests.h"

namespace berth {
namespace {

constexpr std::int64_t kFirstBackoffUs = 100'000;
constexpr std::int64_t kLongestBackoffUs = 5'000'000;

bool is_put_off(const HttpResponse& response) {
  return response.retry_after_s && (response.status == 429 || response.status >= 500);
}

/// One request.
class PlainCall : public KubeCall {
 public:
  PlainCall(KubeClient& owner, std::uint64_t id, HttpRequest request)
      : KubeCall(owner, id), request_(std::move(request)) {}
  void begin() override { send(std::move(request_)); }
  void take(const HttpResponse& response) override { finish(status_of_answer(response)); }

 private:
  HttpRequest request_;
};

}  // namespace

KubeCall::KubeCall(KubeClient& owner, std::uint64_t id)
    : owner_(owner),
      id_(id),
      deadline_us_(owner.parts_.clock.now_us() + owner.options_.call_deadline_us),
      backoff_us_(kFirstBackoffUs) {}

void KubeCall::send(HttpRequest request) {
  last_ = request;
  backoff_us_ = kFirstBackoffUs;
  owner_.send(id_, ++request_, std::move(request));
}

bool KubeCall::send_again(std::int64_t at_least_us) {
  const double jitter = std::uniform_real_distribution<double>(1.0, 1.25)(owner_.random_);
  const auto backoff_us = static_cast<std::int64_t>(static_cast<double>(backoff_us_) * jitter);
  const std::int64_t at_us = clock().now_us() + std::max(at_least_us, backoff_us);
  if (at_us > deadline_us_) return false;
  backoff_us_ = std::min(2 * backoff_us_, kLongestBackoffUs);
  owner_.wakes_.emplace(at_us, id_);
  return true;
}

void KubeCall::take_response(std::uint64_t request, HttpResponse response) {
  if (request != request_) return;
  if (is_put_off(response) && send_again(*response.retry_after_s * 1'000'000)) return;
  take(response);
}

void KubeCall::wait_for_claims(std::int64_t timeout_us) {
  waits_for_claims_ = true;
  owner_.wait_for_claims_.insert(id_);
  owner_.wakes_.emplace(clock().now_us() + timeout_us, id_);
}

void KubeCall::go_on() {
  if (waits_for_claims_) return wait_is_over();
  ++owner_.counts_.repeated;
  owner_.send(id_, ++request_, last_);
}

void KubeCall::note_json_only() {
  if (owner_.options_.bind_format == BodyFormat::kJson) return;
  owner_.options_.bind_format = BodyFormat::kJson;
  if (owner_.parts_.on_json_only) owner_.parts_.on_json_only();
}

StoredPtr<PersistentVolume> KubeCall::volume(const std::string& name) const {
  const StoredPtr<PersistentVolume>* const found = owner_.volumes_.find({{}, name});
  return found == nullptr ? nullptr : *found;
}

StoredPtr<VolumeClaim> KubeCall::claim(const std::string& full_name) const {
  const std::size_t slash = full_name.find('/');
  const std::string_view name(full_name);
  const StoredPtr<VolumeClaim>* const found = owner_.claims_.find({name.substr(0, slash), name.substr(slash + 1)});
  return found == nullptr ? nullptr : *found;
}

std::unique_ptr<KubeCall> make_plain_call(KubeClient& owner, std::uint64_t id, HttpRequest request) {
  return std::make_unique<PlainCall>(owner, id, std::move(request));
}

}  // namespace berth
