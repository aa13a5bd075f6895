// SPDX-License-Identifier: Apache-2.0
#include "host/framework/plugin_instances.h"

#include <utility>

#include "host/framework/plugin_calls.h"

namespace berth {

Plugin* PluginInstances::instance(const std::string& name) {
  const auto found = plugins_.find(name);
  if (found != plugins_.end()) return found->second.get();
  std::unique_ptr<Plugin> plugin;
  if (const PluginFactory* factory = registry_.find(name)) {
    plugin = (*factory)(profile_, handle_);
    if (plugin == nullptr || plugin->name() != name) {
      add_problem("the factory of plugin " + quoted(name) + " made something else");
      plugin = nullptr;
    }
  } else if (!runs_elsewhere_(name)) {
    add_problem("plugin " + quoted(name) + " is not registered");
  }
  return plugins_.emplace(name, std::move(plugin)).first->second.get();
}

void PluginInstances::note_missing_interface(ExtensionPoint point, const std::string& name) {
  add_problem("plugin " + quoted(name) + " does not implement " + std::string(to_string(point)));
}

void PluginInstances::add_problem(std::string message) {
  problems_.push_back({"profile " + quoted(profile_.scheduler_name), "", std::move(message)});
}

PluginInstances::ByName PluginInstances::finish() {
  if (!problems_.empty()) throw InputError(std::move(problems_));
  return std::move(plugins_);
}

}  // namespace berth
