// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "batching/backend.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Backend::verdicts(). @param sides  those of the state
/// @throws std::logic_error naming the pod when it is not prepared
PodVerdicts verdicts_of_pod(const PodToPlace& pod, const NodeSides& sides, const Nominations& nominations,
                            const Snapshot& snapshot);
/// Backend::verdicts_on(). The nodes may be guests of a what-if.
PodVerdicts verdicts_of_pod_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot);
/// Backend::statuses_on(), likewise.
PodStatuses statuses_of_pod_on(const PodToPlace& pod, std::span<const NodeIndex> nodes, const NodeSides& sides,
                               const Nominations& nominations, const Snapshot& snapshot);

}  // namespace berth
