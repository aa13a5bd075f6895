// SPDX-License-Identifier: Apache-2.0
#pragma once

// The subresources pods/status and pods/binding: kubernetes pkg/registry/core/pod/strategy.go and storage/storage.go.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/store/store_status.h"
#include "host/store/stored_object.h"

namespace berth {

/// What a client changes of a pod's status; what is absent stays.
struct PodStatusPatch {
  std::optional<PodPhase> phase = {};
  std::optional<std::int64_t> start_time_us = {};       ///< stored in whole seconds
  std::optional<std::string> nominated_node_name = {};  ///< empty: none
  std::vector<PodCondition> conditions = {};            ///< each replaces the one of its type, or is new
  std::string uid = {};                                 ///< precondition; empty: any
  std::optional<std::uint64_t> resource_version = {};   ///< precondition
};

/// A pod's placement, as the Bind plugin reports it.
struct PodBinding {
  std::string namespace_;
  std::string name;
  std::string node_name;  ///< no Node object of the name is needed; the API server does not look
  std::string uid = {};   ///< precondition; empty: any
  std::optional<std::uint64_t> resource_version = {};  ///< precondition
};

/// Sets a condition as podutil.UpdatePodCondition() does: the transition time stays while the status does.
void set_condition(PodConditions& conditions, PodCondition condition, std::int64_t now_us);

/// A pod as PodStrategy.PrepareForCreate() leaves it: phase Pending, the rest of status empty, and with scheduling
/// gates the condition that says so. `stored.object` is what the client sent.
void reset_status(StoredPod& stored, std::int64_t now_us);
/// A pod that is loaded with its status. Conditions that the model shows as fields are listed, and a pod that
/// terminates has its whole grace period before it.
void keep_status(StoredPod& stored, std::int64_t now_us);

/// What a patch must not change, as texts of field errors.
/// @param clears_nomination  gate ClearingNominatedNodeNameAfterBinding, which also keeps bound pods from getting a
/// name
std::vector<std::string> status_problems(const Pod& pod, const PodStatusPatch& patch, bool clears_nomination);
void apply(const PodStatusPatch& patch, std::int64_t now_us, StoredPod& stored);

/// Why a pod cannot be bound; empty when it can.
std::string binding_problem(const StoredPod& stored);
void apply(const PodBinding& binding, bool clears_nomination, std::int64_t now_us, StoredPod& stored);

}  // namespace berth
