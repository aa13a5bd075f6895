// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_restrictions/queueing.h"

#include <array>

#include "host/objects/pod_copy.h"
#include "plugins/volume_claims.h"
#include "plugins/volume_restrictions/volume_restrictions.h"

namespace berth {
namespace {

class PreparedRestrictions : public PreparedHints {
 public:
  explicit PreparedRestrictions(const Pod& pod) : pod_(copy_of(pod)) {}

  /// Whether the claim can be read by one pod alone is not looked up.
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const Pod& deleted = *change.before;
    if (deleted.namespace_ != pod_->namespace_) return QueueingHint::kSkip;
    const bool helps = disks_conflict(*pod_, deleted) || has_volume(deleted, [&](const PodVolume& volume) {
                         return volume.kind == PodVolume::Kind::kClaim && names_claim(*pod_, volume.name);
                       });
    return queue_if(helps);
  }
  QueueingHint after_storage_change(const StorageChange& change) const override {
    const VolumeClaim& claim = std::get<VolumeClaim>(*change.after);
    const bool helps = claim.namespace_ == pod_->namespace_ && names_claim(*pod_, claim.name);
    return queue_if(helps);
  }

 private:
  PodPtr pod_;
};

class VolumeRestrictionsHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return VolumeRestrictions::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kPod, EventAction::kDelete}},
        EventRegistration{{EventResource::kNode, EventAction::kAdd}, false},
        EventRegistration{{EventResource::kPersistentVolumeClaim, EventAction::kAdd}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.volumes = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedRestrictions>(pod);
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_volume_restrictions_hints(const Profile& /*profile*/,
                                                              const FeatureGates& /*gates*/) {
  return std::make_unique<VolumeRestrictionsHints>();
}

}  // namespace berth
