// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "batching/device/device_errors.h"
#include "host/cli/bench_command.h"
#include "host/cli/config_command.h"
#include "host/cli/explain_command.h"
#include "host/cli/generate_command.h"
#include "host/cli/help_notes.h"
#include "host/cli/import_command.h"
#include "host/cli/output.h"
#include "host/cli/schedule_command.h"
#include "host/cli/terminal.h"
#include "host/cli/version_command.h"
#include "host/objects/errors.h"
#include "host/objects/json_value.h"
#include "host/objects/loader.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

// kScheduleNotes states these limits.
static_assert(TextLimits{}.source_bytes_max == std::uint64_t{16} << 30 && TextLimits{}.item_bytes_max == 64u << 20);
static_assert(TextLimits{}.yaml_depth_max == 200 && TextLimits{}.yaml_alias_bytes_max == 64u << 20);
static_assert(LoadOptions{}.objects_max == 20'000'000 && kExpandedPodsMax == 10'000'000);
static_assert(JsonParser::kMaxDepth == 256 && JsonParser::kMaxBytes == 64u << 20);

using Action = std::function<ExitCode()>;

constexpr std::int32_t kThreadsMax = 1024;
constexpr std::int32_t kRepeatsMax = 1000;

/// The parser, and what it chose to do once parse() has returned.
struct CommandLine {
  CLI::App app{"places pods on nodes exactly as kube-scheduler would"};
  Action action;
};

std::vector<std::string> split_choices(const std::string& value) {
  OptionModel option;
  option.value = value;
  return option.choices();
}

/// A value that is one of the words of `choices` ("table|json"), which also stand in --help and in the completions.
template <class Target>
CLI::Option* add_choice(CLI::App& app, const std::string& names, Target& target, const std::string& choices,
                        const std::string& description) {
  return app.add_option(names, target, description)->option_text(choices)->check([choices](const std::string& value) {
    const std::vector<std::string> words = split_choices(choices);
    const bool known = std::find(words.begin(), words.end(), value) != words.end();
    return known ? std::string() : fmt::format("\"{}\" is not one of {}", value, choices);
  });
}

template <class Target>
CLI::Option* add_value(CLI::App& app, const std::string& names, Target& target, const std::string& value,
                       const std::string& description) {
  return app.add_option(names, target, description)->option_text(value);
}

/// A whole number from 0: the parser alone would let "-1" wrap around.
template <class Target>
CLI::Option* add_count(CLI::App& app, const std::string& names, Target& target, const std::string& description) {
  return add_value(app, names, target, "N", description)->check([](const std::string& value) {
    const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::string() : fmt::format("\"{}\" is not a number from 0", value);
  });
}

/// Binds a command to its own options; they live as long as the parser does.
template <class Command>
std::shared_ptr<Command> bind(CLI::App& app, CommandLine& line) {
  auto command = std::make_shared<Command>();
  app.callback([command, &line] { line.action = [command] { return run(*command); }; });
  return command;
}

void add_input(CLI::App& app, InputOptions& options, bool required) {
  add_value(
      app, "-f,--filename", options.paths, "FILE...",
      "Objects to read: files, directories (all .json, .yaml and .yml in them, bytewise by path) or - for standard "
      "input; JSON or YAML, plain, gzip or zstd. May be given more than once. JSON is read far faster than YAML.")
      ->required(required);
  app.add_flag("--skip-invalid", options.skip_invalid, "Leave invalid objects out, and list each, instead of stopping");
  app.add_flag("-q,--quiet", options.quiet, "No warnings on standard error");
}

void add_release(CLI::App& app, ConfigOptions& options) {
  add_choice(app, "--emulate-version", options.release, "1.35|1.36",
             "Kubernetes release to follow where releases differ (default 1.35)");
  add_value(
      app, "--feature-gates", options.feature_gates, "NAME=BOOL,...",
      "Feature gates that differ from the release's defaults, as kube-scheduler's flag; AllAlpha and AllBeta work");
  app.add_flag("--allow-unsupported", options.allow_unsupported,
               "Go on without plugins that the configuration enables by name, or extenders, that are not built yet");
}

void add_config(CLI::App& app, ConfigOptions& options) {
  add_value(app, "--config", options.config_path, "FILE",
            "KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); kube-scheduler's defaults without");
  add_value(app, "--engine-config", options.engine_config_path, "FILE",
            "BerthEngineConfiguration: settings of the engine itself; flags win over it");
  add_release(app, options);
}

void add_threads(CLI::App& app, ConfigOptions& options) {
  add_value(app, "--threads", options.threads, "N", "Threads to use; 0 is one per core (default 0)")
      ->check(CLI::Range(0, kThreadsMax));
}

void add_engine(CLI::App& app, ConfigOptions& options) {
  add_count(app, "--seed", options.seed, "Seed of the draws among nodes of the highest total (default 0)");
  add_choice(app, "--node-sampling", options.node_sampling, "all|kube",
             "Score every node, or stop and rotate as kube-scheduler does at parallelism 1 (default all)");
  add_choice(app, "--tie-break", options.tie_break, "random|first|kube",
             "Among nodes of the highest total: draw by the seed, take the first, or repeat the heap of kube-scheduler "
             "1.35 (default random)");
  add_threads(app, options);
  add_count(app, "--device", options.device, "Number of the device for cuda, as berth version lists them (default 0)");
  add_choice(app, "--on-device-failure", options.on_device_failure, "stop|rerun-on-cpu",
             "What a failing device, or none, does to a run with cuda: end it, or have cpu do all of it, which gives "
             "the same answer (default stop)");
}

void add_backend(CLI::App& app, ConfigOptions& options) {
  add_choice(app, "--backend", options.backend, "auto|reference|cpu|cuda",
             "Engine to use; auto takes cpu or cuda and says why (default auto)");
}

void add_schedule(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("schedule", "Place every pending pod and report");
  const auto command = bind<ScheduleCommand>(app, line);
  add_input(app, command->input, true);
  add_config(app, command->config);
  add_backend(app, command->config);
  add_engine(app, command->config);
  add_choice(app, "-o,--output", command->format, "table|wide|json|yaml|bindings",
             "Report for people, the same with every pod, report for machines, or Binding objects for kubectl create "
             "(default table)");
  app.add_flag("--fail-unplaced", command->fail_unplaced, "Exit with 3 when some pod found no node");
  app.add_flag("--stats", command->stats, "Show times and memory by part in the report for people");
  app.footer(kScheduleNotes);
}

void add_explain(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("explain", "Say what pending pods mean to every node, placing none");
  const auto command = bind<ExplainCommand>(app, line);
  add_value(app, "POD", command->pod, "POD", "namespace/name of a pending pod, or a name that only one has");
  app.add_flag("--all", command->all, "Every pending pod, each alone");
  add_input(app, command->input, true);
  add_config(app, command->config);
  add_backend(app, command->config);
  add_threads(app, command->config);
  add_choice(app, "-o,--output", command->format, "table|json",
             "Groups of equal nodes for people, or one JSON record a line with every node (default table)");
  app.footer(kExplainNotes);
}

void add_config_check(CommandLine& line) {
  CLI::App& config = *line.app.add_subcommand("config", "Look at configurations");
  config.require_subcommand(1);
  CLI::App& app = *config.add_subcommand("check", "Show what a configuration amounts to, and what of it Berth does");
  const auto command = bind<ConfigCommand>(app, line);
  add_value(app, "FILE", command->config.config_path, "FILE",
            "KubeSchedulerConfiguration, YAML or JSON; - is standard input")
      ->required();
  add_release(app, command->config);
  add_choice(app, "--node-sampling", command->config.node_sampling, "all|kube",
             "As schedule would be given it (default all)");
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
  app.footer("Exits with 1 when the file is wrong, or when a run with it would not start.");
}

void add_generate(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("generate", "Make a cluster from a declarative spec");
  const auto command = bind<GenerateCommand>(app, line);
  add_value(app, "--spec", command->spec_path, "FILE", "The spec (docs/generate.md), YAML or JSON; - is standard input")
      ->required();
  add_count(app, "--seed", command->seed, "Same spec and seed, same cluster (default 0)");
  add_value(app, "-o,--output", command->output_path, "FILE",
            "Where to write the objects as JSON; a name in .gz is compressed, - is standard output (default -)");
  add_value(app, "--config-out", command->config_path, "FILE",
            "Where to write the random KubeSchedulerConfiguration of the same seed");
  add_value(app, "--feature-gates-out", command->feature_gates_path, "FILE",
            "Where to write what --feature-gates should be given with it, one line");
  app.add_flag("-q,--quiet", command->quiet, "No warnings on standard error");
}

void add_import(CommandLine& line) {
  CLI::App& import = *line.app.add_subcommand("import", "Turn other formats into Kubernetes objects");
  import.require_subcommand(1);
  CLI::App& app = *import.add_subcommand("openb", "The openb GPU cluster trace (cluster-trace-gpu-v2023)");
  const auto command = bind<ImportOpenbCommand>(app, line);
  add_value(app, "--nodes", command->nodes_path, "FILE", "Node list (CSV)")->required();
  add_value(app, "--pods", command->pods_path, "FILE", "Pod list (CSV)")->required();
  add_choice(app, "--gpu-mode", command->gpu_mode, "card|milli",
             "Cards as whole nvidia.com/gpu, or as thousandths that add up over cards (default card)");
  add_value(app, "--pods-per-node", command->pods_per_node, "N", "Pods that a node may run (default 110)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  app.add_flag("--qos-priority", command->qos_priority,
               "Make priorities of the qos column: Guaranteed and LS 1000, Burstable 500, BE 0; the trace has none");
  add_value(app, "-o,--output", command->output_path, "FILE",
            "Where to write the objects as JSON; a name in .gz is compressed, - is standard output (default -)");
  app.add_flag("-q,--quiet", command->quiet, "No warnings on standard error");
}

void add_bench(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("bench", "Place one cluster several times and compare the rates");
  const auto command = bind<BenchCommand>(app, line);
  add_value(app, "--spec", command->spec_path, "FILE", "Cluster to generate in memory (docs/generate.md)");
  add_count(app, "--spec-seed", command->spec_seed, "Seed of the generated cluster (default 1)");
  add_input(app, command->input, false);
  add_config(app, command->config);
  add_engine(app, command->config);
  add_choice(app, "--backends", command->backends, "reference|cpu|cuda",
             "Engines to measure, one after the other, "
             "divided by commas (default cpu)")
      ->delimiter(',');
  add_value(app, "--repeat", command->repeat, "N", "Runs of each; the quickest counts (default 3)")
      ->check(CLI::Range(1, kRepeatsMax));
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
}

void add_version(CommandLine& line) {
  CLI::App& app = *line.app.add_subcommand("version", "Say version and build facts");
  const auto command = bind<VersionCommand>(app, line);
  add_choice(app, "-o,--output", command->format, "table|json", "For people or for machines (default table)");
}

ExitCode print(const std::string& text) {
  Output output(STDOUT_FILENO);
  output.write(text);
  output.flush();
  return ExitCode::kDone;
}

/// Commands for packagers, not in --help.
void add_pages(CommandLine& line) {
  CLI::App& man = *line.app.add_subcommand("man", "Print the man page as roff")->group("");
  man.callback([&line] { line.action = [] { return print(man_page(program_model(), program_version())); }; });
  CLI::App& completion = *line.app.add_subcommand("completion", "Print a completion script")->group("");
  const auto shell = std::make_shared<std::string>();
  add_choice(completion, "SHELL", *shell, "bash|zsh|fish", "Shell to complete in")->required();
  completion.callback(
      [&line, shell] { line.action = [shell] { return print(completion_script(program_model(), *shell)); }; });
}

OptionModel option_model(const CLI::Option& option) {
  OptionModel model;
  model.positional = option.get_positional();
  model.description = option.get_description();
  model.value = option.get_option_text();
  if (model.positional) {
    model.long_name = option.get_name(true);
    return model;
  }
  if (!option.get_snames().empty()) model.short_name = "-" + option.get_snames().front();
  if (!option.get_lnames().empty()) model.long_name = "--" + option.get_lnames().front();
  return model;
}

CommandModel command_model(const CLI::App& app, const std::string& above) {
  CommandModel model;
  model.name = app.get_name();
  model.path = above.empty() ? model.name : above + " " + model.name;
  model.description = app.get_description();
  model.details = app.get_footer();
  for (const CLI::Option* option : app.get_options()) model.options.push_back(option_model(*option));
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) model.commands.push_back(command_model(*child, model.path));
  }
  return model;
}

/// What is typed in front of the name of `app`: "berth config" for check.
std::string parent_path(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr) return "";
  const std::string above = parent_path(*parent);
  return above.empty() ? parent->get_name() : above + " " + parent->get_name();
}

void build(CommandLine& line) {
  line.app.name("berth");
  line.app.require_subcommand(1);
  line.app.set_help_flag("-h,--help", "Print this and exit");
  line.app.set_version_flag("--version", fmt::format("berth {}", program_version()), "Print the version and exit");
  line.app.formatter_fn([](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return help_text(command_model(*app, parent_path(*app)), Terminal::of(STDOUT_FILENO).columns);
  });
  line.app.footer(kProgramNotes);
  add_schedule(line);
  add_explain(line);
  add_config_check(line);
  add_generate(line);
  add_import(line);
  add_bench(line);
  add_version(line);
  add_pages(line);
}

ExitCode say_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help, --version
    app.exit(error);
    return ExitCode::kDone;
  }
  fmt::print(stderr, "berth: {}\nRun berth --help, or berth COMMAND --help, for what there is.\n", error.what());
  return ExitCode::kUsage;
}

/// Turns whatever goes wrong into words on standard error and an exit code.
ExitCode guarded(const Action& action) {
  try {
    return action();
  } catch (const UsageError& error) {
    fmt::print(stderr, "berth: {}\n", error.what());
    return ExitCode::kUsage;
  } catch (const InputError& error) {
    for (const InputProblem& problem : error.problems()) fmt::print(stderr, "berth: {}\n", problem.to_string());
  } catch (const DeviceError& error) {
    fmt::print(stderr, "berth: {}\n", error.what());
    return ExitCode::kDevice;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "berth: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "berth: {}\n", error.what());
  }
  return ExitCode::kError;
}

}  // namespace

CommandModel program_model() {
  CommandLine line;
  build(line);
  return command_model(line.app, "");
}

ExitCode run_program(int argument_count, const char* const* arguments) {
  CommandLine line;
  return guarded([&] {
    build(line);
    try {
      line.app.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
      return say_usage(line.app, error);
    }
    return guarded(line.action);
  });
}

}  // namespace berth
