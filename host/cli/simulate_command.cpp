// SPDX-License-Identifier: Apache-2.0
#include "host/cli/simulate_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "batching/device/device_errors.h"
#include "host/cli/document_writer.h"
#include "host/cli/messages.h"
#include "host/cli/output.h"
#include "host/cli/progress_bar.h"
#include "host/cli/simulate_document.h"
#include "host/cli/simulate_report.h"
#include "host/cli/terminal.h"
#include "host/generate/generate.h"
#include "host/simulate/plot.h"
#include "host/simulate/scenario_reader.h"
#include "host/simulate/simulation.h"

namespace berth {
namespace {

constexpr int kSimulateSpreadDepth = 2;  // one sample a line
constexpr std::size_t kStepsDefault = 60;

/// The scenario among `paths`, which is taken out of them; one without actions when there is none.
/// @throws UsageError when there are several
ScenarioFile take_scenario(std::vector<std::string>& paths, bool is_strict) {
  std::vector<std::string> scenarios;
  std::erase_if(paths, [&](const std::string& path) {
    const bool is_scenario = holds_scenario(path);
    if (is_scenario) scenarios.push_back(path);
    return is_scenario;
  });
  if (scenarios.size() > 1)
    throw UsageError(fmt::format("got the scenarios {} and {}, expected one at most", scenarios[0], scenarios[1]));
  return scenarios.empty() ? ScenarioFile() : load_scenario(scenarios.front(), is_strict);
}

void apply_options(const SimulateCommand& command, ScenarioFile& file) {
  if (command.until_us) file.until_us = command.until_us;
  if (command.run_duration_us) file.run_duration_us = command.run_duration_us;
  if (!command.start) return;
  file.start_us.reset();
  file.start_rule = *command.start == "earliest" ? StartRule::kEarliest : StartRule::kLatest;
}

Scenario read_scenario(const SimulateCommand& command, const SchedulerConfig& config, int threads) {
  InputOptions input = command.input;
  ScenarioFile file = take_scenario(input.paths, input.strict);
  apply_options(command, file);
  input.paths.insert(input.paths.end(), file.clusters.begin(), file.clusters.end());
  input.nodes_may_come = std::any_of(file.actions.begin(), file.actions.end(), [](const ScenarioFile::Action& entry) {
    return !entry.create.decoded.nodes.empty();
  });
  ClusterObjects cluster;
  if (!input.paths.empty()) cluster = load_input(input, threads).objects;
  std::vector<std::string> warnings;
  Scenario scenario = make_scenario(std::move(file), std::move(cluster), warnings);
  if (command.input.quiet) return scenario;
  for (const std::string& warning : warnings) print_warning(warning);
  say_missing_inputs(scenario.cluster, config);
  return scenario;
}

SimulationResult run_scenario(const Scenario& scenario, SimulationOptions options, bool is_quiet) {
  try {
    return simulate(scenario, options);
  } catch (const DeviceError& error) {
    if (options.loop.engine.on_device_failure != DeviceFailure::kRerunOnCpu) throw;
    if (!is_quiet) print_warning(fmt::format("{}; the whole simulation runs on cpu instead", error.what()));
  }
  options.loop.engine.backend = "cpu";
  return simulate(scenario, options);
}

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

}  // namespace

ExitCode run(const SimulateCommand& command) {
  ScheduleOptions schedule = schedule_options(command.config, command.input.quiet);
  const Scenario scenario = read_scenario(command, schedule.config, schedule.engine.threads);
  SimulationOptions options;
  options.loop.config = std::move(schedule.config);
  options.loop.engine = schedule.engine;
  options.loop.preemption.keeps_budgets = command.keeps_budgets;
  ProgressBar bar("simulating, attempts:");
  options.progress = [&bar](std::int64_t attempts) { bar.update(static_cast<std::size_t>(attempts), 0); };
  const SimulationResult result = run_scenario(scenario, std::move(options), command.input.quiet);
  bar.clear();
  const std::int64_t step_us = command.interval_us.value_or(step_for(result.end_us, kStepsDefault));
  write_result(command, result, SimulationView(result, step_us, schedule.engine.seed));
  if (!command.plot_path.empty()) write_text(plot_svg(result), command.plot_path);
  return ExitCode::kDone;
}

}  // namespace berth
