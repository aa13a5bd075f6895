// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace berth {

/// The highest score of one plugin for one node, kube-scheduler's MaxNodeScore; the lowest is 0.
inline constexpr std::int64_t kMaxNodeScore = 100;

}  // namespace berth
