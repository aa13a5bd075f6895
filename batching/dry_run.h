// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dry runs of preemption on the host: which victims of a node a preemptor needs to be gone. Reads the state of a fast
// backend without changing it.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "batching/backend.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "batching/victims.h"
#include "host/cluster/snapshot.h"
#include "host/objects/interruption.h"

namespace berth {

/// Of calls that can be interrupted: less than a millisecond with 30 victims each.
inline constexpr std::size_t kRunsBetweenLooks = 64;

/// Calls body(begin, end) for blocks that cover the dry runs [begin, end), in order, with a look at the interruption
/// before each. @param interruption  null: there is one block
template <class Body>
void look_between_dry_runs(std::size_t begin, std::size_t end, const Interruption* interruption, const Body& body) {
  const std::size_t step = interruption == nullptr ? end - begin : kRunsBetweenLooks;
  for (; begin < end; begin += step) {
    check_interruption(interruption);
    body(begin, std::min(begin + step, end));
  }
}

/// Backend::dry_run(). Cost: each preemptor and each victim is prepared once; then a run reads the amounts that its
/// class requests, once per victim, and topology tables only where the class reads tables that a victim changes.
/// @param memory  of the engine; one call at a time @throws what Backend::dry_run() throws
DryRunResult dry_run(const DryRunRequest& request, const NodeSides& sides, const Nominations& nominations,
                     const Snapshot& snapshot, VictimMemory& memory, const ForBlocks& for_blocks);
/// Backend::statuses_without_victims()
std::vector<Status> statuses_without_victims(const DryRunRequest& request, const NodeSides& sides,
                                             const Nominations& nominations, const Snapshot& snapshot,
                                             VictimMemory& memory, const ForBlocks& for_blocks);

}  // namespace berth
