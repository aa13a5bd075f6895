// SPDX-License-Identifier: Apache-2.0
#include "host/cli/recording_options.h"

#include "host/cli/add_options.h"
#include "host/cli/option_groups.h"
#include "host/simulate/scenario.h"

namespace berth {
namespace {

constexpr std::int64_t kDifferencesMax = 10'000;

void add_force(CLI::App& app, bool& replaces) {
  app.add_flag("--force", replaces, "Replace a recording of that name; a file that is no recording never is");
}

void add_differences(CLI::App& app, std::int64_t& differences_max) {
  add_number(app, "--differences", differences_max, "How many of the first differences to show (default 10)", 1,
             kDifferencesMax);
}

}  // namespace

void add_simulation(CLI::App& app, SimulateCommand& command, const std::string& files) {
  add_values(app, "FILE", "FILE...", files, [&command](const std::string& path) {
    command.input.paths.push_back(path);
    return check_text(path);
  })->required();
  add_input_flags(app, command.input);
  add_choice(
      app, "--start", command.start, kStartChoices,
      "When the clock begins: at the latest creation or start of a pod in the input, so that a dump continues from "
      "when it was taken; or at the earliest creation of a pending pod, so that a trace runs from its beginning "
      "(default: as the scenario says, else latest)");
  add_duration(app, "--until", command.until_us, kLongestUs,
               "How long to simulate (default: as the scenario says, else until nothing can happen any more)");
  add_duration(app, "--run-duration", command.run_duration_us, kLongestUs,
               "How long pods run that do not say it (default: as the scenario says, else until they are deleted)");
  add_config(app, command.config);
  add_backend(app, command.config);
  add_engine(app, command.config);
  add_batching(app, command.config);
  add_preemption_limits(app, command.limits);
}

void add_options(CLI::App& app, RecordCommand& command) {
  add_simulation(app, command.simulate,
                 "A scenario (docs/simulate.md), dumps of a cluster as schedule reads them, or a scenario and dumps");
  add_text(app, "-o,--output", command.output_path, "FILE", "The recording, a SQLite file")->required();
  add_force(app, command.replaces);
}

void add_options(CLI::App& app, ReplayCommand& command) {
  add_text(app, "FILE", command.path, "FILE", "A recording")->required();
  app.add_flag("-q,--quiet", command.simulate.input.quiet, "No warnings on standard error");
  add_config(app, command.simulate.config);
  add_backend(app, command.simulate.config);
  add_engine(app, command.simulate.config);
  add_batching(app, command.simulate.config);
  add_preemption_limits(app, command.simulate.limits);
  add_text(app, "-o,--output", command.output_path, "FILE", "Where to keep the new run, as a recording");
  add_force(app, command.replaces);
  add_differences(app, command.differences_max);
}

void add_options(CLI::App& app, DiffCommand& command) {
  add_text(app, "A", command.a, "A", "A recording")->required();
  add_text(app, "B", command.b, "B", "Another recording")->required();
  add_differences(app, command.differences_max);
}

}  // namespace berth
