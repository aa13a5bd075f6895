// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_zone/queueing.h"

#include <array>

#include "host/objects/pod_copy.h"
#include "plugins/volume_claims.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {
namespace {

class PreparedVolumeZone : public PreparedHints {
 public:
  explicit PreparedVolumeZone(const Pod& pod) : pod_(copy_of(pod)) {}

  QueueingHint after_storage_change(const StorageChange& change) const override { return queue_if(may_help(change)); }

 private:
  bool may_help(const StorageChange& change) const {
    if (const auto* claim = std::get_if<VolumeClaim>(change.after))
      return claim->namespace_ == pod_->namespace_ && names_claim(*pod_, claim->name);
    if (const auto* added = std::get_if<StorageClass>(change.after))
      return added->binding_mode == StorageClass::BindingMode::kWaitForFirstConsumer;
    return change.before == nullptr ||
           demands_other_zones(std::get<PersistentVolume>(*change.before), std::get<PersistentVolume>(*change.after));
  }

  PodPtr pod_;
};

class VolumeZoneHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return VolumeZone::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kStorageClass, EventAction::kAdd}},
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeLabel}, false},
        EventRegistration{{EventResource::kPersistentVolumeClaim, EventAction::kAdd | EventAction::kUpdate}},
        EventRegistration{{EventResource::kPersistentVolume, EventAction::kAdd | EventAction::kUpdate}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.volumes = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedVolumeZone>(pod);
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_volume_zone_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  return std::make_unique<VolumeZoneHints>();
}

}  // namespace berth
