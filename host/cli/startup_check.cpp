// SPDX-License-Identifier: Apache-2.0
#include "host/cli/startup_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/config/config_reader.h"
#include "host/objects/json_value.h"
#include "plugins/registry.h"

namespace berth {
namespace {

void add_names(const JsonValue& list, std::vector<std::string>& names) {
  list.for_each_element([&](const JsonValue& entry) {
    std::string name;
    const JsonValue field = entry.field("name");
    if (!field.read(name) || std::find(names.begin(), names.end(), name) != names.end()) return;
    names.push_back(std::move(name));
  });
}

}  // namespace

std::vector<std::string> named_plugins(std::string_view json) {
  std::vector<std::string> names;
  JsonParser parser;
  const auto element = parser.parse(json);
  if (!element) return names;
  ProblemSink sink("");  // problems were reported by who read the configuration
  const JsonValue root(*element, sink);
  const JsonValue profiles = root.field("profiles");
  profiles.for_each_element([&](const JsonValue& profile) {
    const JsonValue plugins = profile.field("plugins");
    plugins.for_each_field([&](std::string_view, const JsonValue& point) {
      const JsonValue enabled = point.field("enabled");
      add_names(enabled, names);
    });
  });
  return names;
}

std::vector<std::string> unsupported_requests(const SchedulerConfig& config,
                                              const std::vector<std::string>& named_plugins) {
  std::vector<std::string> requests;
  for (const std::string& name : named_plugins) {
    if (plugin_support(name).support != Support::kUnsupported) continue;
    requests.push_back(fmt::format("plugin {} is enabled by name, but it is not built yet", name));
  }
  for (const Extender& extender : config.extenders) {
    requests.push_back(fmt::format("extender {} is configured, but extenders are not built yet", extender.url_prefix));
  }
  return requests;
}

LoadedConfig load_config(const std::string& path, const FeatureGates& gates) {
  if (path.empty()) return {default_scheduler_config(gates), {}};
  const std::string json = config_json_from_file(path);
  return {parse_scheduler_config(json, path, gates), named_plugins(json)};
}

}  // namespace berth
