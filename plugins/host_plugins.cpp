// SPDX-License-Identifier: Apache-2.0
#include "plugins/host_plugins.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {

HostPlugins built_in_host_plugins(const SchedulerConfig& config) {
  return {std::make_shared<VolumeRestrictions>(), std::make_shared<NodeVolumeLimits>(config.gates),
          std::make_shared<VolumeBinding>(config), std::make_shared<VolumeZone>()};
}

bool is_built_in_host_plugin(std::string_view name) {
  static constexpr std::array kNames = {VolumeRestrictions::kName, NodeVolumeLimits::kName, VolumeBinding::kName,
                                        VolumeZone::kName};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_built_in(const HostPlugin& plugin) {
  return dynamic_cast<const VolumeRestrictions*>(&plugin) != nullptr ||
         dynamic_cast<const NodeVolumeLimits*>(&plugin) != nullptr ||
         dynamic_cast<const VolumeBinding*>(&plugin) != nullptr || dynamic_cast<const VolumeZone*>(&plugin) != nullptr;
}

HostPlugins with_built_in_host_plugins(HostPlugins registered, const SchedulerConfig& config) {
  const std::size_t count = registered.size();
  for (const auto& plugin : built_in_host_plugins(config)) {
    const auto end = registered.begin() + static_cast<std::ptrdiff_t>(count);
    const auto has_name = [&](const auto& other) { return other->name() == plugin->name(); };
    if (std::none_of(registered.begin(), end, has_name)) registered.push_back(plugin);
  }
  return registered;
}

}  // namespace berth
