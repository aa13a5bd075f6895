// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the commands that simulate have in common: from files and options to a result.

#include <string>
#include <vector>

#include "host/cli/simulate_command.h"
#include "host/simulate/scenario_reader.h"
#include "host/simulate/simulation.h"

namespace berth {

/// What a simulation reads, apart from its configuration.
struct SimulationFiles {
  ScenarioFile scenario;              ///< without actions when there is none; its `source` is empty then
  std::vector<std::string> clusters;  ///< files, folders and "-"; those that the scenario names are the last
};

/// The files of the command line. @throws UsageError when several are scenarios; InputError
SimulationFiles simulation_files(const SimulateCommand& command);

struct PreparedSimulation {
  Scenario scenario;
  SimulationOptions options;
};

/// Reads configuration and clusters. Warnings go to standard error unless quiet. @throws InputError, UsageError
PreparedSimulation prepare_simulation(const SimulateCommand& command, SimulationFiles&& files);

/// Runs it, with a progress bar on a terminal, and once more on cpu when the device fails and the options say so.
/// @throws InputError, DeviceError, and what options.observe throws
SimulationResult run_simulation(const PreparedSimulation& prepared, bool is_quiet);

}  // namespace berth
