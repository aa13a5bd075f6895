// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/config/feature_gates.h"
#include "host/framework/host_plugin.h"

namespace berth {

/// **The one list** of plugins that decide on the host and are built in, as the release has them. A registered plugin
/// with the name of one takes its place.
const HostPlugins& built_in_host_plugins(Release release);
bool is_built_in_host_plugin(std::string_view name);
/// The plugin itself is of the list, not one of the same name.
bool is_built_in(const HostPlugin& plugin);
/// `registered`, and behind them those built-in ones whose names are free.
HostPlugins with_built_in_host_plugins(HostPlugins registered, Release release);

}  // namespace berth
