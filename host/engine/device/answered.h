// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "batching/device/device_errors.h"

namespace berth {

/// Checks how many pods a commit answered: DeviceBatch::committed_count, which is -1 where the kernel did not run.
/// @throws DeviceLost  for any other number than `fewest` to `pod_count`
inline void check_answered(std::int32_t answered, std::int32_t fewest, std::int32_t pod_count) {
  if (answered >= fewest && answered <= pod_count) return;
  throw DeviceLost("", "a commit of " + std::to_string(pod_count) + " pods answered " + std::to_string(answered) +
                           "; expected " + std::to_string(fewest) + " to " + std::to_string(pod_count));
}

}  // namespace berth
