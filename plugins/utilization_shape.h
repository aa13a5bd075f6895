// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/config/scheduler_config.h"

namespace berth {

/// The broken line through the shape's points, flat outside them, in [0, 100]: docs/behaviour/plugins-node.md 10.5.
/// @param shape  at least one point
constexpr std::int64_t shape_score(const std::vector<ShapePoint>& shape, std::int64_t percent) {
  constexpr std::int64_t kScale = 10;  // of a point's score
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (percent > shape[i].utilization) continue;
    const std::int64_t high = shape[i].score * kScale;
    if (i == 0) return high;
    const std::int64_t low = shape[i - 1].score * kScale;
    const std::int64_t width = shape[i].utilization - shape[i - 1].utilization;
    return low + (high - low) * (percent - shape[i - 1].utilization) / width;
  }
  return shape.back().score * kScale;
}

}  // namespace berth
