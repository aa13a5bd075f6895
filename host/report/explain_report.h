// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batching/backend.h"
#include "host/report/nearest_miss.h"
#include "host/report/terminal.h"
#include "host/scheduler/explain_document.h"

namespace berth {

/// Nodes that answer a pod in the same way: the same verdict with the same reasons, or the same scores.
struct NodeGroup {
  const NodeEvaluation* first = nullptr;  ///< represents the group; points into the evaluation
  std::int64_t node_count = 0;
  std::vector<NodeIndex> examples;  ///< the first few
};

/// Feasible groups first, best total first; then refusing ones, largest first.
std::vector<NodeGroup> group_nodes(const Evaluation& evaluation);

/// The answer for people: where the pod stands, groups of nodes, scores of the best and of the pod's own node, the
/// nearest miss and what it would take.
/// @param cluster  in which it was evaluated
std::string explain_report(const Explanation& explanation, const NodeNames& node_name, const ClusterCache& cluster,
                           const Terminal& terminal);

}  // namespace berth
