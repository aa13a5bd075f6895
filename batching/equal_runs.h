// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// Copies of each node that are enough to find `pod_count` of them, were they spread evenly: the worst of the pod_count
/// best among these bounds the levels of a run from below, since more copies only add better ones.
BERTH_HD std::int64_t copies_that_bound(std::int64_t pod_count, std::int64_t feasible_count) {
  return (pod_count + feasible_count - 1) / feasible_count;
}

}  // namespace berth
