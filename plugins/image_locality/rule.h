// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plugins/rule.h"

namespace berth {

struct CompiledImageLocality;  // compile.h

/// Prefers nodes that hold the pod's images: docs/behaviour/plugins-node.md 12.
struct ImageLocality {
  static constexpr RuleDescriptor descriptor{.name = "ImageLocality", .touches = Touches::kNothing, .scores = true};
  static constexpr std::string_view name = descriptor.name;
  using NodeSide = CompiledImageLocality;
  static constexpr std::int64_t kMinThresholdBytes = 23ll * 1024 * 1024;
  static constexpr std::int64_t kMaxThresholdBytesPerContainer = 1000ll * 1024 * 1024;

  /// What one image on the node adds: the rarer an image, the less it counts.
  BERTH_HD static std::int64_t scaled_bytes(std::int64_t size_bytes, std::int64_t nodes_with_image,
                                            std::int64_t all_nodes) {
    return to_integer(static_cast<double>(size_bytes) *
                      (static_cast<double>(nodes_with_image) / static_cast<double>(all_nodes)));
  }
  BERTH_HD static std::int64_t score(std::int64_t sum_bytes, std::int64_t container_count) {
    const std::int64_t max_threshold = multiply(kMaxThresholdBytesPerContainer, container_count);
    std::int64_t clamped = sum_bytes;
    if (clamped < kMinThresholdBytes) {
      clamped = kMinThresholdBytes;
    } else if (clamped > max_threshold) {
      clamped = max_threshold;
    }
    return kMaxNodeScore * (clamped - kMinThresholdBytes) / (max_threshold - kMinThresholdBytes);
  }
};

}  // namespace berth
