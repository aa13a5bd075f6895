// SPDX-License-Identifier: Apache-2.0
#pragma once

// What would have to change for a pod to fit a node that refuses it. This serves the reader of `berth explain`;
// verdicts come from the engine alone, and a refusal that this code cannot explain is reported as such.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/framework/status.h"

namespace berth {

/// One thing to do, in words that follow "node x: ", and how much it asks (about 1 for one decision of a person).
struct NeededChange {
  std::string text;  ///< "500m cpu more", "tolerate taint dedicated=gpu:NoSchedule", "free port 8080/TCP"
  double effort = 1;
};

/// What it would take that other pods no longer keep a pod off a node, by the status that PodTopologySpread or
/// InterPodAffinity gives the node. nullopt for every other status.
std::optional<NeededChange> change_of_other_pods(const Status& status);

/// A node that refuses a pod, and what topology rules alone say of it.
struct RefusedNode {
  std::string_view name;
  std::optional<NeededChange> other_pods;
};

struct Miss {
  std::string node;
  std::vector<NeededChange> changes;
  double effort() const;
};

/// Answers for any pod. Nominated pods are not counted. What other pods mean to a pod by topology is not counted here
/// but handed in.
class MissFinder {
 public:
  /// @param cluster  must outlive this
  /// @param left_out  a pod on a node to treat as absent; null: none
  explicit MissFinder(const ClusterCache& cluster, const Pod* left_out = nullptr);

  /// Everything that stands between `pod` and `node`, not only what the first plugin says. Empty when this recount
  /// finds nothing, or when there is no such node.
  std::vector<NeededChange> changes(const Pod& pod, const Profile& profile, std::string_view node) const;

  /// The node of `refused` that needs the least effort; of equals the first. nullopt when none can be told.
  std::optional<Miss> nearest(const Pod& pod, const Profile& profile, std::span<const RefusedNode> refused) const;

 private:
  const NodeInfo* find_node(std::string_view name) const;

  const ClusterCache& cluster_;
  ClusterCache without_;  ///< the node of the pod that is left out, without it
};

}  // namespace berth
