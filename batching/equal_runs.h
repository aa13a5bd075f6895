// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plugins/rule.h"

namespace berth {

/// The number of copies per node with which all nodes together have at least `pod_count` copies. Among these copies,
/// the level of the one at rank `pod_count` is a lower bound of the levels of a run: more copies can only raise it.
BERTH_HD std::int64_t copies_that_bound(std::int64_t pod_count, std::int64_t feasible_count) {
  return (pod_count + feasible_count - 1) / feasible_count;
}

}  // namespace berth
