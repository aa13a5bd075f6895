// SPDX-License-Identifier: Apache-2.0
#include "plugins/host_plugins.h"

#include <algorithm>

#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {

const HostPlugins& built_in_host_plugins(Release release) {
  static const auto make = [](Release of) {
    return HostPlugins{std::make_shared<VolumeRestrictions>(), std::make_shared<NodeVolumeLimits>(of),
                       std::make_shared<VolumeBinding>(), std::make_shared<VolumeZone>()};
  };
  static const HostPlugins k1_35 = make(Release::k1_35);
  static const HostPlugins k1_36 = make(Release::k1_36);
  return release == Release::k1_35 ? k1_35 : k1_36;
}

bool is_built_in_host_plugin(std::string_view name) {
  const HostPlugins& plugins = built_in_host_plugins(Release::k1_35);
  return std::any_of(plugins.begin(), plugins.end(), [&](const auto& plugin) { return plugin->name() == name; });
}

bool is_built_in(const HostPlugin& plugin) {
  for (const Release release : {Release::k1_35, Release::k1_36})
    for (const auto& built_in : built_in_host_plugins(release))
      if (built_in.get() == &plugin) return true;
  return false;
}

HostPlugins with_built_in_host_plugins(HostPlugins registered, Release release) {
  const std::size_t count = registered.size();
  for (const auto& plugin : built_in_host_plugins(release)) {
    const auto end = registered.begin() + static_cast<std::ptrdiff_t>(count);
    const auto has_name = [&](const auto& other) { return other->name() == plugin->name(); };
    if (std::none_of(registered.begin(), end, has_name)) registered.push_back(plugin);
  }
  return registered;
}

}  // namespace berth
