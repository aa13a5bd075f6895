// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batching/backend.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// One pod on every node, without rows: statuses with their reasons, and each plugin's scores where some node is
/// feasible.
/// @param pod  compiled against the table of `sides`; an error class gives Evaluation::error
Evaluation evaluate_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                        const Snapshot& snapshot);

}  // namespace berth
