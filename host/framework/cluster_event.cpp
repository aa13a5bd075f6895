// SPDX-License-Identifier: Apache-2.0
#include "host/framework/cluster_event.h"

#include <array>
#include <utility>

namespace berth {
namespace {

constexpr std::array<std::string_view, 16> kResourceNames = {
    "Pod",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "storage.k8s.io/CSINode",
    "storage.k8s.io/CSIDriver",
    "storage.k8s.io/CSIStorageCapacity",
    "storage.k8s.io/StorageClass",
    "storage.k8s.io/VolumeAttachment",
    "resource.k8s.io/ResourceClaim",
    "resource.k8s.io/ResourceSlice",
    "resource.k8s.io/DeviceClass",
    "scheduling.k8s.io/Workload",
    "*",
    "AssignedPod",
    "UnschedulablePod",
};

constexpr std::array<std::pair<std::uint16_t, std::string_view>, 15> kActionNames = {{
    {EventAction::kAdd, "Add"},
    {EventAction::kDelete, "Delete"},
    {EventAction::kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
    {EventAction::kUpdateNodeLabel, "UpdateNodeLabel"},
    {EventAction::kUpdateNodeTaint, "UpdateNodeTaint"},
    {EventAction::kUpdateNodeCondition, "UpdateNodeCondition"},
    {EventAction::kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
    {EventAction::kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
    {EventAction::kUpdatePodLabel, "UpdatePodLabel"},
    {EventAction::kUpdatePodScaleDown, "UpdatePodScaleDown"},
    {EventAction::kUpdatePodToleration, "UpdatePodToleration"},
    {EventAction::kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
    {EventAction::kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
    {EventAction::kUpdate, "Update"},
    {EventAction::kAll, "All"},
}};

bool resources_agree(EventResource registered, EventResource raised) {
  const bool raised_is_pod = raised == EventResource::kAssignedPod || raised == EventResource::kUnschedulablePod;
  return registered == EventResource::kAny || registered == raised ||
         (registered == EventResource::kPod && raised_is_pod);
}

}  // namespace

std::string_view to_string(EventResource resource) { return kResourceNames[static_cast<std::size_t>(resource)]; }

EventResource resource_of(StorageKind kind) {
  switch (kind) {
    case StorageKind::kVolume:
      return EventResource::kPersistentVolume;
    case StorageKind::kClaim:
      return EventResource::kPersistentVolumeClaim;
    case StorageKind::kClass:
      return EventResource::kStorageClass;
    case StorageKind::kCsiNode:
      return EventResource::kCsiNode;
    case StorageKind::kCsiDriver:
      return EventResource::kCsiDriver;
    case StorageKind::kCapacity:
      return EventResource::kCsiStorageCapacity;
    case StorageKind::kAttachment:
      break;
  }
  return EventResource::kVolumeAttachment;
}

bool matches(ClusterEvent registered, ClusterEvent raised) {
  if (registered == kWildcardEvent) return true;
  return resources_agree(registered.resource, raised.resource) && (registered.actions & raised.actions) != 0 &&
         raised.actions <= registered.actions;
}

std::string to_string(ClusterEvent event) {
  std::string text(to_string(event.resource));
  for (const auto& [actions, name] : kActionNames)
    if (actions == event.actions) text += name;
  return text;
}

}  // namespace berth
