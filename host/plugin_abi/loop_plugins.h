// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/framework/host_plugin.h"
#include "host/framework/plugin_registry.h"

namespace berth {

/// Whether one of include/berth/plugin.h joins a point before or behind the choice of a node.
bool have_loop_points(const HostPlugins& plugins);
/// Adds those of include/berth/plugin.h that join such points, or say something of events, by their names.
/// @param plugins  of the loop's engine; others are left out
void register_loop_plugins(const HostPlugins& plugins, PluginRegistry& registry);

}  // namespace berth
