// SPDX-License-Identifier: Apache-2.0
#pragma once

// What upstream does of a drain and of an estimate: the walks that `oracle walk` follows.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/histories/embedding_calls.h"
#include "tests/histories/embedding_model.h"

namespace berth::test {

/// A node as a preset of drains leaves it while its pods go.
nlohmann::json emptied(const Node& node, std::uint32_t preset);
/// @param among  the nodes that pods may go to, by ascending number
/// @param kept  checks of what the drain leaves
nlohmann::json drain_walk(EmbeddingCalls& calls, const DrainQuestion& question, const ClusterHistory& history,
                          const std::vector<std::string>& among, const std::vector<DrainedNode>& drained,
                          nlohmann::json kept);
/// The estimate of one shape.
/// @param existing  names of the nodes that were tried before new ones
nlohmann::json estimate_walk(const std::vector<PodPtr>& pods, const ShapeQuestion& shape, const ClusterHistory& history,
                             const EstimatedShape& estimated, bool decreases, nlohmann::json existing);

}  // namespace berth::test
