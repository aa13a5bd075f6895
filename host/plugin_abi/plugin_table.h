// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plugins of include/berth/plugin.h as they are registered: checked before anything of them is called.

#include <cstdint>
#include <memory>
#include <string>

#include "host/config/scheduler_config.h"
#include "include/berth/plugin.h"

namespace berth {

/// Which entries of a table are called.
enum class PluginUse : std::uint8_t {
  kEngine,          ///< PreFilter to Score: `berth explain` and `berth bench`
  kEngineAndQueue,  ///< and PreEnqueue: berth.h
  kLoop             ///< those before and behind the choice of a node, too
};

/// A plugin that this release can run.
struct PluginTable {
  berth_plugin table{};           ///< entries that the plugin does not have are zero
  OutsidePlugin outside;          ///< its name and points, for reading configurations
  std::string where;              ///< for messages: a file, or "plugins[0]"
  std::shared_ptr<void> library;  ///< keeps the shared object loaded; null: of the program itself
};

/// @param where  of `given`, for messages
/// @throws InputError naming what is wrong: a version of the interface, a size, an entry that is missing, or one that
///         nothing would call
PluginTable read_plugin_table(const berth_plugin* given, std::string where, PluginUse use = PluginUse::kEngine);

/// Loads a shared object and calls its berth_plugin_init().
/// @throws InputError naming the file, and the symbol where that is missing
PluginTable load_plugin(const std::string& file, PluginUse use = PluginUse::kEngine);

}  // namespace berth
