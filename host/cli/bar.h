// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "host/report/terminal.h"

namespace berth {

/// A horizontal bar of at most `columns`, filled for `share` (0..1, anything else is clamped). With Unicode it is exact
/// to an eighth of a column. A share above zero always shows something.
std::string bar(double share, int columns, const Terminal& terminal);
/// The same with the rest of the columns drawn as an empty track.
std::string track_bar(double share, int columns, const Terminal& terminal);

inline constexpr std::size_t kHistogramBins = 10;
using Histogram = std::array<std::int64_t, kHistogramBins>;

/// How many of `percents` lie in each tenth of 0..100; 100 and above count in the last, below 0 in the first.
Histogram histogram_of(std::span<const std::int32_t> percents);
/// One line per tenth with the counts before and after side by side, drawn to one scale.
std::string draw_histograms(const Histogram& before, const Histogram& after, const Terminal& terminal, int indent);

}  // namespace berth
