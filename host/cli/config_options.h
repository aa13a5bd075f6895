// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/declared_paths.h"
#include "host/objects/errors.h"
#include "host/plugin_abi/plugin_table.h"
#include "host/scheduler/scheduler.h"

namespace berth {

/// The command line cannot be understood: exit code 2.
class UsageError : public InputError {
 public:
  using InputError::InputError;
  explicit UsageError(std::string message) : InputError(InputProblem{"", "", std::move(message)}) {}
};

inline constexpr const char* kReleaseDefault = "1.35";
inline constexpr const char* kReleaseChoices = "1.35|1.36";
inline constexpr const char* kNodeSamplingChoices = "all|kube";
inline constexpr const char* kTieBreakChoices = "load|random|first|kube";
inline constexpr const char* kBatchingChoices = "engine|kube-1.35";

/// How a command schedules. Flags win over the engine's file.
struct ConfigOptions {
  std::string config_path;  ///< empty: kube-scheduler's defaults
  std::string config_name;  ///< what messages call it; empty: config_path
  std::string engine_config_path;
  std::vector<std::string> plugin_files;  ///< shared objects with a plugin each: include/berth/plugin.h
  PluginUse plugin_use = PluginUse::kEngine;
  std::optional<std::string> release;  ///< absent: kReleaseDefault
  std::string feature_gates;
  bool allow_unsupported = false;
  bool offers_allow_unsupported = true;  ///< the command has the option, and messages may name it
  std::optional<std::string> backend;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> node_sampling;
  std::optional<std::string> tie_break;
  std::optional<std::string> batching;
  std::optional<std::int32_t> threads;
  std::optional<std::int32_t> device;
  std::optional<std::string> on_device_failure;
};

/// The gates that the options ask for.
struct RequestedGates {
  FeatureGates gates;
  std::vector<std::string> left_out;  ///< gates of other components; only with allow_unsupported
};

/// @throws UsageError for a release or a gate that is not known
RequestedGates requested_gates(const ConfigOptions& options);

/// Reads the files and applies the flags. What is left out is a warning each, unless quiet.
/// @throws InputError for what is wrong in the files, and for a configuration that asks for what is not built unless
///         allow_unsupported is set; UsageError for flags
ScheduleOptions schedule_options(const ConfigOptions& options, bool quiet);

/// What the plugins of the options read of objects beyond the model. null: nothing
/// @throws InputError for a plugin that cannot be loaded
DeclaredPathsPtr declared_by_plugins(const ConfigOptions& options);

/// Warns on standard error of what the input lacks, in commands whose result has no place for it.
/// @param asked  warn of what these pods need alone; nullopt: of what any pod needs
void say_missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config,
                        const std::optional<std::vector<PodPtr>>& asked = std::nullopt);

/// Warns on standard error when a backend that was asked for by name is not the one that answered.
void say_other_backend(const EngineConfig& engine, const ScheduleResult& result);

}  // namespace berth
