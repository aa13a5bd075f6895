// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "host/config/feature_gates.h"
#include "host/framework/cluster_event.h"

namespace berth {

/// The events of a changed pod, in the order of docs/behaviour/scheduler-core.md 1.7: one per changed aspect, or one
/// general Update. Resource AssignedPod where the pod has a node now, else UnschedulablePod.
std::vector<ClusterEvent> pod_change_events(const Pod& before, const Pod& after, Release release);

/// Likewise of a changed node; none when nothing changed that an event tells. Conditions and annotations are not kept,
/// and no plugin that is built looks at them.
/// @param features  gate NodeDeclaredFeatures
std::vector<ClusterEvent> node_change_events(const Node& before, const Node& after, bool features);

}  // namespace berth
