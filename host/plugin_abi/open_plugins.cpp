// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "host/config/config_reader.h"
#include "host/objects/errors.h"
#include "host/plugin_abi/abi_plugin.h"

namespace berth {
namespace {

std::span<const char* const> paths_of(const char* const* paths, std::size_t count) { return {paths, count}; }

/// Adds the paths of a table. @return their numbers
PluginPaths add_paths(const PluginTable& table, DeclaredPaths& paths) {
  PluginPaths numbers;
  try {
    for (const char* path : paths_of(table.table.node_paths, table.table.node_path_count))
      numbers.of_nodes.push_back(paths.add_of_node(path));
    for (const char* path : paths_of(table.table.pod_paths, table.table.pod_path_count))
      numbers.of_pods.push_back(paths.add_of_pod(path));
  } catch (const std::invalid_argument& refused) {
    throw InputError(InputProblem{table.where, "", "plugin " + table.outside.name + ": " + refused.what()});
  }
  return numbers;
}

bool runs(const Profile& profile, const std::string& plugin) {
  return std::ranges::any_of(profile.plugins, [&](const std::vector<EnabledPlugin>& enabled) {
    return std::ranges::find(enabled, plugin, &EnabledPlugin::name) != enabled.end();
  });
}

const OutsideArgs* args_in(const Profile& profile, const std::string& plugin) {
  const auto at = std::ranges::find(profile.outside_args, plugin, &OutsideArgs::plugin);
  return at == profile.outside_args.end() ? nullptr : &*at;
}

/// Those of the profiles that run it. @throws InputError when none does
AbiPlugin::Arguments arguments_of(const PluginTable& table, const SchedulerConfig& config) {
  const std::string& plugin = table.outside.name;
  AbiPlugin::Arguments arguments;
  for (const Profile& profile : config.profiles) {
    if (!runs(profile, plugin)) continue;
    const OutsideArgs* const args = args_in(profile, plugin);
    arguments.emplace_back(profile.scheduler_name, args != nullptr ? args->json : "{}");
  }
  if (arguments.empty())
    throw InputError(InputProblem{
        table.where, "",
        "no profile enables plugin " + plugin + ", expected its name under profiles[].plugins of the configuration"});
  return arguments;
}

}  // namespace

std::vector<OutsidePlugin> outside_plugins(const std::vector<PluginTable>& tables) {
  std::vector<OutsidePlugin> plugins;
  std::set<std::string_view> names;
  for (const PluginTable& table : tables) {
    if (!names.insert(table.outside.name).second)
      throw InputError(InputProblem{table.where, "", "another plugin has the name " + table.outside.name + ", too"});
    plugins.push_back(table.outside);
  }
  return plugins;
}

DeclaredPathsPtr declared_paths(const std::vector<PluginTable>& tables) {
  auto paths = std::make_shared<DeclaredPaths>();
  for (const PluginTable& table : tables) add_paths(table, *paths);
  if (paths->of_nodes().empty() && paths->of_pods().empty()) return nullptr;
  return paths;
}

AbiPlugins open_plugins(std::vector<PluginTable> tables, const SchedulerConfig& config) {
  AbiPlugins plugins;
  DeclaredPaths paths;  // numbered as declared_paths() numbers them
  for (PluginTable& table : tables) {
    PluginPaths numbers = add_paths(table, paths);
    const AbiPlugin::Arguments arguments = arguments_of(table, config);
    plugins.push_back(std::make_shared<const AbiPlugin>(std::move(table), std::move(numbers), arguments));
  }
  return plugins;
}

}  // namespace berth
