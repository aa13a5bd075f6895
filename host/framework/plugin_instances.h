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

/// Instantiates the plugins of a profile, each once, however many extension points it joins. The arguments must outlive
/// the object.
class PluginInstances {
 public:
  using ByName = std::map<std::string, std::unique_ptr<Plugin>, std::less<>>;

  /// @param runs_elsewhere  tells for a name that `registry` does not have whether a backend runs it
  PluginInstances(const Profile& profile, const PluginRegistry& registry, const FrameworkHandle& handle,
                  const std::function<bool(std::string_view)>& runs_elsewhere)
      : profile_(profile), registry_(registry), handle_(handle), runs_elsewhere_(runs_elsewhere) {}

  /// @return null when the plugin runs elsewhere; also when it is unknown or does not implement the interface of the
  ///     point, which finish() reports
  template <class Interface>
  Interface* find(ExtensionPoint point, const std::string& name) {
    Plugin* plugin = instance(name);
    if (plugin == nullptr) return nullptr;
    auto* joined = dynamic_cast<Interface*>(plugin);
    if (joined == nullptr) note_missing_interface(point, name);
    return joined;
  }

  /// The plugins that join a point, in the profile's order, those that run elsewhere left out.
  template <class Interface>
  std::vector<Interface*> joining(ExtensionPoint point) {
    std::vector<Interface*> plugins;
    for (const EnabledPlugin& enabled : profile_.at(point))
      if (Interface* plugin = find<Interface>(point, enabled.name)) plugins.push_back(plugin);
    return plugins;
  }

  /// Hands the plugins over; null for one that runs elsewhere. @throws InputError with every problem found
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
