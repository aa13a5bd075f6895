// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "host/capi/drain.h"
#include "host/capi/node_shape.h"

namespace berth::capi {

/// berth_snapshot_replace()
/// @param nodes_max  new nodes in place of each drained one, or of all together, at most
Answer replace(const State& state, const std::shared_ptr<Cluster>& cluster, std::span<const std::uint32_t> drained,
               const DrainOptions& options, std::span<const NodeShape> shapes, std::uint32_t nodes_max,
               const StopWatch& watch);

}  // namespace berth::capi
