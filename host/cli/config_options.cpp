// SPDX-License-Identifier: Apache-2.0
#include "host/cli/config_options.h"

#include <fmt/format.h>

#include <utility>

#include "host/cli/messages.h"
#include "host/cli/startup_check.h"
#include "host/config/config_reader.h"
#include "host/plugin_abi/abi_plugin.h"
#include "host/scheduler/missing_inputs.h"
#include "host/scheduler/unsupported_requests.h"

namespace berth {
namespace {

void apply_flags(const ConfigOptions& options, EngineConfig& engine) {
  if (options.backend) engine.backend = *options.backend;
  if (options.seed) engine.seed = *options.seed;
  if (options.threads) engine.threads = *options.threads;
  if (options.node_sampling) engine.node_sampling = parse_node_sampling(*options.node_sampling);
  if (options.tie_break) engine.tie_break = parse_tie_break(*options.tie_break);
  if (options.batching) engine.batching = parse_batching(*options.batching);
  if (options.device) engine.device_ordinal = *options.device;
  if (options.on_device_failure) engine.on_device_failure = parse_device_failure(*options.on_device_failure);
}

void say_left_out(const std::string& what) { print_warning(what + "; going on without it"); }

void refuse_unsupported(const SchedulerConfig& config, const ConfigOptions& options, bool quiet) {
  std::vector<InputProblem> problems;
  for (const std::string& request : unsupported_requests(config)) {
    if (!options.allow_unsupported) {
      const char* const hint = options.offers_allow_unsupported ? " (--allow-unsupported continues without it)" : "";
      problems.push_back({options.config_path, "", request + hint});
    } else if (!quiet) {
      say_left_out((options.config_name.empty() ? options.config_path : options.config_name) + ": " + request);
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

/// In the order of the options. A file that was loaded before stays the same.
std::vector<PluginTable> plugins_of(const ConfigOptions& options) {
  std::vector<PluginTable> tables;
  tables.reserve(options.plugin_files.size());
  for (const std::string& file : options.plugin_files) tables.push_back(load_plugin(file, options.plugin_use));
  return tables;
}

}  // namespace

DeclaredPathsPtr declared_by_plugins(const ConfigOptions& options) { return declared_paths(plugins_of(options)); }

RequestedGates requested_gates(const ConfigOptions& options) {
  RequestedGates requested;
  try {
    requested.gates = FeatureGates(parse_release(options.release.value_or(kReleaseDefault)));
    requested.gates.apply(options.feature_gates, &requested.left_out);
  } catch (const InputError& error) {
    throw UsageError(error.problems());
  }
  if (requested.left_out.empty() || options.allow_unsupported) return requested;
  std::string names;
  for (const std::string& name : requested.left_out) names += (names.empty() ? "" : ", ") + quoted_for_message(name);
  throw UsageError(
      "--feature-gates: got " + names + ", expected gates of the scheduler" +
      (options.offers_allow_unsupported ? " (--allow-unsupported continues without gates of other components)" : ""));
}

ScheduleOptions schedule_options(const ConfigOptions& options, bool quiet) {
  const RequestedGates requested = requested_gates(options);
  std::vector<PluginTable> tables = plugins_of(options);
  SchedulerConfig config = load_config(options.config_path, requested.gates, outside_plugins(tables));
  refuse_unsupported(config, options, quiet);
  for (const std::string& name : requested.left_out) {
    if (!quiet) say_left_out("feature gate " + quoted_for_message(name) + " is not one of the scheduler");
  }
  ScheduleOptions result;
  result.config = std::move(config);
  if (options.allow_unsupported) result.config.extenders.clear();
  if (!options.engine_config_path.empty()) result.engine = load_engine_config(options.engine_config_path);
  apply_flags(options, result.engine);
  const AbiPlugins plugins = open_plugins(std::move(tables), result.config);
  result.engine.host_plugins.assign(plugins.begin(), plugins.end());
  return result;
}

void say_missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config,
                        const std::optional<std::vector<PodPtr>>& asked) {
  const std::vector<std::string> sentences =
      asked ? missing_inputs(objects, config, *asked) : missing_inputs(objects, config);
  for (const std::string& sentence : sentences) print_warning(sentence);
}

void say_other_backend(const EngineConfig& engine, const ScheduleResult& result) {
  if (engine.backend == "auto" || engine.backend == result.served_by) return;
  print_warning(result.why);
}

}  // namespace berth
