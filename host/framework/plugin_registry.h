// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "host/config/scheduler_config.h"
#include "host/framework/plugin.h"
#include "host/framework/waiting_pods.h"

namespace berth {

/// What a plugin may use besides its arguments. Outlives the plugins.
struct FrameworkHandle {
  WaitingPods* waiting_pods = nullptr;
};

/// Creates a plugin for one profile. @throws InputError when its arguments are invalid
using PluginFactory = std::function<std::unique_ptr<Plugin>(const Profile& profile, const FrameworkHandle& handle)>;

/// Plugin factories by the plugin name in a configuration.
class PluginRegistry {
 public:
  /// @throws std::invalid_argument when the name is registered already
  void add(std::string name, PluginFactory factory);
  const PluginFactory* find(std::string_view name) const;  ///< null when unknown
  bool empty() const { return factories_.empty(); }

 private:
  std::map<std::string, PluginFactory, std::less<>> factories_;
};

}  // namespace berth
