// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_queueing.h"

#include <algorithm>
#include <array>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_claims.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {
namespace {

constexpr std::uint16_t kAddOrUpdate = EventAction::kAdd | EventAction::kUpdate;
constexpr std::uint16_t kAddOrLabel = EventAction::kAdd | EventAction::kUpdateNodeLabel;

constexpr EventRegistration always(EventResource resource, std::uint16_t actions) {
  return {{resource, actions}, false};
}

/// Of a plugin that asks nothing about events of pods and nodes.
class AlwaysQueues : public QueueingHints {
 public:
  AlwaysQueues(std::string_view plugin, std::span<const EventRegistration> registrations)
      : plugin_(plugin), registrations_(registrations) {}
  std::string_view plugin() const override { return plugin_; }
  std::span<const EventRegistration> registrations() const override { return registrations_; }

 private:
  std::string_view plugin_;
  std::span<const EventRegistration> registrations_;
};

class PreparedRestrictions : public PreparedHints {
 public:
  explicit PreparedRestrictions(const Pod& pod) : pod_(copy_of(pod)) {}
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const Pod& deleted = *change.before;
    if (deleted.namespace_ != pod_->namespace_) return QueueingHint::kSkip;
    const auto is_shared = [&](const PodVolume& volume) {
      const std::vector<PodVolume>& own = pod_->rare().volumes;
      return volume.kind == PodVolume::Kind::kClaim && std::find(own.begin(), own.end(), volume) != own.end();
    };
    const bool helps = disks_conflict(*pod_, deleted) || has_volume(deleted, is_shared);
    return helps ? QueueingHint::kQueue : QueueingHint::kSkip;
  }

 private:
  PodPtr pod_;
};

class RestrictionsHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return VolumeRestrictions::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {EventRegistration{{EventResource::kPod, EventAction::kDelete}},
                                                  always(EventResource::kNode, EventAction::kAdd),
                                                  always(EventResource::kPersistentVolumeClaim, EventAction::kAdd)};
    return kRegistrations;
  }
  void read(const Pod& pod, HintKey& key) const override {
    key.namespace_ = true;
    key.more = volumes_signature(pod, [](const PodVolume&) { return true; });
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedRestrictions>(pod);
  }
};

class PreparedLimits : public PreparedHints {
 public:
  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const Pod& deleted = *change.before;
    const bool was_on_node = is_assigned(deleted) || !deleted.rare().nominated_node_name.empty();
    return was_on_node && NodeVolumeLimits(Release::k1_35).concerns(deleted) ? QueueingHint::kQueue
                                                                             : QueueingHint::kSkip;
  }
};

class LimitsHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return NodeVolumeLimits::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {EventRegistration{{EventResource::kPod, EventAction::kDelete}},
                                                  always(EventResource::kCsiNode, kAddOrUpdate),
                                                  always(EventResource::kPersistentVolumeClaim, EventAction::kAdd),
                                                  always(EventResource::kVolumeAttachment, EventAction::kDelete)};
    return kRegistrations;
  }
  std::unique_ptr<const PreparedHints> prepare(const Pod& /*pod*/) const override {
    return std::make_unique<PreparedLimits>();
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_volume_restrictions_hints(const Profile& /*profile*/,
                                                              const FeatureGates& /*gates*/) {
  return std::make_unique<RestrictionsHints>();
}

std::unique_ptr<QueueingHints> make_node_volume_limits_hints(const Profile& /*profile*/,
                                                             const FeatureGates& /*gates*/) {
  return std::make_unique<LimitsHints>();
}

std::unique_ptr<QueueingHints> make_volume_binding_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  static constexpr std::array kRegistrations = {always(EventResource::kStorageClass, kAddOrUpdate),
                                                always(EventResource::kPersistentVolumeClaim, kAddOrUpdate),
                                                always(EventResource::kPersistentVolume, kAddOrUpdate),
                                                always(EventResource::kNode, kAddOrLabel),
                                                always(EventResource::kCsiNode, kAddOrUpdate),
                                                always(EventResource::kCsiDriver, EventAction::kUpdate),
                                                always(EventResource::kCsiStorageCapacity, kAddOrUpdate)};
  return std::make_unique<AlwaysQueues>(VolumeBinding::kName, kRegistrations);
}

std::unique_ptr<QueueingHints> make_volume_zone_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  static constexpr std::array kRegistrations = {always(EventResource::kStorageClass, EventAction::kAdd),
                                                always(EventResource::kNode, kAddOrLabel),
                                                always(EventResource::kPersistentVolumeClaim, kAddOrUpdate),
                                                always(EventResource::kPersistentVolume, kAddOrUpdate)};
  return std::make_unique<AlwaysQueues>(VolumeZone::kName, kRegistrations);
}

}  // namespace berth
