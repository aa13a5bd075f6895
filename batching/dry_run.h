// SPDX-License-Identifier: Apache-2.0
#pragma once

// Dry runs of preemption on the host: which victims of a node a preemptor needs to be gone. Reads the state of a fast
// backend without changing it.

#include <cstddef>
#include <vector>

#include "batching/backend.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "batching/victims.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Backend::dry_run(). Cost: each preemptor and each victim is prepared once; then a run reads the amounts that its
/// class requests, once per victim, and topology tables only where the class reads tables that a victim changes.
/// @param memory  of the engine; one call at a time @throws what Backend::dry_run() throws
DryRunResult dry_run(const DryRunRequest& request, const ClassTable& table, const Nominations& nominations,
                     const Snapshot& snapshot, VictimMemory& memory, const ForBlocks& for_blocks);
/// Backend::statuses_without_victims()
std::vector<Status> statuses_without_victims(const DryRunRequest& request, const ClassTable& table,
                                             const Nominations& nominations, const Snapshot& snapshot,
                                             VictimMemory& memory, const ForBlocks& for_blocks);

}  // namespace berth
