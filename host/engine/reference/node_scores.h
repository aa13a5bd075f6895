// SPDX-License-Identifier: Apache-2.0
#pragma once

// PreScore, Score and NormalizeScore of the node-level plugins: docs/behaviour/plugins-node.md 7.3, 8.5, 10.2 to
// 12, 14.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"

namespace berth::reference {

/// Score of one plugin on one node, and how its scores are normalised.
enum class Normalization : std::uint8_t { kNone, kPlain, kReverse };
struct Scorer {
  std::int64_t (*score)(const Request&, const NodeState&);
  Normalization normalization;
};
/// nullptr for a plugin that is none of the node level or has no Score.
const Scorer* find_scorer(std::string_view plugin);

/// PreScore of a node-level plugin: whether it steps aside in this cycle.
bool pre_score_skips(const Request& request, std::string_view plugin);
/// Preferred terms that do not parse end the cycle with this text, in PreScore or, where that is not enabled, in Score;
/// empty when they parse.
std::string node_affinity_error(const Request& request);

/// docs/behaviour/plugins-node.md 14; truncating integer arithmetic.
void normalize(std::vector<std::int64_t>& scores, bool reverse);

// The formulas, named so that the worked examples of the spec can be checked one by one.

/// Of one resource, as 10.2 defines it; 0 and 0 when it does not count.
struct ResourcePair {
  std::int64_t requested = 0;
  std::int64_t allocatable = 0;
};
/// docs/behaviour/plugins-node.md 10.5: the broken line through the shape's points, flat outside them.
std::int64_t shape_score(const std::vector<ShapePoint>& shape, std::int64_t utilization);
/// docs/behaviour/plugins-node.md 10.3 to 10.5; `pairs` in the order of args.resources.
std::int64_t strategy_score(const NodeResourcesFitArgs& args, const std::vector<ResourcePair>& pairs);
/// The v1.35 formula of docs/behaviour/plugins-node.md 11.
std::int64_t balance_score(const std::vector<ResourcePair>& pairs);
/// One image's share of the sum of docs/behaviour/plugins-node.md 12.
std::int64_t image_share(std::int64_t size_bytes, std::int64_t nodes_with_image, std::int64_t node_count);
/// The name under which nodes report an image: ":latest" is added where a tag is missing.
std::string normalized_image_name(const std::string& image);

}  // namespace berth::reference
