// SPDX-License-Identifier: Apache-2.0
#pragma once

// One call of a KubeClient from its start to its answer, request by request.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/kube/calls/kube_client.h"

namespace berth {

class KubeCall {
 public:
  KubeCall(KubeClient& owner, std::uint64_t id);
  virtual ~KubeCall() = default;

  virtual void begin() = 0;
  /// The answer to the last request, which the server has not put off.
  virtual void take(const HttpResponse& response) = 0;
  /// A claim has changed.
  virtual void note_claims() {}

  /// An answer has come. One that the server puts off (Retry-After) is asked for again.
  void take_response(std::uint64_t request, HttpResponse response);
  /// The time of wait() has come.
  void go_on();
  const std::optional<StoreStatus>& answer() const { return answer_; }
  std::uint64_t id() const { return id_; }
  /// For messages.
  std::string_view what = {};  ///< "patch status"
  PodPtr subject = {};

 protected:
  void send(HttpRequest request);
  void finish(StoreStatus status) { answer_ = std::move(status); }
  /// The last request is sent again later. @return false: there is no time left
  bool send_again(std::int64_t at_least_us = 0);
  /// note_claims() is called when claims change, and wait_is_over() when the time is over.
  void wait_for_claims(std::int64_t timeout_us);
  virtual void wait_is_over() {}

  const Clock& clock() const { return owner_.parts_.clock; }
  const KubeClientOptions& options() const { return owner_.options_; }
  KubeClient::Counts& counts() { return owner_.counts_; }
  /// From now on bindings are JSON.
  void note_json_only();
  StoredPtr<PersistentVolume> volume(const std::string& name) const;
  StoredPtr<VolumeClaim> claim(const std::string& full_name) const;

 private:
  KubeClient& owner_;
  std::uint64_t id_;
  std::int64_t deadline_us_;
  HttpRequest last_;
  std::uint64_t request_ = 0;
  std::int64_t backoff_us_;
  bool waits_for_claims_ = false;
  std::optional<StoreStatus> answer_;
};

std::unique_ptr<KubeCall> make_bind_call(KubeClient& owner, std::uint64_t id, PodPtr pod, PodBinding binding);
/// A patch or a deletion: one request, which the server may put off.
std::unique_ptr<KubeCall> make_plain_call(KubeClient& owner, std::uint64_t id, HttpRequest request);
std::unique_ptr<KubeCall> make_volume_call(KubeClient& owner, std::uint64_t id, VolumeDecisionsPtr decisions);

}  // namespace berth
