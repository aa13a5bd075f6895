// SPDX-License-Identifier: Apache-2.0
#include "host/cli/simulate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "batching/device/device_errors.h"
#include "host/cli/messages.h"
#include "host/cli/progress_bar.h"
#include "host/plugin_abi/loop_plugins.h"

namespace berth {
namespace {

/// The scenario among `paths`, which is taken out of them; one without actions when there is none.
/// @throws UsageError when there are several
ScenarioFile take_scenario(std::vector<std::string>& paths, bool is_strict, const DeclaredPathsPtr& declared) {
  std::vector<std::string> scenarios;
  std::erase_if(paths, [&](const std::string& path) {
    const bool is_scenario = holds_scenario(path);
    if (is_scenario) scenarios.push_back(path);
    return is_scenario;
  });
  if (scenarios.size() > 1)
    throw UsageError(fmt::format("got the scenarios {} and {}, expected one at most", scenarios[0], scenarios[1]));
  return scenarios.empty() ? ScenarioFile() : load_scenario(scenarios.front(), is_strict, declared);
}

void apply_options(const SimulateCommand& command, ScenarioFile& file) {
  if (command.until_us) file.until_us = command.until_us;
  if (command.run_duration_us) file.run_duration_us = command.run_duration_us;
  if (!command.start) return;
  file.start_us.reset();
  file.start_rule = *command.start == "earliest" ? StartRule::kEarliest : StartRule::kLatest;
}

Scenario read_scenario(const SimulateCommand& command, SimulationFiles&& files, const SchedulerConfig& config,
                       int threads) {
  ScenarioFile& file = files.scenario;
  apply_options(command, file);
  InputOptions input = command.input;
  input.paths = std::move(files.clusters);
  input.declared = declared_by_plugins(command.config);
  input.nodes_may_come = std::any_of(file.actions.begin(), file.actions.end(), [](const ScenarioFile::Action& entry) {
    return !entry.create.decoded.nodes.empty();
  });
  ClusterObjects cluster;
  if (!input.paths.empty()) cluster = load_input(input, threads).objects;
  std::vector<std::string> warnings;
  Scenario scenario = make_scenario(std::move(file), std::move(cluster), warnings);
  if (input.quiet) return scenario;
  for (const std::string& warning : warnings) print_warning(input.with_shown_names(warning));
  say_missing_inputs(scenario.cluster, config);
  return scenario;
}

}  // namespace

SimulationFiles simulation_files(const SimulateCommand& command) {
  SimulationFiles files;
  files.clusters = command.input.paths;
  files.scenario = take_scenario(files.clusters, command.input.strict, declared_by_plugins(command.config));
  files.clusters.insert(files.clusters.end(), files.scenario.clusters.begin(), files.scenario.clusters.end());
  return files;
}

PreparedSimulation prepare_simulation(const SimulateCommand& command, SimulationFiles&& files) {
  ScheduleOptions schedule = schedule_options(command.config, command.input.quiet);
  PreparedSimulation prepared;
  prepared.scenario = read_scenario(command, std::move(files), schedule.config, schedule.engine.threads);
  prepared.options.loop.config = std::move(schedule.config);
  prepared.options.loop.engine = std::move(schedule.engine);
  register_loop_plugins(prepared.options.loop.engine.host_plugins, prepared.options.loop.plugins);
  prepared.options.loop.preemption = command.limits.limits(prepared.options.loop.engine.seed);
  prepared.options.loop.evictions_per_minute_max = command.limits.evictions_per_minute_max.value_or(0);
  return prepared;
}

SimulationResult run_simulation(const PreparedSimulation& prepared, bool is_quiet) {
  SimulationOptions options = prepared.options;
  ProgressBar bar("simulating, attempts:");
  options.progress = [&bar](std::int64_t attempts) { bar.update(static_cast<std::size_t>(attempts), 0); };
  if (!is_quiet)
    options.warn = [&bar](const std::string& sentence) {
      bar.clear();
      print_warning(sentence);
    };
  try {
    SimulationResult result = simulate(prepared.scenario, options);
    bar.clear();
    return result;
  } catch (const DeviceError& error) {
    if (options.loop.engine.on_device_failure != DeviceFailure::kRerunOnCpu) throw;
    if (!is_quiet) print_warning(fmt::format("{}; the whole simulation runs on cpu instead", error.what()));
  }
  options.loop.engine.backend = "cpu";
  SimulationResult result = simulate(prepared.scenario, options);
  bar.clear();
  return result;
}

}  // namespace berth
