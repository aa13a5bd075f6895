// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "batching/batch.h"
#include "batching/copies_answer.h"
#include "batching/guest_sides.h"
#include "batching/nominations.h"
#include "host/cluster/snapshot.h"

namespace berth {

/// Backend::copies_that_fit() from columns, for pods whose copies take no more from each other than room, ports and
/// what CopyInterplay names; the others are kUnknown. Cost: a division for each node and resource that a class
/// requests, and for classes with topology terms a look at the tables for each node with room.
/// @param pods  prepared
CopiesAnswer copies_that_fit(std::span<const PodToPlace> pods, const CopiesLimits& limits, const NodeSides& sides,
                             const Nominations& nominations, const Snapshot& snapshot);

}  // namespace berth
