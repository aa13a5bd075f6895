// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// Index of a resource's pair of columns. The first three are always there.
inline constexpr std::int32_t kCpuColumn = 0;
inline constexpr std::int32_t kMemoryColumn = 1;
inline constexpr std::int32_t kEphemeralStorageColumn = 2;
inline constexpr std::int32_t kNoColumn = -1;  ///< no node offers the resource: its allocatable reads as 0 everywhere

}  // namespace berth
