// SPDX-License-Identifier: Apache-2.0
// PreBind of VolumeBinding: the API writes, and the wait until controllers have bound the claims.
// docs/behaviour/plugins-storage-devices.md 1.

#include <algorithm>
#include <utility>
#include <vector>

#include "host/kube/calls/api_requests.h"
#include "host/kube/calls/kube_call.h"

namespace berth {
namespace {

class VolumeCall : public KubeCall {
 public:
  VolumeCall(KubeClient& owner, std::uint64_t id, VolumeDecisionsPtr decisions)
      : KubeCall(owner, id), decisions_(std::move(decisions)) {
    for (const VolumeDecisions::Match& match : decisions_->matches) claims_.push_back(match.claim);
    for (const VolumeDecisions::Provision& provision : decisions_->provisions) claims_.push_back(provision.claim);
  }

  void begin() override { send_next(); }

  void take(const HttpResponse& response) override {
    if (!response.is_success()) {
      if (response.was_not_sent && send_again()) return;
      return finish(status_of_answer(response));
    }
    ++sent_;
    send_next();
  }

  void note_claims() override {
    std::size_t bound = 0;
    for (const std::string& name : claims_) {
      const StoredPtr<VolumeClaim> now = claim(name);
      if (now == nullptr) return fail_without(name);
      if (now->object->is_bound()) {
        ++bound;
      } else if (is_given_up(name, *now->object)) {
        return finish({StoreReason::kInternalError, "provisioning failed for PVC \"" + name_of(name) + "\""});
      }
    }
    if (bound == claims_.size()) finish({});
  }

  void wait_is_over() override {
    finish({StoreReason::kTimeout, "timed out waiting for the condition"});  // wait.PollUntilContextTimeout() upstream
  }

 private:
  void fail_without(const std::string& claim_name) {
    finish({StoreReason::kNotFound, "PVC \"" + name_of(claim_name) + "\" was deleted while its volume was bound"});
  }
  static std::string name_of(const std::string& full_name) { return full_name.substr(full_name.find('/') + 1); }

  /// A provisioner that cannot serve the node takes the annotation away.
  bool is_given_up(const std::string& name, const VolumeClaim& now) {
    const bool is_asked_for =
        std::any_of(decisions_->provisions.begin(), decisions_->provisions.end(),
                    [&](const VolumeDecisions::Provision& provision) { return provision.claim == name; });
    if (!is_asked_for) return false;
    if (now.selected_node == decisions_->node_name) {
      if (std::find(seen_.begin(), seen_.end(), name) == seen_.end()) seen_.push_back(name);
      return false;
    }
    return std::find(seen_.begin(), seen_.end(), name) != seen_.end();
  }

  void send_next() {
    const std::size_t matches = decisions_->matches.size();
    if (sent_ < matches) return send_match(decisions_->matches[sent_]);
    if (sent_ < matches + decisions_->provisions.size()) return send_provision(decisions_->provisions[sent_ - matches]);
    wait_for_claims(options().bind_timeout_us);
    note_claims();
  }

  void send_match(const VolumeDecisions::Match& match) {
    const StoredPtr<VolumeClaim> wanted = claim(match.claim);
    const StoredPtr<PersistentVolume> found = volume(match.volume);
    if (wanted == nullptr) return fail_without(match.claim);
    if (found == nullptr) return finish(not_found(names_of(ObjectKind::kPersistentVolume), match.volume));
    send(volume_patch_request(*found->object, found->meta.resource_version, *wanted->object,
                              wanted->meta.resource_version));
  }

  void send_provision(const VolumeDecisions::Provision& provision) {
    const StoredPtr<VolumeClaim> wanted = claim(provision.claim);
    if (wanted == nullptr) return fail_without(provision.claim);
    send(claim_patch_request(*wanted->object, wanted->meta.resource_version, decisions_->node_name));
  }

  VolumeDecisionsPtr decisions_;
  std::vector<std::string> claims_;  ///< "namespace/name"
  std::vector<std::string> seen_;    ///< claims that a watch has shown with the node
  std::size_t sent_ = 0;             ///< writes that were answered
};

}  // namespace

std::unique_ptr<KubeCall> make_volume_call(KubeClient& owner, std::uint64_t id, VolumeDecisionsPtr decisions) {
  return std::make_unique<VolumeCall>(owner, id, std::move(decisions));
}

}  // namespace berth
