// SPDX-License-Identifier: Apache-2.0
#include "host/cli/record_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "host/cli/comparison_report.h"
#include "host/cli/difference_cause.h"
#include "host/cli/recorded_simulation.h"
#include "host/record/comparison.h"
#include "host/record/unpacked_inputs.h"
#include "host/report/output.h"

namespace berth {
namespace {

void print(const std::string& text) {
  Output output(STDOUT_FILENO);
  output.write(text);
  output.flush();
}

RecordingWriter::Existing existing(bool replaces) {
  return replaces ? RecordingWriter::Existing::kReplaceRecording : RecordingWriter::Existing::kRefuse;
}

/// The writer replaces the file before anything is read. @throws UsageError
void refuse_own_input(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code is_not_there;
    if (std::filesystem::equivalent(output, input, is_not_there))
      throw UsageError(fmt::format("-o {}: is the same file as the input {}, expected another one", output, input));
  }
}

/// Runs the recorded inputs of `from` into `writer`. Nothing is left of a run that does not begin.
void run_into(RecordingWriter& writer, const std::string& from, const SimulateCommand& command,
              const std::function<void(const SimulateCommand&)>& before) {
  bool is_begun = false;
  try {
    with_recording(from, command, [&](const SimulateCommand& filled, SimulationFiles&& files) {
      PreparedSimulation prepared = prepare_simulation(filled, std::move(files));
      before(filled);
      is_begun = true;
      run_recorded(std::move(prepared), filled.input.quiet, writer);
    });
  } catch (...) {
    if (!is_begun) writer.discard();
    throw;
  }
}

ExitCode report_comparison(RecordingReader& a, RecordingReader& b, std::int64_t differences_max) {
  const RecordingComparison comparison = compare(a, b, static_cast<std::size_t>(differences_max));
  print(comparison_report(a, b, comparison, cause_of_first(a, b, comparison)));
  return comparison.is_equal ? ExitCode::kDone : ExitCode::kDifferent;
}

}  // namespace

ExitCode run(const RecordCommand& command) {
  requested_gates(command.simulate.config);  // a usage error before there is a file
  refuse_own_input(command.output_path, command.simulate.input.paths);
  RecordingWriter writer(command.output_path, existing(command.replaces));
  try {
    record_inputs(command.simulate, writer);
  } catch (...) {
    writer.discard();
    throw;
  }
  // From here on the run is that of a replay: what the recording holds is what was run.
  SimulateCommand simulate;
  simulate.config = command.simulate.config;
  simulate.config.config_path.clear();
  simulate.config.engine_config_path.clear();
  simulate.input.quiet = command.simulate.input.quiet;
  run_into(writer, command.output_path, simulate, [](const SimulateCommand&) {});
  const RecordingReader reader(command.output_path);
  print(extent_report(reader));
  return ExitCode::kDone;
}

ExitCode run(const ReplayCommand& command) {
  requested_gates(command.simulate.config);
  refuse_own_input(command.output_path, {&command.path, 1});
  std::optional<PrivateFolder> folder;
  if (command.output_path.empty()) folder.emplace();
  const std::string path = folder ? folder->path() + "/replay.db" : command.output_path;
  RecordingReader recorded(command.path);
  {
    RecordingWriter writer(path, existing(command.replaces));
    run_into(writer, command.path, command.simulate, [&](const SimulateCommand& filled) {
      copy_inputs(recorded, command.simulate.config, writer);
      writer.begin(facts_of(filled));
    });
  }
  RecordingReader again(path);
  return report_comparison(recorded, again, command.differences_max);
}

ExitCode run(const DiffCommand& command) {
  RecordingReader a(command.a);
  RecordingReader b(command.b);
  return report_comparison(a, b, command.differences_max);
}

}  // namespace berth
