// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"
#include "host/objects/errors.h"

namespace berth {

/// Instantiates each plugin of a profile once, for all its extension points. The arguments must outlive the object.
class PluginInstances {
 public:
  using ByName = std::map<std::string, std::unique_ptr<Plugin>, std::less<>>;

  /// @param runs_elsewhere  whether a backend runs the plugin of a name that `registry` does not have
  PluginInstances(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
                  const std::function<bool(std::string_view)>& runs_elsewhere)
      : profile_(profile), registry_(registry), handle_(handle), runs_elsewhere_(runs_elsewhere) {}

  /// @return null when the plugin runs in a backend; also when it is unknown or does not implement the interface of the
  ///     point, which finish() reports
  template <class Interface>
  Interface* find(ExtensionPoint point, const std::string& name) {
    Plugin* plugin = instance(name);
    if (plugin == nullptr) return nullptr;
    auto* joined = dynamic_cast<Interface*>(plugin);
    if (joined == nullptr) note_missing_interface(point, name);
    return joined;
  }

  /// The plugins of a point, in profile order, except those that run in a backend.
  template <class Interface>
  std::vector<Interface*> joining(ExtensionPoint point) {
    std::vector<Interface*> plugins;
    for (const EnabledPlugin& enabled : profile_.at(point))
      if (Interface* plugin = find<Interface>(point, enabled.name)) plugins.push_back(plugin);
    return plugins;
  }

  /// Transfers the plugins; null for one that runs in a backend. @throws InputError with every problem found
  ByName finish();

 private:
  Plugin* instance(const std::string& name);
  void note_missing_interface(ExtensionPoint point, const std::string& name);
  void add_problem(std::string message);

  const Profile& profile_;
  const PluginRegistry& registry_;
  const FrameworkHandle& handle_;
  const std::function<bool(std::string_view)>& runs_elsewhere_;
  ByName plugins_;
  std::vector<InputProblem> problems_;
};

}  // namespace berth
