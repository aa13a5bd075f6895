// SPDX-License-Identifier: Apache-2.0
#include "host/cli/simulate_command.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "host/cli/recorded_simulation.h"
#include "host/cli/simulate_document.h"
#include "host/cli/simulate_report.h"
#include "host/cli/simulate_run.h"
#include "host/generate/generate.h"
#include "host/record/recording_reader.h"
#include "host/report/document_formats.h"
#include "host/report/output.h"
#include "host/report/terminal.h"
#include "host/simulate/plot.h"
#include "host/simulate/simulation.h"

namespace berth {
namespace {

constexpr int kSimulateSpreadDepth = 2;  // one sample a line
constexpr std::size_t kStepsDefault = 60;

void write_result(const SimulateCommand& command, const SimulationResult& result, const SimulationView& view) {
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    write_simulate_document(result, view, *json_writer(output, kSimulateSpreadDepth));
  } else if (command.format == "yaml") {
    write_simulate_document(result, view, *yaml_writer(output));
  } else {
    output.write(simulate_report(result, view, command.format == "wide", Terminal::of(STDOUT_FILENO)));
  }
  output.flush();
}

void report(const SimulateCommand& command, SimulationFiles&& files) {
  PreparedSimulation prepared = prepare_simulation(command, std::move(files));
  prepared.options.keeps_metrics = !command.metrics_path.empty();
  const SimulationResult result = run_simulation(prepared, command.input.quiet);
  const std::int64_t step_us = command.interval_us.value_or(step_for(result.end_us, kStepsDefault));
  write_result(command, result, SimulationView(result, step_us, prepared.options.loop.engine.seed));
  if (!command.plot_path.empty()) write_text(plot_svg(result), command.plot_path);
  if (!command.metrics_path.empty()) write_text(result.metrics_text, command.metrics_path);
}

}  // namespace

ExitCode run(const SimulateCommand& command) {
  const std::vector<std::string>& paths = command.input.paths;
  if (std::none_of(paths.begin(), paths.end(), is_recording)) {
    report(command, simulation_files(command));
    return ExitCode::kDone;
  }
  if (paths.size() > 1) throw UsageError("got a recording and other files, expected the recording alone");
  with_recording(paths.front(), command, report);
  return ExitCode::kDone;
}

}  // namespace berth
