// SPDX-License-Identifier: Apache-2.0
#pragma once

// How nodes of equal total draw (docs/architecture.md "Ties"): every backend draws the same number from a node's state,
// it is known in advance for the k-th copy, and no pass over the ties is needed.

#include <cstdint>

#include "host/cluster/name_hash.h"
#include "host/config/engine_config.h"
#include "host/config/scheduler_config.h"
#include "host/framework/draw_bits.h"

namespace berth {

/// NodeResourcesFit scores in the profile and prefers fuller nodes: by MostAllocated, or by a shape of
/// RequestedToCapacityRatio whose last point scores higher than its first.
bool packs_nodes(const Profile& profile);

/// How nodes draw for pods of the profile. Under TieBreak::kKube no draw is looked at.
DrawRule draw_rule(const Profile& profile, TieBreak tie_break, std::uint64_t seed);

}  // namespace berth
