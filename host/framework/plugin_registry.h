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

/// What a plugin may use besides its arguments; all of it outlives the plugins. Where no scheduling loop runs there is
/// nothing.
struct FrameworkHandle {
  WaitingPods* waiting_pods = nullptr;
  const ClusterCache* cluster = nullptr;  ///< the scheduler's, with the pods that it has assumed
  /// A pod that waits in the queue, by namespace and name; null: none. May be empty.
  std::function<PodPtr(std::string_view, std::string_view)> find_queued = {};
  bool has_api_server = false;  ///< a plugin may have a client of the API server: it is no simulated one
};

/// Creates a plugin for one profile. @throws InputError when its arguments are invalid
using PluginFactory = std::function<std::unique_ptr<Plugin>(const Profile& profile, const FrameworkHandle& handle)>;

/// Plugin factories by the plugin name in a configuration.
class PluginRegistry {
 public:
  /// @throws std::invalid_argument when the name is registered already
  void add(std::string name, PluginFactory factory);
  const PluginFactory* find(std::string_view name) const;  ///< null when unknown

 private:
  std::map<std::string, PluginFactory, std::less<>> factories_;
};

}  // namespace berth
