// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "batching/backend.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "batching/rule_score.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// What is known of the nodes before: which ones every Filter plugin accepts, and their scores.
class KnownScores {
 public:
  virtual ~KnownScores() = default;
  virtual bool is_feasible(std::int32_t slot) const = 0;
  /// Of a feasible node. nullopt: the plugin's PreScore skips
  virtual std::optional<RuleScore> score(std::string_view plugin, std::int32_t slot) const = 0;
};

/// One pod on every node, without rows: statuses with their reasons, and each plugin's scores where some node is
/// feasible.
/// @param pod  compiled against the table of `sides`; an error class gives Evaluation::error
Evaluation evaluate_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                        const Snapshot& snapshot);

/// The same from what is known before. Only statuses of nodes that are not feasible are found here.
/// @param pod  without plugins on the host that decide; its PreFilter passes, and no score can leave its range
Evaluation evaluate_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                        const Snapshot& snapshot, const KnownScores& known);

/// Why no node of a list accepts a pod.
struct FailedSearch {
  Diagnosis diagnosis;
  std::string error;  ///< non-empty: a node ends the cycle with it
};
/// As if there were no other nodes; of a pod whose PreFilter passes.
/// @param own_nomination  the node that the pod is nominated to and that refused it, or -1
FailedSearch failed_search(const PodToPlace& pod, std::span<const NodeIndex> nodes, std::int32_t own_nomination,
                           const NodeSides& sides, const Nominations& nominations, const Snapshot& snapshot);

}  // namespace berth
