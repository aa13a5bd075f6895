// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/queueing.h"

#include <array>

#include "host/objects/pod_copy.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

constexpr std::uint16_t kAddOrUpdate = EventAction::kAdd | EventAction::kUpdate;

bool helps(const Pod& /*pod*/, const CsiNode* before, const CsiNode& after) {
  return before == nullptr || before->migrated_plugins != after.migrated_plugins;
}

bool helps(const Pod& pod, const VolumeClaim* /*before*/, const VolumeClaim& after) { return uses_claim(pod, after); }

bool helps(const Pod& /*pod*/, const StorageClass* before, const StorageClass& after) {
  return before == nullptr || before->allowed_topologies != after.allowed_topologies;
}

bool helps(const Pod& /*pod*/, const CsiStorageCapacity* before, const CsiStorageCapacity& after) {
  const Quantity* const limit = after.limit();
  if (before == nullptr || limit == nullptr) return before == nullptr;
  return before->limit() == nullptr || limit->value() > before->limit()->value();
}

/// An inline volume of the driver waited for capacity that is tracked no longer.
bool helps(const Pod& pod, const CsiDriver* before, const CsiDriver& after) {
  return before->tracks_capacity && !after.tracks_capacity && has_volume(pod, [&](const PodVolume& volume) {
           return volume.kind == PodVolume::Kind::kCsiInline && volume.name == after.name;
         });
}

class PreparedVolumeBinding : public PreparedHints {
 public:
  explicit PreparedVolumeBinding(const Pod& pod) : pod_(copy_of(pod)) {}

  QueueingHint after_storage_change(const StorageChange& change) const override {
    const bool queues = std::visit(
        [&]<class T>(const T& after) {
          if constexpr (requires { helps(*pod_, &after, after); }) {
            return helps(*pod_, change.before == nullptr ? nullptr : &std::get<T>(*change.before), after);
          } else {
            return true;  // registered without a function
          }
        },
        *change.after);
    return queue_if(queues);
  }

 private:
  PodPtr pod_;
};

class VolumeBindingHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return VolumeBinding::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kStorageClass, kAddOrUpdate}},
        EventRegistration{{EventResource::kPersistentVolumeClaim, kAddOrUpdate}},
        EventRegistration{{EventResource::kPersistentVolume, kAddOrUpdate}, false},
        EventRegistration{{EventResource::kNode, EventAction::kAdd | EventAction::kUpdateNodeLabel}, false},
        EventRegistration{{EventResource::kCsiNode, kAddOrUpdate}},
        EventRegistration{{EventResource::kCsiDriver, EventAction::kUpdate}},
        EventRegistration{{EventResource::kCsiStorageCapacity, kAddOrUpdate}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.volumes = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedVolumeBinding>(pod);
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_volume_binding_hints(const Profile& /*profile*/, const FeatureGates& /*gates*/) {
  return std::make_unique<VolumeBindingHints>();
}

}  // namespace berth
