// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "host/config/scheduler_config.h"

namespace berth {

/// Plugins that are not in-tree are left out: unsupported_requests() names them.
/// @param path  empty: kube-scheduler's defaults, which name nothing; "-": standard input
/// @param loaded  plugins that profiles may name beside those of kube-scheduler
/// @throws InputError, also for gates of what is not built
SchedulerConfig load_config(const std::string& path, const FeatureGates& gates, OutsidePlugins loaded = {});

}  // namespace berth
