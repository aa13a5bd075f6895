// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace berth::reference {

/// Scores of one plugin, or totals, by node. In integers, whose division truncates as Go's does.
using ScoreArray = Eigen::Array<std::int64_t, Eigen::Dynamic, 1>;

}  // namespace berth::reference
