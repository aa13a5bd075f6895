// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "host/config/scheduler_config.h"

namespace berth {

/// One in-tree plugin of kube-scheduler: its extension points and its default place. The catalog lists kube-scheduler's
/// plugins; plugins/registry.h lists those that Berth has built.
struct CatalogPlugin {
  std::string_view name;
  std::int32_t default_weight;  ///< 0: unset (counts as 1)
  std::uint16_t points;         ///< bit per ExtensionPoint; 0: only points of later releases, not modelled
  std::string_view gate;        ///< feature gate that adds it to the default set; empty: always
  bool implements(ExtensionPoint point) const { return (points >> static_cast<unsigned>(point) & 1u) != 0; }
};

/// In the order of the default multiPoint list: docs/behaviour/scheduler-core.md 7.3.
std::span<const CatalogPlugin> plugin_catalog();
const CatalogPlugin* find_catalog_plugin(std::string_view name);  ///< nullptr when kube-scheduler has no such plugin

/// The plugin, if the gates allow it in a configuration.
bool is_available(const CatalogPlugin& plugin, const FeatureGates& gates);

/// Plugins that older releases had and that a configuration may no longer enable: docs/behaviour/scheduler-core.md 7.2,
/// and those that were removed with old versions of the configuration.
/// @return the replacement: "NodeVolumeLimits"; empty when kube-scheduler never had such a plugin, or still has it
std::string_view replacement_of_removed_plugin(std::string_view name);

/// Whether no release of kube-scheduler has or had a plugin of this non-empty name.
bool is_out_of_tree(std::string_view name);

}  // namespace berth
