// SPDX-License-Identifier: Apache-2.0
#pragma once

// VolumeBinding: docs/behaviour/plugins-storage-devices.md 1.

#include <cstdint>
#include <string>

#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "host/framework/status.h"
#include "host/objects/volumes.h"

namespace berth::reference {

inline const ClusterStorage& storage_of(const Request& request) { return request.cluster->cache.storage(); }
/// The text for an ephemeral volume whose claim is somebody else's.
std::string not_owner(const Pod& pod, const VolumeClaim& claim);
Status pre_filter_binding(const Request& request);
Status filter_binding(const Request& request, const Node& node);
/// The gate is on, and the pod has claims: of one without them every score is 0.
bool scores_volumes(const Request& request);
/// docs/behaviour/plugins-storage-devices.md 1.7, of a node that Filter accepts.
std::int64_t score_binding(const Request& request, const NodeState& state);

}  // namespace berth::reference
