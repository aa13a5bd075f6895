// SPDX-License-Identifier: Apache-2.0
#pragma once

// Filters and scores one class on one node, in integers of any size: for reasons, explanations, nominated pods and
// amounts beyond exact doubles. The hot paths of the backends compute the same results in lanes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/index_set.h"
#include "batching/node_overlay.h"
#include "batching/node_side_view.h"
#include "batching/pod_class.h"
#include "batching/topology_filter.h"

namespace berth {

/// The verdict of NodePorts and NodeResourcesFit on a node, with every insufficient resource.
struct LoadVerdict {
  bool ports_taken = false;
  bool too_many_pods = false;
  IndexSet insufficient;         ///< indices into PodClass::requested
  bool is_unresolvable = false;  ///< one of the requests exceeds the allocatable amount

  bool fits() const { return !too_many_pods && insufficient.empty(); }
  friend bool operator==(const LoadVerdict&, const LoadVerdict&) = default;
};

LoadVerdict filter_load(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node);
/// The same for an overlay that reads for the class.
LoadVerdict filter_load(const PodClass& pod_class, const NodeOverlay& node);

/// Whether every enabled rule that reads a node's load accepts.
bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                  std::int32_t node);
/// The same for an overlay that reads for the class.
bool load_accepts(const PodClass& pod_class, const CompiledProfile& profile, const NodeOverlay& node);

/// The verdict of the topology rules; accepted where the class has no topology program.
TopologyVerdict filter_topology(const PodClass& pod_class, const Snapshot& snapshot, std::int32_t node);
/// @param affinity_skips  affinity_pre_filter_skips() at the time of PreFilter, which is before the changes
TopologyVerdict filter_topology(const PodClass& pod_class, const NodeOverlay& node, bool affinity_skips);
/// affinity_pre_filter_skips() of the class; false where it has no topology program.
bool affinity_pre_filter_skips(const PodClass& pod_class, const Snapshot& snapshot);

/// What plugins on the host refuse on the node; nothing where the class has none.
HostRefusal filter_host(const PodClass& pod_class, std::int32_t node);
/// The same for an overlay that reads for the class: calls the plugins.
HostRefusal filter_host(const PodClass& pod_class, const NodeOverlay& node);

/// Which of a refusal of the node side (an element of NodeSideRow::refusals), of the host, a load verdict and a
/// topology verdict comes first in the profile's order.
NodeVerdict first_refusal(const CompiledProfile& profile, const Refusal& refusal, const HostRefusal& host,
                          const LoadVerdict& load, const TopologyVerdict& topology);
/// The same with its reasons.
Status status_of(const PodClass& pod_class, const CompiledProfile& profile, const Refusal& refusal,
                 const HostRefusal& host, const LoadVerdict& load, const TopologyVerdict& topology);

/// The first refusing plugin in the profile's order with its reasons; code kSuccess when none refuses.
/// A node outside PreFilter's node set comes back with that plugin and no reason.
Status filter_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                   const Snapshot& snapshot, std::int32_t node);
Status filter_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                   const NodeOverlay& node, bool affinity_skips);
/// The same without reasons.
NodeVerdict verdict_of_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                            const Snapshot& snapshot, std::int32_t node);
NodeVerdict verdict_of_node(const PodClass& pod_class, const CompiledProfile& profile, const NodeSideView& row,
                            const NodeOverlay& node, bool affinity_skips);

/// The score of a plugin that reads the load; it needs no normaliser. nullopt: the plugin does not read the load, or
/// its PreScore skips.
std::optional<std::int64_t> load_score(std::string_view plugin, const PodClass& pod_class,
                                       const CompiledProfile& profile, const Snapshot& snapshot, std::int32_t node);
/// Weighted sum of these scores, each clamped to [0, 100]: a total with a score outside never decides.
std::int64_t load_total(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                        std::int32_t node);

/// Whether a final score may lie outside [0, 100]. Only amounts for which the arithmetic wraps, and spread constraints
/// that the API server rejects, can cause that.
inline bool scores_may_leave_range(const PodClass& pod_class, const Snapshot& snapshot) {
  return snapshot.scores_may_wrap() || pod_class.requests_may_wrap || pod_class.spread_may_be_negative;
}
/// A final score outside [0, 100] ends the cycle: the text of that error, or empty. Of several, the first of the first
/// node, as in upstream at parallelism 1. docs/behaviour/plugins-node.md 15.2.
/// @param host  of the same nodes; null: no plugin on the host scores
std::string score_range_error(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                              const std::vector<std::int32_t>& nodes, const HostScores* host = nullptr);

}  // namespace berth
