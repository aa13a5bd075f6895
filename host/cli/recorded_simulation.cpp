// SPDX-License-Identifier: Apache-2.0
#include "host/cli/recorded_simulation.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "host/cli/add_options.h"
#include "host/cli/version_command.h"
#include "host/objects/text/byte_source.h"
#include "host/record/recording_observer.h"
#include "host/record/unpacked_inputs.h"
#include "host/simulate/scenario.h"

namespace berth {
namespace {

constexpr std::string_view kOption = "option.";
constexpr const char* kTrue = "true";

/// Reads one recorded option. @return "" or what was expected
class FactTarget {
 public:
  explicit FactTarget(const std::string& value) : value_(value) {}

  std::string into(bool& target) const {
    if (value_ != kTrue) return kTrue;
    target = true;
    return {};
  }
  std::string into(std::optional<std::string>& target, const std::string& choices) const {
    std::string expected = check_choice(value_, choices);
    if (expected.empty() && !target) target = value_;
    return expected;
  }
  template <class Number>
  std::string into_number(std::optional<Number>& target, std::uint64_t highest) const {
    std::uint64_t number = 0;
    std::string expected = read_whole_number(value_, 0, highest, number);
    if (expected.empty() && !target) target = static_cast<Number>(number);
    return expected;
  }

 private:
  const std::string& value_;
};

/// @return "" or what was expected
std::string apply_option(std::string_view name, const std::string& value, SimulateCommand& command) {
  const FactTarget fact(value);
  ConfigOptions& config = command.config;
  if (name == "emulate-version") return fact.into(config.release, kReleaseChoices);
  if (name == "feature-gates") {
    if (config.feature_gates.empty()) config.feature_gates = value;
    return {};
  }
  if (name == "allow-unsupported") return fact.into(config.allow_unsupported);
  if (name == "seed") return fact.into_number(config.seed, UINT64_MAX);
  if (name == "node-sampling") return fact.into(config.node_sampling, kNodeSamplingChoices);
  if (name == "tie-break") return fact.into(config.tie_break, kTieBreakChoices);
  if (name == "batching") return fact.into(config.batching, kBatchingChoices);
  if (name == "keep-budgets") return fact.into(command.limits.keeps_budgets);
  if (name == "replaceable-first") return fact.into(command.limits.replaceable_first);
  if (name == "preemption-nodes") return fact.into(command.limits.nodes, kPreemptionNodesChoices);
  if (name == "evictions-per-minute")
    return fact.into_number(command.limits.evictions_per_minute_max, kEvictionsPerMinuteMax);
  if (name == "skip-invalid") return fact.into(command.input.skip_invalid);
  if (name == "strict") return fact.into(command.input.strict);
  if (name == "no-expand") return fact.into(command.input.no_expand);
  if (name == "start") return fact.into(command.start, kStartChoices);
  if (name == "until-us") return fact.into_number(command.until_us, kLongestUs);
  if (name == "run-duration-us") return fact.into_number(command.run_duration_us, kLongestUs);
  return "an option that this berth knows";
}

void add_file(RecordingWriter& writer, std::string_view kind, const std::string& path) {
  FileSource file(path, TextLimits{});
  writer.add_input(kind, path, file);
}

}  // namespace

RecordedFacts facts_of(const SimulateCommand& command) {
  RecordedFacts facts = {{"berth", std::string(program_version())}, {"command", "simulate"}};
  const auto add = [&](const char* name, const std::string& value) {
    facts.emplace_back(std::string(kOption) + name, value);
  };
  const auto add_flag = [&](const char* name, bool is_set) {
    if (is_set) add(name, kTrue);
  };
  const auto add_text = [&](const char* name, const std::optional<std::string>& value) {
    if (value) add(name, *value);
  };
  const auto add_number = [&](const char* name, const auto& value) {
    if (value) add(name, std::to_string(*value));
  };
  const ConfigOptions& config = command.config;
  add("emulate-version", config.release.value_or(kReleaseDefault));
  if (!config.feature_gates.empty()) add("feature-gates", config.feature_gates);
  add_flag("allow-unsupported", config.allow_unsupported);
  add_number("seed", config.seed);
  add_text("node-sampling", config.node_sampling);
  add_text("tie-break", config.tie_break);
  add_text("batching", config.batching);
  add_flag("keep-budgets", command.limits.keeps_budgets);
  add_flag("replaceable-first", command.limits.replaceable_first);
  add_text("preemption-nodes", command.limits.nodes);
  add_number("evictions-per-minute", command.limits.evictions_per_minute_max);
  add_flag("skip-invalid", command.input.skip_invalid);
  add_flag("strict", command.input.strict);
  add_flag("no-expand", command.input.no_expand);
  add_text("start", command.start);
  add_number("until-us", command.until_us);
  add_number("run-duration-us", command.run_duration_us);
  return facts;
}

void apply_facts(const RecordingReader& reader, SimulateCommand& command) {
  for (const auto& [key, value] : reader.facts()) {
    if (!key.starts_with(kOption)) continue;
    const std::string expected = apply_option(std::string_view(key).substr(kOption.size()), value, command);
    if (expected.empty()) continue;
    throw InputError(
        InputProblem{reader.path(), "run: " + key, fmt::format("got \"{}\", expected {}", value, expected)});
  }
}

void record_inputs(const SimulateCommand& command, RecordingWriter& writer) {
  SimulationFiles files = simulation_files(command);
  if (!files.scenario.source.empty()) add_file(writer, kScenarioInput, files.scenario.source);
  std::vector<InputProblem> problems;
  const std::vector<std::string> clusters = expand_paths(files.clusters, problems);
  if (!problems.empty()) throw InputError(std::move(problems));
  for (const std::string& path : clusters) add_file(writer, kClusterInput, path);
  if (!command.config.config_path.empty()) add_file(writer, kConfigurationInput, command.config.config_path);
  if (!command.config.engine_config_path.empty())
    add_file(writer, kEngineConfigurationInput, command.config.engine_config_path);
  writer.begin(facts_of(command));
}

void copy_inputs(RecordingReader& from, const ConfigOptions& config, RecordingWriter& writer) {
  for (const RecordedInput& input : from.inputs()) {
    const bool is_replaced = (input.kind == kConfigurationInput && !config.config_path.empty()) ||
                             (input.kind == kEngineConfigurationInput && !config.engine_config_path.empty());
    if (is_replaced) continue;
    RecordedInputStream stream(from, input);
    writer.add_input(input.kind, input.name, stream);
  }
  if (!config.config_path.empty()) add_file(writer, kConfigurationInput, config.config_path);
  if (!config.engine_config_path.empty()) add_file(writer, kEngineConfigurationInput, config.engine_config_path);
}

void with_recording(const std::string& path, const SimulateCommand& command,
                    const std::function<void(const SimulateCommand&, SimulationFiles&&)>& use) {
  SimulateCommand filled = command;
  std::unique_ptr<UnpackedInputs> inputs;
  {
    RecordingReader reader(path);
    apply_facts(reader, filled);
    inputs = std::make_unique<UnpackedInputs>(reader);
  }  // closed: who writes the file may want it for itself
  ConfigOptions& config = filled.config;
  if (config.config_path.empty()) config.config_path = inputs->configuration();
  if (config.engine_config_path.empty()) config.engine_config_path = inputs->engine_configuration();
  config.config_name = inputs->with_recorded_names(config.config_path);
  filled.input.shown_names = [&inputs](std::string text) { return inputs->with_recorded_names(std::move(text)); };
  try {
    SimulationFiles files;
    if (!inputs->scenario().empty())
      files.scenario = load_scenario(inputs->scenario(), filled.input.strict, declared_by_plugins(config));
    files.clusters = inputs->clusters();
    use(filled, std::move(files));
  } catch (const InputError& error) {
    throw inputs->with_recorded_names(error);
  }
}

void run_recorded(PreparedSimulation&& prepared, bool is_quiet, RecordingWriter& writer) {
  prepared.options.observe = [&writer, is_first = true](const Clock& clock) mutable {
    if (!std::exchange(is_first, false)) writer.restart();  // a device failed, and cpu does the run again
    return std::make_unique<RecordingObserver>(writer, clock);
  };
  if (prepared.options.loop.engine.threads == 1) writer.write_without_thread();
  const SimulationResult result = run_simulation(prepared, is_quiet);
  writer.end(result.start_us + result.end_us);
}

}  // namespace berth
