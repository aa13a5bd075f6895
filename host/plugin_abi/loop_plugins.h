// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/framework/host_plugin.h"
#include "host/framework/plugin_registry.h"

namespace berth {

/// Adds those of include/berth/plugin.h that join points of a scheduling loop, by their names.
/// @param plugins  of the loop's engine; others are left out
void register_loop_plugins(const HostPlugins& plugins, PluginRegistry& registry);

}  // namespace berth
