// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// NodeResourcesFitArgs.scoringStrategy.type.
enum class ScoringStrategyType : std::uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

}  // namespace berth
