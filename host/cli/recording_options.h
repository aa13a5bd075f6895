// SPDX-License-Identifier: Apache-2.0
#pragma once

// The options of the commands that simulate and record.

#include <CLI/CLI.hpp>
#include <string>

#include "host/cli/record_command.h"
#include "host/cli/simulate_command.h"

namespace berth {

/// What a simulation reads and how it schedules: of `simulate` and of `record`. @param files  describes the argument
void add_simulation(CLI::App& app, SimulateCommand& command, const std::string& files);

// Everything that the command takes. The command has to outlive the parser.
void add_options(CLI::App& app, RecordCommand& command);
void add_options(CLI::App& app, ReplayCommand& command);
void add_options(CLI::App& app, DiffCommand& command);

}  // namespace berth
