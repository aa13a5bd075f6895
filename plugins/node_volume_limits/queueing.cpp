// SPDX-License-Identifier: Apache-2.0
#include "plugins/node_volume_limits/queueing.h"

#include <algorithm>
#include <array>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"
#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

/// 0 where the node does not name the driver, or gives no limit.
std::int32_t named_limit(const CsiNode& node, const std::string& driver) {
  std::int32_t limit = 0;
  for (const CsiNode::Driver& other : node.drivers)
    if (other.name == driver) limit = other.limit.value_or(0);
  return limit;
}

bool may_have_helped(const PodVolume& volume, const VolumeAttachment& gone) {
  if (volume.kind == PodVolume::Kind::kClaim) return true;
  if (volume.disk == nullptr || volume.disk->migrated == nullptr) return false;
  const MigratedVolume& migrated = *volume.disk->migrated;
  return !migrated.problem.empty() || migrated.driver == gone.attacher;  // what cannot be translated queues
}

class PreparedLimits : public PreparedHints {
 public:
  explicit PreparedLimits(const Pod& pod) : pod_(copy_of(pod)) {}

  QueueingHint after_pod_change(const PodObjectChange& change) const override {
    const Pod& deleted = *change.before;
    const bool was_on_node = is_assigned(deleted) || !deleted.rare().nominated_node_name.empty();
    return queue_if(was_on_node && counts_volumes_of(deleted));
  }
  QueueingHint after_storage_change(const StorageChange& change) const override {
    if (change.after == nullptr) return after_detachment(std::get<VolumeAttachment>(*change.before));
    if (const auto* claim = std::get_if<VolumeClaim>(change.after)) return queue_if(uses_claim(*pod_, *claim));
    const CsiNode& before = std::get<CsiNode>(*change.before);
    const CsiNode& after = std::get<CsiNode>(*change.after);
    return queue_if(std::any_of(after.drivers.begin(), after.drivers.end(), [&](const CsiNode::Driver& driver) {
      return driver.limit.value_or(0) > named_limit(before, driver.name);
    }));
  }

 private:
  QueueingHint after_detachment(const VolumeAttachment& gone) const {
    return queue_if(has_volume(*pod_, [&](const PodVolume& volume) { return may_have_helped(volume, gone); }));
  }

  PodPtr pod_;
};

class NodeVolumeLimitsHints : public QueueingHints {
 public:
  std::string_view plugin() const override { return NodeVolumeLimits::kName; }
  std::span<const EventRegistration> registrations() const override {
    static constexpr std::array kRegistrations = {
        EventRegistration{{EventResource::kCsiNode, EventAction::kAdd}, false},
        EventRegistration{{EventResource::kCsiNode, EventAction::kUpdate}},
        EventRegistration{{EventResource::kPod, EventAction::kDelete}},
        EventRegistration{{EventResource::kPersistentVolumeClaim, EventAction::kAdd}},
        EventRegistration{{EventResource::kVolumeAttachment, EventAction::kDelete}}};
    return kRegistrations;
  }
  void read(const Pod& /*pod*/, HintKey& key) const override { key.volumes = true; }
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod) const override {
    return std::make_unique<PreparedLimits>(pod);
  }
};

}  // namespace

std::unique_ptr<QueueingHints> make_node_volume_limits_hints(const Profile& /*profile*/,
                                                             const FeatureGates& /*gates*/) {
  return std::make_unique<NodeVolumeLimitsHints>();
}

}  // namespace berth
