// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "host/report/document_formats.h"
#include "host/simulate/simulation.h"

namespace berth {

/// A simulation as its reports show it.
struct SimulationView {
  /// @param wanted_step_us  steps of the time line; they are longer where the simulation kept longer ones
  SimulationView(const SimulationResult& result, std::int64_t wanted_step_us, std::uint64_t used_seed);

  std::int64_t step_us;
  std::vector<TimelineSample> samples;
  WaitTimes waits;
  std::uint64_t seed;
};

/// The report for machines: docs/schemas/simulate-report.schema.json, field by field.
void write_simulate_document(const SimulationResult& result, const SimulationView& view, DocumentWriter& writer);

}  // namespace berth
