// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// Stops at the smallest and the largest number instead of wrapping round.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
  return a + b;
}

}  // namespace berth
