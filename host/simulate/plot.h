// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "host/simulate/simulation.h"

namespace berth {

/// The simulation as one SVG image with three panels over time: utilisation by resource, pending pods, and preempted
/// pods in each step. Complete in itself: no script, no style sheet, no font file. At most kPlotStepsMax steps.
std::string plot_svg(const SimulationResult& result);

inline constexpr std::size_t kPlotStepsMax = 600;

/// Text as the content of an SVG element: markup is escaped, and what XML cannot hold (control characters, bytes that
/// are not UTF-8) is replaced by U+FFFD.
std::string escaped_for_svg(std::string_view text);

}  // namespace berth
