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

/// What a plugin may reach beyond its arguments. Outlives the plugins.
struct FrameworkHandle {
  WaitingPods* waiting_pods = nullptr;
};

/// Makes a plugin for one profile. @throws InputError when its arguments make no sense
using PluginFactory = std::function<std::unique_ptr<Plugin>(const Profile& profile, const FrameworkHandle& handle)>;

/// Plugins by the name a configuration enables them with.
class PluginRegistry {
 public:
  /// @throws std::invalid_argument when the name is taken
  void add(std::string name, PluginFactory factory);
  const PluginFactory* find(std::string_view name) const;  ///< null when unknown

 private:
  std::map<std::string, PluginFactory, std::less<>> factories_;
};

}  // namespace berth
