// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/capi/node_table.h"
#include "host/capi/object_intake.h"
#include "host/cluster/cluster_change.h"
#include "host/objects/decode.h"

namespace berth::capi {

/// The identity of an object that is not a pod.
struct ObjectKey {
  std::string kind;
  std::string namespace_;  ///< empty where the kind has none
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};
std::string to_string(const ObjectKey& key);  ///< "Service default/web"

using ObjectKeys = std::set<ObjectKey>;

/// The kinds that rules read, pods among them.
bool is_known_kind(std::string_view kind);
bool has_namespace(std::string_view kind);

/// The objects that are not pods.
ObjectKeys keys_of(const DecodedObjects& decoded);
/// Those of a kind that are there. @param known  of objects that were upserted; nodes come and go with commits, too, so
/// that the roster is asked about them
ObjectKeys keys_of_kind(const std::string& kind, const ObjectKeys& known, const Roster& roster, const NodeTable& nodes);
bool is_among(const ObjectKey& key, const ObjectKeys& known, const Roster& roster, const NodeTable& nodes);
/// What removes the object from an engine. nullopt: engines do not know its kind
std::optional<ClusterChange> removal_of(const ObjectKey& key);
/// Without the objects that have one of the keys. @return `before` where there are none
std::shared_ptr<const SideObjects> side_without(const std::shared_ptr<const SideObjects>& before,
                                                const ObjectKeys& keys);

/// Pods without a node that reserve room, by uid.
using NominatedPods = std::map<std::string, PodPtr>;
/// @param changes  of a call, behind which the pods that they name are nominated only if `come` has them
/// @return `before` where that changes nothing
std::shared_ptr<const NominatedPods> nominated_after(const std::shared_ptr<const NominatedPods>& before,
                                                     std::span<const ClusterChange> changes, const NominatedPods& come);

}  // namespace berth::capi
