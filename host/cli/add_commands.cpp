// SPDX-License-Identifier: Apache-2.0
#include "host/cli/add_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/cli/add_options.h"
#include "host/cli/bench_command.h"
#include "host/cli/config_command.h"
#include "host/cli/explain_command.h"
#include "host/cli/generate_command.h"
#include "host/cli/help_notes.h"
#include "host/cli/import_command.h"
#include "host/cli/option_groups.h"
#include "host/cli/pages_command.h"
#include "host/cli/perf_command.h"
#include "host/cli/record_command.h"
#include "host/cli/recording_options.h"
#include "host/cli/schedule_command.h"
#include "host/cli/scheduler_command.h"
#include "host/cli/simulate_command.h"
#include "host/cli/version_command.h"
#include "host/objects/json_value.h"
#include "host/objects/loader.h"
#include "host/objects/text/text_limits.h"
#include "host/simulate/scenario.h"
#include "host/simulate/simulation.h"
#include "host/simulate/timeline.h"

namespace berth {
namespace {

// schedule_notes() states these limits.
static_assert(TextLimits{}.source_bytes_max == std::uint64_t{16} << 30 && TextLimits{}.item_bytes_max == 16u << 20);
static_assert(TextLimits{}.files_max == 1'000'000 && TextLimits{}.deferred_bytes_max == 256u << 20);
static_assert(TextLimits{}.yaml_depth_max == 200 && TextLimits{}.yaml_alias_bytes_max == 64u << 20);
static_assert(kObjectsMax == 20'000'000 && kInvalidObjectsMax == 1'000'000 && kExpandedPodsMax == 1'000'000);
static_assert(JsonParser::kMaxDepth == 256 && JsonParser::kMaxBytes == 16u << 20);

// kSimulateNotes states these.
static_assert(kScenarioBytesMax == 16u << 20 && kScenarioActionsMax == 100'000 && kScenarioPodsMax == 1'000'000);
static_assert(kLongestHours == 876'000 && kSimulationAttemptsMax == 100'000'000 && Timeline::kSamplesMax == 100'000);

constexpr std::int32_t kRepeatsMax = 1000;
constexpr std::int32_t kRateFactorMax = 10'000;
constexpr std::int32_t kScaleMax = 1000;
constexpr std::int64_t kPodsPerNodeMax = 1'000'000;
constexpr const char* kBackendChoices = "reference|cpu|cuda";

/// Binds a command to its own options; they live as long as the parser does.
template <class Command>
std::shared_ptr<Command> bind(CLI::App& app, CommandLine& line) {
  auto command = std::make_shared<Command>();
  app.callback([command, &line] { line.action = [command] { return run(*command); }; });
  return command;
}

void add_output_file(CLI::App& app, std::string& path) {
  add_text(app, "-o,--output", path, "FILE",
           "Where to write the objects as JSON; a name in .gz is compressed, - is standard output (default -)");
}

void add_preemption(CLI::App& app, ScheduleCommand& command) {
  add_choice(app, "--preemption", command.preemption, "evict|nominate|off",
             "What a pod that finds no node does to pods of lower priority: evict them and be tried again when they "
             "are gone; stop at the nomination, so that the report names them only; or nothing (default evict)");
  add_preemption_limits(app, command.limits);
}

void add_schedule(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("schedule", "Place every pending pod and report");
  const auto command = bind<ScheduleCommand>(app, line);
  add_input(app, command->input, BehindFile::kFiles)->required();
  add_config(app, command->config);
  command->config.plugin_use = PluginUse::kLoop;
  add_plugins(app, command->config.plugin_files);
  add_backend(app, command->config);
  add_engine(app, command->config);
  add_preemption(app, *command);
  add_choice(app, "-o,--output", command->format, "table|wide|json|yaml|bindings|deletions",
             "table: a report for people; wide: the same with every pod; json and yaml: the report for machines; "
             "bindings: Binding objects for kubectl create -f -; deletions: a kubectl delete line for each evicted "
             "pod, in order (default table)");
  app.add_flag("--fail-unplaced", command->fail_unplaced, "Exit with 3 when some pod found no node");
  app.add_flag("--stats", command->stats, "Show times and memory by part in the report for people");
  app.footer(schedule_notes());
}

void add_scheduler(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand(
      "scheduler", "Schedule the pods of a cluster in place of kube-scheduler, with its command line");
  const auto command = bind<SchedulerCommand>(app, line);
  add_scheduler_options(app, command->flags);
  add_text(app, "--engine-config", command->engine_config_path, "FILE",
           "BerthEngineConfiguration: settings of the engine itself; kube-scheduler has no such flag");
  add_plugins(app, command->plugin_files);
  app.footer(kSchedulerNotes);
}

void add_simulate(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand(
      "simulate", "Run a cluster on a virtual clock: pods arrive, run and end, nodes come and go");
  const auto command = bind<SimulateCommand>(app, line);
  add_simulation(
      app, *command,
      "A scenario (docs/simulate.md), dumps of a cluster as schedule reads them, or a scenario and dumps; or "
      "one recording (docs/recordings.md), whose options hold where none are given");
  command->config.plugin_use = PluginUse::kLoop;
  add_plugins(app, command->config.plugin_files);
  add_duration(app, "--interval", command->interval_us, kLongestUs,
               "Steps of the time line; 0s is one for each change (default: 60 steps at most)");
  add_text(app, "--plot", command->plot_path, "FILE",
           "Where to draw utilisation, pending pods and preemptions over time, as SVG");
  add_text(app, "--metrics-out", command->metrics_path, "FILE",
           "Where to write the scheduler's metrics at the end, as Prometheus reads them");
  add_choice(app, "-o,--output", command->format, "table|wide|json|yaml",
             "table: a time line for people; wide: the same with every pod; json and yaml: all of it for machines "
             "(default table)");
  app.footer(kSimulateNotes);
}

void add_record(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("record", "Run a simulation and write its inputs and decisions into a file");
  add_options(app, *bind<RecordCommand>(app, line));
  app.footer(kRecordNotes);
}

void add_replay(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("replay", "Run a recording again and compare the decisions");
  add_options(app, *bind<ReplayCommand>(app, line));
  app.footer(kReplayNotes);
}

void add_diff(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("diff", "Compare two recordings and explain the first differences");
  add_options(app, *bind<DiffCommand>(app, line));
  app.footer(kDiffNotes);
}

void add_explain(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand(
      "explain", "Say for pods which nodes fit, which refuse and why, and how the scores come about; places none");
  const auto command = bind<ExplainCommand>(app, line);
  add_values(app, "POD", "POD...", "Pods to explain: namespace/name, or a name that only one pod has",
             [command = command.get()](const std::string& name) {
               command->pods.push_back(name);
               return check_text(name);
             });
  add_text(app, "-n,--namespace", command->name_space, "NAMESPACE",
           "Namespace of the pods that are given by name alone; with --all, only pods of it");
  app.add_flag("--all", command->all, "Every pending pod, each alone");
  add_input(app, command->input, BehindFile::kArguments)->required();
  add_config(app, command->config);
  add_plugins(app, command->config.plugin_files);
  add_backend(app, command->config);
  add_threads(app, command->config);
  add_choice(app, "-o,--output", command->format, "table|json",
             "table: groups of nodes with the same answer; json: one record a line with every node (default table)");
  app.footer(kExplainNotes);
}

void add_config_check(CommandLine& line) {
  CLI::App& config = *line.app.add_subcommand("config", "Check configurations");
  config.require_subcommand(1);
  CLI::App& app =
      *config.add_subcommand("check", "Show which plugins a configuration runs, and which of them Berth supports");
  const auto command = bind<ConfigCommand>(app, line);
  add_text(app, "FILE", command->config.config_path, "FILE",
           "KubeSchedulerConfiguration, YAML or JSON; - is standard input")
      ->required();
  add_release(app, command->config);
  add_choice(app, "--node-sampling", command->config.node_sampling, "all|kube",
             "The value that schedule would be given (default all)");
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
  app.footer("Exits with 1 when the file is wrong, or when a run with it would not start.");
}

void add_generate(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("generate", "Make a cluster from a declarative spec");
  const auto command = bind<GenerateCommand>(app, line);
  add_text(app, "--spec", command->spec_path, "FILE", "The spec (docs/generate.md), YAML or JSON; - is standard input")
      ->required();
  add_number(app, "--seed", command->seed,
             "Seed of all random choices; the same spec and seed give the same cluster "
             "(default 0)");
  add_output_file(app, command->output_path);
  add_text(app, "--config-out", command->config_path, "FILE",
           "Where to write the random KubeSchedulerConfiguration of the same seed");
  add_text(app, "--feature-gates-out", command->feature_gates_path, "FILE",
           "Where to write what --feature-gates should be given with it, one line");
  app.add_flag("-q,--quiet", command->quiet, "No warnings on standard error");
}

void add_import(CommandLine& line) {
  CLI::App& import = *line.app.add_subcommand("import", "Turn other formats into Kubernetes objects");
  import.require_subcommand(1);
  CLI::App& app = *import.add_subcommand("openb", "The openb GPU cluster trace (cluster-trace-gpu-v2023)");
  const auto command = bind<ImportOpenbCommand>(app, line);
  add_text(app, "--nodes", command->nodes_path, "FILE", "Node list (CSV)")->required();
  add_text(app, "--pods", command->pods_path, "FILE", "Pod list (CSV)")->required();
  add_choice(app, "--gpu-mode", command->gpu_mode, "card|milli",
             "Cards as whole nvidia.com/gpu, or as thousandths that add up over cards (default card)");
  add_number(app, "--pods-per-node", command->pods_per_node, "Pods that a node may run (default 110)", 1,
             kPodsPerNodeMax);
  app.add_flag("--qos-priority", command->qos_priority,
               "Take priorities from the qos column: Guaranteed and LS 1000, Burstable 500, BE 0; the trace has none");
  add_output_file(app, command->output_path);
  app.add_flag("-q,--quiet", command->quiet, "No warnings on standard error");
}

/// One of kBackendChoices a value, or several divided by commas; each once.
std::string add_backend_names(const std::string& text, std::vector<std::string>& names) {
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string name = text.substr(from, comma - from);
    if (std::string expected = check_choice(name, kBackendChoices); !expected.empty())
      return expected + ", or several of them divided by commas";
    if (std::find(names.begin(), names.end(), name) != names.end()) return "each backend once";
    names.push_back(name);
    from = comma + 1;
  }
  return {};
}

void add_bench(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("bench", "Place one cluster several times and compare the rates");
  const auto command = bind<BenchCommand>(app, line);
  add_text(app, "--spec", command->spec_path, "FILE", "Cluster to generate in memory (docs/generate.md); or give -f");
  add_number(app, "--spec-seed", command->spec_seed,
             "Seed of the generated cluster, as --seed of generate (default 0)");
  add_input(app, command->input, BehindFile::kFiles);
  add_config(app, command->config);
  add_engine(app, command->config);
  add_values(app, "--backends", kBackendChoices,
             "Engines to measure, one after the other, divided by commas (default cpu)",
             [command = command.get()](const std::string& text) { return add_backend_names(text, command->backends); });
  add_number(app, "--repeat", command->repeat, "Runs of each; the quickest counts (default 3)", 1, kRepeatsMax);
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
}

void add_perf(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("perf", "Run workload files of upstream's scheduler_perf");
  const auto command = bind<PerfCommand>(app, line);
  CLI::Option* files = add_values(app, "--config", "FILE...",
                                  "Workload file as upstream writes it (performance-config.yaml). May be given several "
                                  "times, and more files may follow one --config.",
                                  [command = command.get()](const std::string& path) {
                                    command->paths.push_back(path);
                                    return check_text(path);
                                  });
  files->allow_extra_args(true)->required();
  add_text(app, "--label", command->labels, "LABEL,...",
           "Only workloads that have these labels, and not those with a - before them: performance,-short");
  add_text(app, "--name", command->name_pattern, "REGEX",
           "Only workloads in whose name (TestCase/Workload) the expression is found");
  add_number(app, "--rate-factor", command->rate_factor,
             "Churn, deletions and updates come this many times as often as the file says, and at least as often for "
             "each pod as at upstream's threshold; 1 runs the file as it is (default 1)",
             1, kRateFactorMax);
  add_number(
      app, "--scale", command->scale,
      "This many times the pods and other objects of the file on its nodes, whose amounts and CSI limits grow as "
      "much; volumes and claims are there before the clock starts (default 1: the file as it is)",
      1, kScaleMax);
  add_text(app, "--engine-config", command->config.engine_config_path, "FILE",
           "BerthEngineConfiguration: settings of the engine itself; options of the command line win over it");
  add_backend(app, command->config);
  add_engine(app, command->config);
  add_batching(app, command->config);
  add_text(app, "--metrics-out", command->metrics_path, "FILE",
           "Where to write the scheduler's metrics of all workloads, as Prometheus reads them");
  add_text(
      app, "--dump", command->dump_path, "FOLDER",
      "Where to write, for each measurement, the nodes, the pods that were on nodes and the measured pods, for other "
      "schedulers; the folder has to be there");
  add_choice(app, "-o,--output", command->format, "table|json",
             "For people, or upstream's JSON with a list of the workloads (default table)");
  app.add_flag("-q,--quiet", command->quiet, "No progress bar and no warnings on standard error");
  app.footer(kPerfNotes);
}

void add_version(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("version", "Print the version and facts about the build");
  const auto command = bind<VersionCommand>(app, line);
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
}

/// Commands for packagers, not in --help.
void add_pages(CommandLine& line) {
  CLI::App& man = *line.app.add_subcommand("man", "Print the man page as roff")->group("");
  bind<ManCommand>(man, line);
  CLI::App& completion = *line.app.add_subcommand("completion", "Print a completion script")->group("");
  add_choice(completion, "SHELL", bind<CompletionCommand>(completion, line)->shell, "bash|zsh|fish",
             "Shell to complete in")
      ->required();
}

}  // namespace

void add_commands(CommandLine& line) {
  add_schedule(line);
  add_scheduler(line);
  add_simulate(line);
  add_record(line);
  add_replay(line);
  add_diff(line);
  add_explain(line);
  add_config_check(line);
  add_generate(line);
  add_import(line);
  add_bench(line);
  add_perf(line);
  add_version(line);
  add_pages(line);
}

}  // namespace berth
