// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers to write configurations and to inspect the result.

#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/objects/errors.h"

namespace berth {

/// A KubeSchedulerConfiguration as JSON; `fields` are the fields after apiVersion and kind.
inline std::string config_json(const std::string& fields) {
  return R"({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration")" +
         (fields.empty() ? "" : ", " + fields) + "}";
}

/// One profile with these fields.
inline std::string profile_json(const std::string& fields) { return config_json(R"("profiles": [{)" + fields + "}]"); }

/// One profile with arguments for one plugin.
inline std::string args_json(const std::string& plugin, const std::string& args) {
  return profile_json(R"("pluginConfig": [{"name": ")" + plugin + R"(", "args": )" + args + "}]");
}

inline SchedulerConfig parse(const std::string& text, const FeatureGates& gates = FeatureGates()) {
  return parse_scheduler_config(text, "config.yaml", gates);
}

/// The arguments of the first profile.
inline PluginArgs parse_args(const std::string& plugin, const std::string& args,
                             const FeatureGates& gates = FeatureGates()) {
  return parse(args_json(plugin, args), gates).profiles.at(0).args;
}

using Lines = std::vector<std::string>;

/// Without "line 7, " in front.
inline std::string path_of(const std::string& location) {
  const std::size_t comma = location.find(", ");
  if (!location.starts_with("line ")) return location;
  return comma == std::string::npos ? std::string() : location.substr(comma + 2);
}

/// The problems of the InputError that `body` throws, one "path: message" each; empty when it throws nothing.
template <class Body>
Lines problems_in(Body&& body) {
  Lines lines;
  try {
    body();
  } catch (const InputError& error) {
    for (const InputProblem& problem : error.problems())
      lines.push_back(path_of(problem.location) + ": " + problem.message);
  }
  return lines;
}

inline Lines problems_of(const std::string& text, const FeatureGates& gates = FeatureGates()) {
  return problems_in([&] { parse(text, gates); });
}

inline Lines args_problems(const std::string& plugin, const std::string& args,
                           const FeatureGates& gates = FeatureGates()) {
  const std::string prefix = "profiles[0].pluginConfig[0].args";
  Lines lines = problems_of(args_json(plugin, args), gates);
  for (std::string& line : lines) {
    if (line.starts_with(prefix)) line = line.substr(prefix.size());
  }
  return lines;
}

inline FeatureGates gates_with(std::string_view flag, Release release = Release::k1_35) {
  FeatureGates gates(release);
  gates.apply(flag);
  return gates;
}

/// Names at one point of the first profile, in running order; with "=weight" at score.
inline Lines names_at(const SchedulerConfig& config, ExtensionPoint point) {
  Lines names;
  for (const EnabledPlugin& plugin : config.profiles.at(0).at(point)) {
    names.push_back(plugin.name + (point == ExtensionPoint::kScore ? "=" + std::to_string(plugin.weight) : ""));
  }
  return names;
}

}  // namespace berth
