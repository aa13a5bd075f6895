// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/objects/pod.h"

namespace berth {

/// The pod ran to its end: it holds nothing of a node and waits for none.
inline bool is_finished(const Pod& pod) { return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed; }
/// The pod has a node, also where it is finished: what upstream calls assigned.
inline bool is_assigned(const Pod& pod) { return !pod.node_name.empty(); }
/// The pod is bound to a node and counts there.
inline bool is_on_node(const Pod& pod) { return !is_finished(pod) && is_assigned(pod); }
/// The pod waits for a node, gated, terminating or meant for another scheduler as it may be.
inline bool is_pending(const Pod& pod) { return !is_finished(pod) && !is_assigned(pod); }

}  // namespace berth
