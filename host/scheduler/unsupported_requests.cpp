// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/unsupported_requests.h"

#include <set>
#include <string_view>

#include "plugins/registry.h"

namespace berth {

std::vector<std::string> unsupported_requests(const SchedulerConfig& config) {
  std::vector<std::string> requests;
  std::set<std::string_view> told;
  for (const Profile& profile : config.profiles) {
    for (const OutOfTreePlugin& plugin : profile.out_of_tree) {
      if (!told.insert(plugin.name).second) continue;
      requests.push_back(plugin.path + ": " + out_of_tree_problem(plugin.name));
    }
    for (const NamedPlugin& plugin : profile.named_plugins) {
      if (plugin_support(plugin.name).support != Support::kUnsupported || !told.insert(plugin.name).second) continue;
      requests.push_back(plugin.path + ": plugin " + plugin.name + " is enabled by name, but it is not built yet");
    }
  }
  for (const Extender& extender : config.extenders) {
    requests.push_back(extender.path + ": extender " + extender.url_prefix +
                       " is configured, but extenders are not built yet");
  }
  return requests;
}

}  // namespace berth
