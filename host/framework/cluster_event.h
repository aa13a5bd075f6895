// SPDX-License-Identifier: Apache-2.0
#pragma once

// What may make a rejected pod worth another try: docs/behaviour/scheduler-core.md 1.7.

#include <cstdint>
#include <string>
#include <string_view>

#include "host/cluster/cluster_storage.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth {

enum class EventResource : std::uint8_t {
  kPod,
  kNode,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
  kStorageClass,
  kVolumeAttachment,
  kResourceClaim,
  kResourceSlice,
  kDeviceClass,
  kWorkload,
  kAny,               ///< "*"
  kAssignedPod,       ///< only in raised events
  kUnschedulablePod,  ///< only in raised events
};
std::string_view to_string(EventResource resource);
EventResource resource_of(StorageKind kind);

/// Bits of ClusterEvent::actions. Their values matter: an event is matched by numbers, too.
struct EventAction {
  static constexpr std::uint16_t kAdd = 1;
  static constexpr std::uint16_t kDelete = 2;
  static constexpr std::uint16_t kUpdateNodeAllocatable = 4;
  static constexpr std::uint16_t kUpdateNodeLabel = 8;
  static constexpr std::uint16_t kUpdateNodeTaint = 16;
  static constexpr std::uint16_t kUpdateNodeCondition = 32;
  static constexpr std::uint16_t kUpdateNodeAnnotation = 64;
  static constexpr std::uint16_t kUpdateNodeDeclaredFeature = 128;
  static constexpr std::uint16_t kUpdatePodLabel = 256;
  static constexpr std::uint16_t kUpdatePodScaleDown = 512;
  static constexpr std::uint16_t kUpdatePodToleration = 1024;
  static constexpr std::uint16_t kUpdatePodSchedulingGatesEliminated = 2048;
  static constexpr std::uint16_t kUpdatePodGeneratedResourceClaim = 4096;
  static constexpr std::uint16_t kUpdate = 8188;  ///< all update bits; raised for a pod when no bit applies
  static constexpr std::uint16_t kAll = 8191;
};

struct ClusterEvent {
  EventResource resource = EventResource::kAny;
  std::uint16_t actions = EventAction::kAll;
  friend bool operator==(ClusterEvent, ClusterEvent) = default;
};

/// Meets every pod, or the one that it carries. Only a registration of the same kind matches it.
inline constexpr ClusterEvent kWildcardEvent{EventResource::kAny, EventAction::kAll};

/// Is `raised` the same as `registered`, or more special?
bool matches(ClusterEvent registered, ClusterEvent raised);

/// "NodeAdd", "AssignedPodUpdatePodLabel": as metrics and logs name it. Empty action text for a union that has no name.
std::string to_string(ClusterEvent event);

/// Old and new object of an event, of one kind; null where there is none.
struct EventObjects {
  PodPtr old_pod = nullptr;
  PodPtr new_pod = nullptr;
  NodePtr old_node = nullptr;
  NodePtr new_node = nullptr;
  StorageObjectPtr old_storage = nullptr;
  StorageObjectPtr new_storage = nullptr;
};

}  // namespace berth
