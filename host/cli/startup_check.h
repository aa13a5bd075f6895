// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"

namespace berth {

/// What a configuration asks for by name and Berth cannot do, a sentence each: plugins that are not in-tree or not
/// built, and extenders. A default plugin that the file does not name is not here: a pod that needs one gets an error.
std::vector<std::string> unsupported_requests(const SchedulerConfig& config);

/// Plugins that are not in-tree are left out: unsupported_requests() names them.
/// @param path  empty: kube-scheduler's defaults, which name nothing; "-": standard input
/// @throws InputError
SchedulerConfig load_config(const std::string& path, const FeatureGates& gates);

}  // namespace berth
