// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// The node of the highest key for one pod, however it was found.
struct Selection {
  std::int64_t feasible_count = 0;  ///< 0: the other members have no meaning
  std::int32_t node = -1;
  std::int64_t total = 0;  ///< weighted sum of the normalised scores
};

}  // namespace berth
