// SPDX-License-Identifier: Apache-2.0
#pragma once

// Upper bound of NodeResourcesBalancedAllocation's score over a box of nodes:
// docs/decisions/0011-an-index-by-load.md.

#include "plugins/node_resources_balanced_allocation/rule.h"
#include "plugins/node_resources_fit/bound.h"

namespace berth {

struct BalancedAllocationBound {
  /// At least the score of two resources on every node of a box where the pod fits. A tilt is the share of the first
  /// resource less that of the second one, each at most 1.
  /// @param low, high  of the tilts with the pod
  BERTH_HD static float score(float low, float high) {
    const float above = low > 0.0F ? low : 0.0F;
    const float below = high < 0.0F ? -high : 0.0F;
    return bound_of_free_share((above + below) / 2.0F);
  }
};

}  // namespace berth
