// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "batching/device/device_errors.h"

namespace berth {

/// Checks how many pods a commit answered. It answers at least one, so that 0, which is written before the launch,
/// shows that the kernel did not run.
/// @throws DeviceLost  for any other number than 1 to pod_count; for 0 to 0 where pod_count is 0
inline void check_answered(std::int32_t answered, std::int32_t pod_count) {
  if (answered <= pod_count && answered >= (pod_count > 0 ? 1 : 0)) return;
  throw DeviceLost("", "a commit of " + std::to_string(pod_count) + " pods answered " + std::to_string(answered) +
                           "; expected at least one, and not more than there are");
}

}  // namespace berth
