// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// Copies per node that give `pod_count` copies in all if they are spread evenly. The worst of the pod_count best among
/// these is a lower bound of the levels of a run, since further copies can only add better ones.
BERTH_HD std::int64_t copies_that_bound(std::int64_t pod_count, std::int64_t feasible_count) {
  return (pod_count + feasible_count - 1) / feasible_count;
}

}  // namespace berth
