// SPDX-License-Identifier: Apache-2.0
#pragma once

// Turns the plugin lists of a profile into the plugins that run: merges the defaults, then expands multiPoint.
// Rules: docs/behaviour/scheduler-core.md 7.3 and 3.13.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/config/config_reader.h"
#include "host/config/scheduler_config.h"

namespace berth {

/// One entry of an enabled or disabled list.
struct PluginEntry {
  std::string name;
  std::int32_t weight = 0;  ///< 0: unset
  std::string path;         ///< where it was written; empty for a default
};

struct PluginSet {
  std::vector<PluginEntry> enabled;
  std::vector<PluginEntry> disabled;  ///< "*": all defaults
};

/// The plugin lists of one profile.
struct PluginSets {
  std::array<PluginSet, kExtensionPointCount> points;
  PluginSet multi_point;
  std::vector<OutOfTreePlugin> out_of_tree;  ///< left out of the lists

  const PluginSet& at(ExtensionPoint point) const { return points[static_cast<std::size_t>(point)]; }
};

/// Everything enabled through multiPoint, like kube-scheduler's defaults.
PluginSets default_plugin_sets(const FeatureGates& gates);

/// The "plugins" object of a profile. Invalid entries are omitted and are problems: removed plugins, plugins whose
/// gate is off, negative weights, and, unless the context omits them, plugins that are not in-tree.
PluginSets decode_plugin_sets(const JsonValue& value, const ConfigContext& context);

/// What the enabled lists name, each plugin once: points in their order, then multiPoint.
std::vector<NamedPlugin> enabled_by_name(const PluginSets& sets);

PluginSet merge(const PluginSet& defaults, const PluginSet& user);
PluginSets merge(const PluginSets& defaults, const PluginSets& user);

/// Fills plugins and placement_plugins of `profile`.
/// @param path of the profile, for problems without a single entry
/// @param loaded  plugins beside those of kube-scheduler
void expand(const PluginSets& merged, const std::string& path, Profile& profile, ProblemSink& sink,
            OutsidePlugins loaded = {});

/// All profiles share one queue, so they must have the same queue sort.
/// @param profiles  merged sets, [profile_count]
void check_common_queue_sort(std::span<const PluginSets> profiles, ProblemSink& sink);

}  // namespace berth
