// SPDX-License-Identifier: Apache-2.0
#pragma once

// The plugins of volumes, one node at a time: docs/behaviour/plugins-storage-devices.md 1 and 2.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cluster_storage.h"
#include "host/engine/reference/node_state.h"
#include "host/engine/reference/request.h"
#include "host/framework/status.h"

namespace berth::reference {

/// What PreFilter of these plugins leaves for Filter.
struct VolumeState {
  std::set<std::string> once_claims;  ///< the pod's claims with ReadWriteOncePod
  std::int64_t once_uses = 0;         ///< of those, by pods of the cluster
};

bool is_volume_plugin(std::string_view plugin);
/// @return code kSkip: Filter does not run
Status pre_filter_volumes(std::string_view plugin, const Request& request, VolumeState& state);
Status filter_volumes(std::string_view plugin, const Request& request, const VolumeState& volumes,
                      const NodeState& state);
/// AddPod and RemovePod of VolumeRestrictions. @param sign  1 or -1
void update(VolumeState& state, const Pod& other, std::int64_t sign);

/// Reserve of VolumeBinding on a node: null where it decides nothing.
VolumeDecisionsPtr decide_volumes(const Request& request, const Node& node);

}  // namespace berth::reference
