// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "host/cli/exit_code.h"
#include "host/cli/simulate_command.h"

namespace berth {

/// `berth record`: runs a simulation and writes it into a recording.
struct RecordCommand {
  SimulateCommand simulate;  ///< its outputs are not used
  std::string output_path;
  bool replaces = false;  ///< a recording of that name
};

/// Prints how far the recording goes and its hash. @throws InputError, UsageError, DeviceError, RecordingError
ExitCode run(const RecordCommand& command);

/// `berth replay`: runs a recording again and compares.
struct ReplayCommand {
  std::string path;
  SimulateCommand simulate;  ///< options that are given win over the recording; its inputs and outputs are not used
  std::string output_path;   ///< of the new recording; empty: none stays
  bool replaces = false;
  std::int64_t differences_max = 10;
};

/// Prints the hash of the new run and the first differences.
/// @return kDifferent when it did not decide the same. @throws as run(RecordCommand)
ExitCode run(const ReplayCommand& command);

/// `berth diff`: compares two recordings.
struct DiffCommand {
  std::string a;
  std::string b;
  std::int64_t differences_max = 10;
};

/// @return kDifferent when they did not decide the same. @throws InputError
ExitCode run(const DiffCommand& command);

}  // namespace berth
