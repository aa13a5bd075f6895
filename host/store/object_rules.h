// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the API's strategies (kubernetes pkg/registry/*/strategy.go) do with an object that a client writes: which part
// counts, what may change, and what raises the generation. One overload per kind; pods have files of their own.

#include <memory>
#include <string>
#include <vector>

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

// What an update of the object stores: `wanted` with the status of `stored`.
NodePtr with_stored_status(const NodePtr& wanted, const Node& stored);
std::shared_ptr<const PodDisruptionBudget> with_stored_status(const std::shared_ptr<const PodDisruptionBudget>& wanted,
                                                              const PodDisruptionBudget& stored);
template <class T>
std::shared_ptr<const T> with_stored_status(const std::shared_ptr<const T>& wanted, const T& /*stored*/) {
  return wanted;  // the model has no status of the kind
}

// What an update of the status stores: `stored` with the status of `wanted`.
NodePtr with_status_of(const Node& stored, const Node& wanted);
std::shared_ptr<const PodDisruptionBudget> with_status_of(const PodDisruptionBudget& stored,
                                                          const PodDisruptionBudget& wanted);

// Whether the generation grows.
bool has_other_spec(const PodDisruptionBudget& before, const PodDisruptionBudget& after);
bool has_other_spec(const Workload& before, const Workload& after);
template <class T>
bool has_other_spec(const T& /*before*/, const T& /*after*/) {
  return false;  // a kind without a generation, or whose spec never changes
}

/// What an update must not change: texts of field errors.
std::vector<std::string> update_problems(const PriorityClass& before, const PriorityClass& after);
template <class T>
std::vector<std::string> update_problems(const T& /*before*/, const T& /*after*/) {
  return {};
}

}  // namespace berth
