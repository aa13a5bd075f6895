// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "host/objects/cluster_objects.h"

namespace berth {

/// Gives pods of the cluster volumes, and the cluster storage objects: claims that are bound, wait, should be bound
/// already or are missing; volumes that are near some nodes, pre-bound, migrated; limits; capacities. No two volumes
/// have the same capacity, and no two are pre-bound to one claim: which of them kube-scheduler takes would be open.
void add_random_volumes(std::uint64_t seed, ClusterObjects& objects);

}  // namespace berth
