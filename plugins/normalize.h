// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugins/rule.h"

namespace berth {

/// The normalisation that TaintToleration and NodeAffinity share, for one raw score given the largest raw score of the
/// feasible nodes: docs/behaviour/plugins-node.md 14.
BERTH_HD std::int64_t default_normalize(std::int64_t raw, std::int64_t max_raw, bool reverse) {
  if (max_raw == 0) return reverse ? kMaxNodeScore : raw;
  const std::int64_t scaled = divide_truncated(multiply(kMaxNodeScore, raw), max_raw);
  return reverse ? kMaxNodeScore - scaled : scaled;
}

}  // namespace berth
