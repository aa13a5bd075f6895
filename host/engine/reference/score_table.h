// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreScore and Score of all plugins, and the sum of them: docs/behaviour/plugins-node.md 14 and 15,
// docs/behaviour/plugins-topology.md 1.2.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"

namespace berth::reference {

/// Scores of one plugin that was not skipped; both lists are as long as the list of nodes.
struct PluginColumn {
  std::string_view plugin;  ///< of the profile
  std::int32_t weight;
  std::vector<std::int64_t> raw;
  std::vector<std::int64_t> normalized;
};

struct ScoreTable {
  std::vector<PluginColumn> columns;  ///< profile order
  std::vector<std::int64_t> totals;   ///< per node; 1 each when the profile scores nothing
  std::string error;                  ///< non-empty: the cycle ends with this error, the rest is of no use
};

/// `nodes` are the feasible ones: normalisation reads no other.
ScoreTable score_nodes(const Request& request, std::span<const NodeState* const> nodes);

/// Position of the host in a list of totals as the heap of v1.35 finds it (15.3). `totals` is not empty.
std::size_t heap_root(std::span<const std::int64_t> totals);
/// All positions in the order in which that heap gives them.
std::vector<std::size_t> heap_order(std::span<const std::int64_t> totals);

}  // namespace berth::reference
