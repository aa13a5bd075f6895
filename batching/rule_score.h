// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// One plugin's score of one node.
struct RuleScore {
  std::int64_t raw = 0;
  std::int64_t normalized = 0;  ///< 0..kMaxNodeScore
};

}  // namespace berth
