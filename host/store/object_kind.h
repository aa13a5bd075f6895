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
};
inline constexpr std::size_t kObjectKindCount = 7;

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

constexpr bool is_namespaced(ObjectKind kind) {
  return kind != ObjectKind::kNode && kind != ObjectKind::kNamespace && kind != ObjectKind::kPriorityClass;
}
/// Nodes, namespaces and services have no metadata.generation: their strategies never set one.
constexpr bool has_generation(ObjectKind kind) {
  return kind != ObjectKind::kNode && kind != ObjectKind::kNamespace && kind != ObjectKind::kService;
}

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
