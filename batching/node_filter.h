// SPDX-License-Identifier: Apache-2.0
#pragma once

// One class against one node in integers of any size: the plain walk over the rules that reasons, explanations,
// nominated pods and amounts beyond exact doubles are taken from. The hot paths of the backends give the same answers
// in lanes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/index_set.h"
#include "batching/pod_class.h"
#include "batching/topology_filter.h"

namespace berth {

/// What NodePorts and NodeResourcesFit find on a node; all that is short is noted, not the first.
struct LoadVerdict {
  bool ports_taken = false;
  bool too_many_pods = false;
  IndexSet insufficient;         ///< indices into PodClass::requested
  bool is_unresolvable = false;  ///< one of them is more than the node could ever hold

  bool fits() const { return !too_many_pods && insufficient.empty(); }
  friend bool operator==(const LoadVerdict&, const LoadVerdict&) = default;
};

LoadVerdict filter_load(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node);

/// Does any enabled rule that reads a node's load refuse?
bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                  std::int32_t node);

/// What the topology rules say; accepted where the class has no topology program.
TopologyVerdict filter_topology(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node,
                                bool affinity_skips = false);

/// The status that a refusal of the node side (an index into NodeSideRow::refusals), a load verdict and a topology
/// verdict come to.
Status status_of(const PodClass& pod_class, const CompiledProfile& profile, const Refusal& refusal,
                 const LoadVerdict& load, const TopologyVerdict& topology);

/// The first refusing plugin in the profile's order with its reasons; code kSuccess when none refuses.
/// A node outside PreFilter's node set comes back with that plugin and no reason.
/// @param affinity_skips  InterPodAffinity is not asked: its PreFilter skipped
Status filter_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideRow& row,
                   const Snapshot& snapshot, std::int32_t node, bool affinity_skips = false);

/// The score of a plugin that reads the load; it needs no normaliser. nullopt: the plugin is no such one, or its
/// PreScore skips.
std::optional<std::int64_t> load_score(std::string_view plugin, const PodClass& pod_class,
                                       const CompiledProfile& profile, const Snapshot& snapshot, std::int32_t node);
/// Weighted sum of these scores. What lies outside [0, 100] counts as the nearer end: such a total never decides.
std::int64_t load_total(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                        std::int32_t node);

/// Could a final score lie outside [0, 100]? Only amounts so large that the arithmetic wraps around and spread
/// constraints that no API server lets through can do that.
bool scores_may_leave_range(const PodClass& pod_class, const Snapshot& snapshot);
/// A final score outside [0, 100] ends the cycle: the text of that error, or empty. Of several, the first node's first,
/// as upstream kube-scheduler meets them at parallelism 1. docs/behaviour/plugins-node.md 15.2.
std::string score_range_error(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                              const std::vector<std::int32_t>& nodes);

}  // namespace berth
