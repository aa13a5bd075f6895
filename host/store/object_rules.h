// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the API's strategies (kubernetes pkg/registry/*/strategy.go) do with an object that a client writes: which part
// counts, what may change, and what raises the generation. One overload per kind; pods have files of their own.

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "host/objects/pod_copy.h"
#include "host/store/stored_object.h"

namespace berth {

// Whether a write would change nothing. etcd3 does not write such an object, so its resourceVersion stays and nobody
// sees an event (apiserver's pkg/storage/etcd3/store.go).
bool is_same_object(const Node& a, const Node& b);
bool is_same_object(const Namespace& a, const Namespace& b);
bool is_same_object(const Service& a, const Service& b);
bool is_same_object(const Workload& a, const Workload& b);
bool is_same_object(const PodDisruptionBudget& a, const PodDisruptionBudget& b);
bool is_same_object(const PriorityClass& a, const PriorityClass& b);
bool is_same_object(const Pod& a, const Pod& b);
/// Storage objects.
template <class T>
  requires(is_storage(kKindOf<T>))
bool is_same_object(const T& a, const T& b) {
  return a == b;
}

template <class T>
std::shared_ptr<T> copy_object(const T& object) {
  if constexpr (std::is_same_v<T, Pod>) {
    return copy_of(object);
  } else {
    return std::make_shared<T>(object);
  }
}

// The status of an object that is created, of which the API server takes none. Volumes have that of the PV controller's
// first look: Available without a claim.
std::shared_ptr<const PodDisruptionBudget> with_first_status(const std::shared_ptr<const PodDisruptionBudget>& wanted);
std::shared_ptr<const PersistentVolume> with_first_status(const std::shared_ptr<const PersistentVolume>& wanted);
std::shared_ptr<const VolumeClaim> with_first_status(const std::shared_ptr<const VolumeClaim>& wanted);
template <class T>
std::shared_ptr<const T> with_first_status(const std::shared_ptr<const T>& wanted) {
  return wanted;
}

// What an update of the object stores: `wanted` with the status of `stored`.
NodePtr with_stored_status(const NodePtr& wanted, const Node& stored);
std::shared_ptr<const PodDisruptionBudget> with_stored_status(const std::shared_ptr<const PodDisruptionBudget>& wanted,
                                                              const PodDisruptionBudget& stored);
/// A volume that loses its claim is available again, as the PV controller finds.
std::shared_ptr<const PersistentVolume> with_stored_status(const std::shared_ptr<const PersistentVolume>& wanted,
                                                           const PersistentVolume& stored);
std::shared_ptr<const VolumeClaim> with_stored_status(const std::shared_ptr<const VolumeClaim>& wanted,
                                                      const VolumeClaim& stored);
template <class T>
std::shared_ptr<const T> with_stored_status(const std::shared_ptr<const T>& wanted, const T& /*stored*/) {
  return wanted;  // the model has no status of the kind
}

// What an update of the status stores: `stored` with the status of `wanted`.
NodePtr with_status_of(const Node& stored, const Node& wanted);
std::shared_ptr<const PodDisruptionBudget> with_status_of(const PodDisruptionBudget& stored,
                                                          const PodDisruptionBudget& wanted);
std::shared_ptr<const PersistentVolume> with_status_of(const PersistentVolume& stored, const PersistentVolume& wanted);
std::shared_ptr<const VolumeClaim> with_status_of(const VolumeClaim& stored, const VolumeClaim& wanted);

// Whether the generation grows.
bool has_other_spec(const PodDisruptionBudget& before, const PodDisruptionBudget& after);
bool has_other_spec(const Workload& before, const Workload& after);
template <class T>
bool has_other_spec(const T& /*before*/, const T& /*after*/) {
  return false;  // a kind without a generation, or whose spec never changes
}

/// What an update must not change: texts of field errors.
std::vector<std::string> update_problems(const PriorityClass& before, const PriorityClass& after);
std::vector<std::string> update_problems(const PersistentVolume& before, const PersistentVolume& after);
std::vector<std::string> update_problems(const VolumeClaim& before, const VolumeClaim& after);
std::vector<std::string> update_problems(const StorageClass& before, const StorageClass& after);
std::vector<std::string> update_problems(const CsiStorageCapacity& before, const CsiStorageCapacity& after);
std::vector<std::string> update_problems(const VolumeAttachment& before, const VolumeAttachment& after);
template <class T>
std::vector<std::string> update_problems(const T& /*before*/, const T& /*after*/) {
  return {};
}

}  // namespace berth
