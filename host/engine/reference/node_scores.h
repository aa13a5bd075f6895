// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreScore, Score and NormalizeScore of the node-level plugins and the sum of them: spec/plugins-node.md 7.3, 8.5,
// 10.2 to 12, 14, 15.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/engine/reference/node_rules.h"
#include "host/engine/reference/node_state.h"

namespace berth::reference {

/// What scores read beyond the node in question.
struct ClusterFacts {
  const std::map<std::string, ImageState, std::less<>>* images;
  std::int64_t node_count;  ///< all nodes of the snapshot
};

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
ScoreTable score_nodes(const Request& request, std::span<const NodeState* const> nodes, const ClusterFacts& cluster);

/// Section 14; truncating integer arithmetic.
void normalize(std::vector<std::int64_t>& scores, bool reverse);

/// Position of the host in a list of totals as the heap of v1.35 finds it (15.3). `totals` is not empty.
std::size_t heap_root(std::span<const std::int64_t> totals);

// The formulas, named so that the worked examples of the spec can be checked one by one.

/// Of one resource, as 10.2 defines it; 0 and 0 when it does not count.
struct ResourcePair {
  std::int64_t requested = 0;
  std::int64_t allocatable = 0;
};
/// Section 10.3 to 10.5; `pairs` in the order of args.resources.
std::int64_t strategy_score(const NodeResourcesFitArgs& args, const std::vector<ResourcePair>& pairs);
/// The v1.35 formula of section 11.
std::int64_t balance_score(const std::vector<ResourcePair>& pairs);
/// One image's share of the sum of section 12.
std::int64_t image_share(std::int64_t size_bytes, std::int64_t nodes_with_image, std::int64_t node_count);
/// The name under which nodes report an image: ":latest" is added where a tag is missing.
std::string normalized_image_name(const std::string& image);

}  // namespace berth::reference
