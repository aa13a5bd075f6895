// SPDX-License-Identifier: Apache-2.0
#include "host/cli/schedule_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <numeric>

#include "host/cli/messages.h"
#include "host/cli/progress_bar.h"
#include "host/cli/schedule_document.h"
#include "host/cli/schedule_report.h"
#include "host/plugin_abi/loop_plugins.h"
#include "host/report/document_formats.h"
#include "host/report/figures.h"
#include "host/report/output.h"
#include "host/report/terminal.h"
#include "host/simulate/schedule_run.h"

namespace berth {
namespace {

constexpr int kScheduleSpreadDepth = 2;  // one placement a line

/// Pods that the loader made have no object in the API server that a Binding could name.
void say_expanded_pods(const ClusterObjects& objects) {
  const std::int64_t made =
      std::accumulate(objects.workloads.begin(), objects.workloads.end(), std::int64_t{0},
                      [](std::int64_t sum, const Workload& workload) { return sum + workload.expanded_pod_count; });
  if (made == 0) return;
  print_note(fmt::format("{} made from workloads and have no object yet; an API server refuses their bindings",
                         counted(made, "pod was", "pods were")));
}

/// @param seed  of the run
PreemptionOptions preemption_options(const ScheduleCommand& command, std::uint64_t seed) {
  PreemptionOptions options;
  if (command.preemption == "nominate") options.mode = PreemptionMode::kNominate;
  if (command.preemption == "off") options.mode = PreemptionMode::kOff;
  options.limits = command.limits.limits(seed);
  options.evictions_per_minute_max = command.limits.evictions_per_minute_max.value_or(0);
  return options;
}

/// Of formats that have no place for them.
void say_notes(const ScheduleResult& result) {
  for (const std::string& note : result.notes)
    if (note != kNoNodeNote) print_note(note);  // load_input() has said that, with the way out
}

void write_result(const ScheduleCommand& command, const ClusterObjects& objects, const ScheduleResult& result) {
  Output output(STDOUT_FILENO);
  if (command.format == "json") {
    write_schedule_document(result, *json_writer(output, kScheduleSpreadDepth));
  } else if (command.format == "yaml") {
    write_schedule_document(result, *yaml_writer(output));
  } else if (command.format == "bindings") {
    if (!command.input.quiet) {
      say_expanded_pods(objects);
      say_notes(result);
    }
    write_bindings(result, *json_writer(output, kScheduleSpreadDepth));
  } else if (command.format == "deletions") {
    if (!command.input.quiet) say_notes(result);
    write_deletions(result, output);
  } else {
    const ScheduleReportOptions options{command.format == "wide", command.stats};
    output.write(schedule_report(objects, result, options, Terminal::of(STDOUT_FILENO)));
  }
  output.flush();
}

}  // namespace

ExitCode run(const ScheduleCommand& command) {
  ScheduleOptions options = schedule_options(command.config, command.input.quiet);
  InputOptions what_to_read = command.input;
  what_to_read.declared = declared_by_plugins(command.config);
  const LoadedInput input = load_input(what_to_read, options.engine.threads);
  options.load_seconds = input.seconds;
  options.preemption = preemption_options(command, options.engine.seed);
  ProgressBar bar("placing");
  options.progress = [&bar](std::size_t done, std::size_t total) { bar.update(done, total); };
  const auto by_loop = [&] {
    PluginRegistry plugins;
    register_loop_plugins(options.engine.host_plugins, plugins);
    return schedule_by_loop(input.objects, options, plugins);
  };
  const ScheduleResult result =
      have_loop_points(options.engine.host_plugins) ? by_loop() : schedule(input.objects, options);
  bar.clear();
  if (!command.input.quiet) say_other_backend(options.engine, result);
  write_result(command, input.objects, result);
  return command.fail_unplaced && !result.unplaced.empty() ? ExitCode::kUnplaced : ExitCode::kDone;
}

}  // namespace berth
