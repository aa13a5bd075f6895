// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host/config/scheduler_config.h"
#include "plugins/volume_binding/claim_search.h"

namespace berth {

/// Score of a node that accepts the pod's claims: docs/behaviour/plugins-storage-devices.md 1.7. In [0, 100].
/// @param shape  at least one point
std::int64_t capacity_score(const ClaimsOnNode& found, const std::vector<ShapePoint>& shape);

}  // namespace berth
