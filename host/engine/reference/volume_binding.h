// SPDX-License-Identifier: Apache-2.0
#pragma once

// VolumeBinding: docs/behaviour/plugins-storage-devices.md 1.

#include <string>

#include "host/engine/reference/request.h"
#include "host/framework/status.h"
#include "host/objects/volumes.h"

namespace berth::reference {

inline const ClusterStorage& storage_of(const Request& request) { return request.cluster->cache.storage(); }
/// The text for an ephemeral volume whose claim is somebody else's.
std::string not_owner(const Pod& pod, const VolumeClaim& claim);
Status pre_filter_binding(const Request& request);
Status filter_binding(const Request& request, const Node& node);

}  // namespace berth::reference
