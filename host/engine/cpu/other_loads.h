// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a pod asks of a node's load beside cpu, memory and room for one more pod: other resources, and host ports.

#include <vector>

#include "batching/compiled_profile.h"
#include "batching/pod_class.h"
#include "host/cluster/snapshot.h"

namespace berth {

bool asks_for_other_loads(const PodClass& pod_class, const CompiledProfile& profile);

/// Sets the entry of each node that refuses the class for one of them to 1. @param refused  [slot] or more
void mark_refusing_other_loads(const PodClass& pod_class, const CompiledProfile& profile, const Snapshot& snapshot,
                               std::vector<double>& refused);

}  // namespace berth
