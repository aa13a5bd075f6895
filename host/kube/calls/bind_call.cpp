// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "host/kube/calls/api_requests.h"
#include "host/kube/calls/kube_call.h"
#include "host/kube/calls/pod_binding_state.h"

namespace berth {
namespace {

class BindCall : public KubeCall {
 public:
  BindCall(KubeClient& owner, std::uint64_t id, PodPtr pod, PodBinding binding)
      : KubeCall(owner, id), pod_(std::move(pod)), binding_(std::move(binding)) {}

  void begin() override { send_binding(options().bind_format); }

  void take(const HttpResponse& response) override {
    if (is_reading_) return take_pod(response);
    if (response.is_success()) return finish({});
    if (response.was_not_sent && send_again()) return;
    if (response.status == kUnsupportedMediaType && format_ != BodyFormat::kJson) {
      note_json_only();
      return send_binding(BodyFormat::kJson);
    }
    failure_ = status_of_answer(response);
    const bool is_known = response.status != 0 && response.status != 409 && response.status < 500;
    if (is_known || response.was_not_sent) return finish(std::move(failure_));
    is_reading_ = true;
    ++counts().read_back;
    send(pod_request(*pod_));
  }

 private:
  static constexpr int kForbidden = 403;
  static constexpr int kRefusalsMax = 8;  ///< of reading the pod, in some thirteen seconds
  static constexpr int kUnsupportedMediaType = 415;

  void send_binding(BodyFormat format) {
    format_ = format;
    send(binding_request(binding_, format));
  }
  void take_pod(const HttpResponse& response) {
    if (response.status == 404) return finish(status_of_answer(response));
    if (!response.is_success()) {
      // An API server that has just started refuses everything until it has read its roles.
      const bool is_refused = response.status == kForbidden && ++refusals_ >= kRefusalsMax;
      if (!is_refused && send_again()) return;
      failure_.message += "; whether the pod is bound cannot be read: " + status_of_answer(response).message;
      return finish(std::move(failure_));
    }
    const std::optional<PodBindingState> now = read_binding_state(response.body);
    if (!now) return finish(std::move(failure_));
    if (!binding_.uid.empty() && now->uid != binding_.uid)
      return finish({StoreReason::kNotFound, "pods \"" + pod_->name + "\" not found: another pod has the name now"});
    if (now->node_name == binding_.node_name) {
      ++counts().found_bound;
      return finish({});
    }
    if (!now->node_name.empty())
      return finish({StoreReason::kConflict,
                     "pod " + pod_->full_name() + " is already assigned to node \"" + now->node_name + "\""});
    finish(std::move(failure_));
  }

  PodPtr pod_;
  PodBinding binding_;
  BodyFormat format_ = BodyFormat::kJson;  ///< of the last binding that was sent
  StoreStatus failure_;                    ///< of the binding
  bool is_reading_ = false;
  int refusals_ = 0;
};

}  // namespace

std::unique_ptr<KubeCall> make_bind_call(KubeClient& owner, std::uint64_t id, PodPtr pod, PodBinding binding) {
  return std::make_unique<BindCall>(owner, id, std::move(pod), std::move(binding));
}

}  // namespace berth
