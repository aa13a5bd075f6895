// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kinds of objects that the store holds, and how the API names them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "host/objects/cluster_objects.h"

namespace berth {

enum class ObjectKind : std::uint8_t {
  kPod,
  kNode,
  kNamespace,
  kService,
  kWorkload,
  kPodDisruptionBudget,
  kPriorityClass,
  kPersistentVolume,
  kPersistentVolumeClaim,
  kStorageClass,
  kCsiNode,
  kCsiDriver,
  kCsiStorageCapacity,
  kVolumeAttachment,
};
inline constexpr std::size_t kObjectKindCount = 14;

/// DO(Pod) DO(Node) ..., for explicit instantiations.
// clang-format off: it would change its own result again
#define BERTH_EACH_STORED_KIND(DO) \
  DO(Pod)                          \
  DO(Node)                         \
  DO(Namespace)                    \
  DO(Service)                      \
  DO(Workload)                     \
  DO(PodDisruptionBudget)          \
  DO(PriorityClass)                \
  DO(PersistentVolume)             \
  DO(VolumeClaim)                  \
  DO(StorageClass)                 \
  DO(CsiNode)                      \
  DO(CsiDriver)                    \
  DO(CsiStorageCapacity)           \
  DO(VolumeAttachment)
// clang-format on

/// List<Of<Pod>, Of<Node>, ...> in the order of ObjectKind.
template <template <class...> class List, template <class> class Of>
using EachKind = List<Of<Pod>, Of<Node>, Of<Namespace>, Of<Service>, Of<Workload>, Of<PodDisruptionBudget>,
                      Of<PriorityClass>, Of<PersistentVolume>, Of<VolumeClaim>, Of<StorageClass>, Of<CsiNode>,
                      Of<CsiDriver>, Of<CsiStorageCapacity>, Of<VolumeAttachment>>;

template <class T>
inline constexpr ObjectKind kKindOf = T::unknown_to_the_store;
template <>
inline constexpr ObjectKind kKindOf<Pod> = ObjectKind::kPod;
template <>
inline constexpr ObjectKind kKindOf<Node> = ObjectKind::kNode;
template <>
inline constexpr ObjectKind kKindOf<Namespace> = ObjectKind::kNamespace;
template <>
inline constexpr ObjectKind kKindOf<Service> = ObjectKind::kService;
template <>
inline constexpr ObjectKind kKindOf<Workload> = ObjectKind::kWorkload;
template <>
inline constexpr ObjectKind kKindOf<PodDisruptionBudget> = ObjectKind::kPodDisruptionBudget;
template <>
inline constexpr ObjectKind kKindOf<PriorityClass> = ObjectKind::kPriorityClass;
template <>
inline constexpr ObjectKind kKindOf<PersistentVolume> = ObjectKind::kPersistentVolume;
template <>
inline constexpr ObjectKind kKindOf<VolumeClaim> = ObjectKind::kPersistentVolumeClaim;
template <>
inline constexpr ObjectKind kKindOf<StorageClass> = ObjectKind::kStorageClass;
template <>
inline constexpr ObjectKind kKindOf<CsiNode> = ObjectKind::kCsiNode;
template <>
inline constexpr ObjectKind kKindOf<CsiDriver> = ObjectKind::kCsiDriver;
template <>
inline constexpr ObjectKind kKindOf<CsiStorageCapacity> = ObjectKind::kCsiStorageCapacity;
template <>
inline constexpr ObjectKind kKindOf<VolumeAttachment> = ObjectKind::kVolumeAttachment;

constexpr bool is_namespaced(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kPod:
    case ObjectKind::kService:
    case ObjectKind::kWorkload:
    case ObjectKind::kPodDisruptionBudget:
    case ObjectKind::kPersistentVolumeClaim:
    case ObjectKind::kCsiStorageCapacity:
      return true;
    default:
      return false;
  }
}
/// Strategies of the other kinds never set metadata.generation, but for CSIDrivers, of which nobody reads it.
constexpr bool has_generation(ObjectKind kind) {
  return kind == ObjectKind::kPod || kind == ObjectKind::kWorkload || kind == ObjectKind::kPodDisruptionBudget ||
         kind == ObjectKind::kPriorityClass;
}
/// Storage objects, as an engine knows them: cluster_storage.h.
constexpr bool is_storage(ObjectKind kind) { return kind >= ObjectKind::kPersistentVolume; }

/// Finds an object of one kind. Views: the text has to outlive the call that takes the key.
struct ObjectKey {
  std::string_view namespace_;          ///< empty for kinds without
  std::string_view name;                ///< never empty
  std::string_view workload_kind = {};  ///< Workload::kind; empty for other kinds
  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
};

inline ObjectKey key_of(const Pod& pod) { return {pod.namespace_, pod.name}; }
inline ObjectKey key_of(const Node& node) { return {{}, node.name}; }
inline ObjectKey key_of(const Namespace& object) { return {{}, object.name}; }
inline ObjectKey key_of(const Service& service) { return {service.namespace_, service.name}; }
inline ObjectKey key_of(const Workload& workload) { return {workload.namespace_, workload.name, workload.kind}; }
inline ObjectKey key_of(const PodDisruptionBudget& budget) { return {budget.namespace_, budget.name}; }
inline ObjectKey key_of(const PriorityClass& priority_class) { return {{}, priority_class.name}; }
inline ObjectKey key_of(const PersistentVolume& volume) { return {{}, volume.name}; }
inline ObjectKey key_of(const VolumeClaim& claim) { return {claim.namespace_, claim.name}; }
inline ObjectKey key_of(const StorageClass& storage_class) { return {{}, storage_class.name}; }
inline ObjectKey key_of(const CsiNode& node) { return {{}, node.name}; }
inline ObjectKey key_of(const CsiDriver& driver) { return {{}, driver.name}; }
inline ObjectKey key_of(const CsiStorageCapacity& capacity) { return {capacity.namespace_, capacity.name}; }
inline ObjectKey key_of(const VolumeAttachment& attachment) { return {{}, attachment.name}; }

/// As messages name a kind.
struct KindNames {
  std::string_view resource;  ///< with its group: "replicasets.apps"
  std::string_view kind;      ///< with its group: "ReplicaSet.apps"
  std::string_view storage;   ///< the part of the storage key: "minions" for nodes
};
/// @param workload_kind  Workload::kind; read for kWorkload only
KindNames names_of(ObjectKind kind, std::string_view workload_kind = {});
template <class T>
KindNames names_of(const ObjectKey& key) {
  return names_of(kKindOf<T>, key.workload_kind);
}

/// A set of kinds.
class KindSet {
 public:
  static constexpr KindSet all() { return KindSet((1u << kObjectKindCount) - 1); }
  constexpr KindSet() = default;
  constexpr KindSet with(ObjectKind kind) const { return KindSet(bits_ | 1u << static_cast<unsigned>(kind)); }
  constexpr bool contains(ObjectKind kind) const { return (bits_ >> static_cast<unsigned>(kind) & 1u) != 0; }

 private:
  explicit constexpr KindSet(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

}  // namespace berth
