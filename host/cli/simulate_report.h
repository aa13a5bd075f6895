// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/cli/simulate_document.h"
#include "host/report/terminal.h"
#include "host/simulate/simulation.h"

namespace berth {

/// The report for people.
/// @param is_wide  with every pod, and every resource
std::string simulate_report(const SimulationResult& result, const SimulationView& view, bool is_wide,
                            const Terminal& terminal);

}  // namespace berth
