// SPDX-License-Identifier: Apache-2.0
#pragma once

// Between the options of a simulation and what a recording says of them.

#include <functional>
#include <string>

#include "host/cli/simulate_run.h"
#include "host/record/recording_reader.h"
#include "host/record/recording_writer.h"

namespace berth {

/// The options that decide what a simulation does, as facts of its recording. Backend, threads and device are not among
/// them: they change nothing.
RecordedFacts facts_of(const SimulateCommand& command);

/// Sets every option that `command` leaves open to what the recording says.
/// @throws InputError for an option that is not known, or a value that it cannot have
void apply_facts(const RecordingReader& reader, SimulateCommand& command);

/// Copies everything that the simulation reads into the recording, and closes its inputs.
/// @throws InputError, UsageError, RecordingError
void record_inputs(const SimulateCommand& command, RecordingWriter& writer);

/// Copies the inputs of a recording into another one; configurations that `config` names take the place of its own.
/// @throws InputError, RecordingError
void copy_inputs(RecordingReader& from, const ConfigOptions& config, RecordingWriter& writer);

/// Calls `use` with the recorded files and with `command`, its open options filled from the recording. Errors and
/// warnings have the names that the files had.
/// @throws InputError, RecordingError, and what `use` throws
void with_recording(const std::string& path, const SimulateCommand& command,
                    const std::function<void(const SimulateCommand&, SimulationFiles&&)>& use);

/// Runs the simulation and writes what it decides.
/// @throws RecordingError; what is closed by then stays in the recording
void run_recorded(PreparedSimulation&& prepared, bool is_quiet, RecordingWriter& writer);

}  // namespace berth
