// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"

namespace berth {

/// What of a configuration Berth cannot do, a sentence each: plugins that its lists enable by name and that are not
/// built, and extenders. Plugins that only stand in the default set are not here: a pod that needs one is told so.
/// @param named_plugins  of the file's "enabled" lists
std::vector<std::string> unsupported_requests(const SchedulerConfig& config,
                                              const std::vector<std::string>& named_plugins);

/// Names in the "enabled" lists of a configuration, each once, in order.
/// @param json  the text of a KubeSchedulerConfiguration that parse_scheduler_config() accepted
std::vector<std::string> named_plugins(std::string_view json);

/// A configuration with what its file names.
struct LoadedConfig {
  SchedulerConfig config;
  std::vector<std::string> named_plugins;
};

/// @param path  empty: kube-scheduler's defaults, which name nothing; "-": standard input
/// @throws InputError
LoadedConfig load_config(const std::string& path, const FeatureGates& gates);

}  // namespace berth
