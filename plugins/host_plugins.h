// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"

namespace berth {

/// **The one list** of plugins that decide on the host and are built in, with the gates and arguments of the
/// configuration. A registered plugin with the name of one takes its place.
HostPlugins built_in_host_plugins(const SchedulerConfig& config);
bool is_built_in_host_plugin(std::string_view name);
/// The plugin itself is of the list, not one of the same name.
bool is_built_in(const HostPlugin& plugin);
/// `registered`, and behind them those built-in ones whose names are free.
HostPlugins with_built_in_host_plugins(HostPlugins registered, const SchedulerConfig& config);

}  // namespace berth
