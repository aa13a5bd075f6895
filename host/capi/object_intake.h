// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kubernetes objects of one call: decoded, admitted, and turned into changes of a cluster.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "host/capi/node_table.h"
#include "host/cluster/cluster_change.h"
#include "host/objects/cluster_objects.h"
#include "host/objects/decode.h"
#include "host/objects/errors.h"
#include "host/objects/object_pools.h"
#include "include/berth/berth.h"

namespace berth::capi {

/// What calls read beside the engine: no rule of placement does. Immutable, shared by snapshots.
struct SideObjects {
  std::vector<PodDisruptionBudget> budgets;
  std::vector<PriorityClass> priority_classes;
  std::vector<RuntimeClass> runtime_classes;
  /// spec.replicas of ReplicaSets and ReplicationControllers, by kind, namespace and name: rules of draining ask.
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> replicas;
};

/// The objects of one call, in input order within a kind.
struct TakenObjects {
  DecodedObjects decoded;              ///< admitted; without objects that have a problem
  std::vector<berth_status> statuses;  ///< one for each object
  /// By number of the object, the first of each; of text between objects by the number of the next one. The first
  /// kProblemLimit are kept.
  std::map<std::size_t, InputProblem> problems;
  std::vector<std::string> warnings;
  // While objects are read.
  std::string text;                 ///< of a bulk buffer, behind which decoders may read
  std::vector<TakenObjects> parts;  ///< side by side

  void refuse(std::size_t object, const InputProblem& problem);
};

/// In the caller's arena.
/// @param side  classes that admission reads, beside those of the input
/// @param declared  paths whose values are kept; null: none
/// @param taken  [out] empty before
void take_objects(std::string_view text, const SideObjects& side, ObjectPools& pools, const DeclaredPathsPtr& declared,
                  TakenObjects& taken);
/// @throws ApiError when the offsets make no sense
void take_objects(const berth_bulk& bulk, const SideObjects& side, ObjectPools& pools, const DeclaredPathsPtr& declared,
                  TakenObjects& taken);

/// @throws InputError with the problems; does nothing when there are none
void refuse_problems(const TakenObjects& taken);

/// As changes for an engine, behind those that are there: node objects first, pods last.
void append_changes(const DecodedObjects& decoded, std::vector<ClusterChange>& changes);
/// The changes among the budgets and classes. @return `before` where there are none
std::shared_ptr<const SideObjects> side_after(const std::shared_ptr<const SideObjects>& before,
                                              const DecodedObjects& decoded);
/// What happens to the roster. Gives new names their numbers.
std::vector<Roster::Change> roster_changes(std::span<const ClusterChange> changes, NodeTable& names);

}  // namespace berth::capi
