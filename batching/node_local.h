// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batching/batch.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// A copy of the pod that is placed changes the verdict and the total of no other node for the next copy, so that the
/// next best node of one ranking is the best one once the first is full: what signatures of kube-scheduler's
/// opportunistic batching promise, docs/behaviour/scheduler-core.md 6. False where that is not known: on the host,
/// plugins follow what is placed.
/// @param pod  prepared
bool is_node_local(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                   const Snapshot& snapshot);

}  // namespace berth
