// SPDX-License-Identifier: Apache-2.0
#include "host/cli/config_options.h"

#include <fmt/format.h>

#include <cstdio>

#include "host/cli/startup_check.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

void apply_flags(const ConfigOptions& options, EngineConfig& engine) {
  if (options.backend) engine.backend = *options.backend;
  if (options.seed) engine.seed = *options.seed;
  if (options.threads) engine.threads = *options.threads;
  if (options.node_sampling) engine.node_sampling = parse_node_sampling(*options.node_sampling);
  if (options.tie_break) engine.tie_break = parse_tie_break(*options.tie_break);
  if (options.device) engine.device_ordinal = *options.device;
  if (options.on_device_failure) engine.on_device_failure = parse_device_failure(*options.on_device_failure);
}

void refuse_unsupported(const LoadedConfig& loaded, const ConfigOptions& options) {
  std::vector<InputProblem> problems;
  for (const std::string& request : unsupported_requests(loaded.config, loaded.named_plugins)) {
    if (options.allow_unsupported) {
      fmt::print(stderr, "berth: warning: {}: {}; going on without it\n", options.config_path, request);
    } else {
      problems.push_back({options.config_path, "", request + " (--allow-unsupported goes on without it)"});
    }
  }
  if (!problems.empty()) throw InputError(std::move(problems));
}

}  // namespace

FeatureGates feature_gates(const ConfigOptions& options) {
  try {
    FeatureGates gates(parse_release(options.release));
    if (!options.feature_gates.empty()) gates.apply(options.feature_gates);
    return gates;
  } catch (const InputError& error) {
    throw UsageError(error.what());
  }
}

ScheduleOptions schedule_options(const ConfigOptions& options) {
  LoadedConfig loaded = load_config(options.config_path, feature_gates(options));
  refuse_unsupported(loaded, options);
  ScheduleOptions result;
  result.config = std::move(loaded.config);
  if (options.allow_unsupported) result.config.extenders.clear();
  if (!options.engine_config_path.empty()) result.engine = load_engine_config(options.engine_config_path);
  apply_flags(options, result.engine);
  return result;
}

void say_other_backend(const EngineConfig& engine, const ScheduleResult& result) {
  if (engine.backend == "auto" || engine.backend == result.served_by) return;
  fmt::print(stderr, "berth: warning: {}\n", result.why);
}

}  // namespace berth
