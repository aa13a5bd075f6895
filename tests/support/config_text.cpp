// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tests/support/object_text.h"

namespace berth::test {
namespace {

std::vector<ResourceWeight> resource_weights(const std::string& text) {
  std::vector<ResourceWeight> weights;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    weights.push_back({pair[0], pair.size() > 1 ? integer(pair[1]) : 1});
  }
  return weights;
}

std::vector<ShapePoint> shape_points(const std::string& text) {
  std::vector<ShapePoint> points;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    if (pair.size() != 2) fail("not utilization:score", part);
    points.push_back({small_integer(pair[0]), small_integer(pair[1])});
  }
  return points;
}

ScoringStrategyType strategy(std::string_view text) {
  if (text == "LeastAllocated") return ScoringStrategyType::kLeastAllocated;
  if (text == "MostAllocated") return ScoringStrategyType::kMostAllocated;
  if (text == "RequestedToCapacityRatio") return ScoringStrategyType::kRequestedToCapacityRatio;
  fail("no strategy", text);
}

/// "PLUGIN" everywhere, "PLUGIN@POINT" at one extension point.
void disable(Profile& profile, const std::string& text) {
  const std::vector<std::string> parts = split(text, '@');
  bool found = false;
  for (std::size_t i = 0; i < profile.plugins.size(); ++i) {
    if (parts.size() > 1 && to_string(static_cast<ExtensionPoint>(i)) != parts[1]) continue;
    found |= std::erase_if(profile.plugins[i], [&](const auto& enabled) { return enabled.name == parts[0]; }) > 0;
  }
  if (!found) fail("is not enabled", text);
}

NodeAffinity& added_affinity(Profile& profile) {
  auto& added = profile.args.node_affinity.added_affinity;
  if (!added) added.emplace();
  return *added;
}

bool apply_args(const std::string& key, const std::string& value, PluginArgs& args) {
  if (key == "strategy") {
    args.node_resources_fit.strategy = strategy(value);
  } else if (key == "resources") {
    args.node_resources_fit.resources = resource_weights(value);
  } else if (key == "shape") {
    args.node_resources_fit.shape = shape_points(value);
  } else if (key == "storage-shape") {
    args.volume_binding.shape = shape_points(value);
  } else if (key == "ignored") {
    args.node_resources_fit.ignored_resources = split(value, ',');
  } else if (key == "ignored-groups") {
    args.node_resources_fit.ignored_resource_groups = split(value, ',');
  } else if (key == "balanced") {
    args.balanced_allocation.resources = resource_weights(value);
  } else {
    return false;
  }
  return true;
}

/// "KEY:SKEW:hard" or "KEY:SKEW:soft"
TopologySpreadConstraint default_constraint(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 3 || (parts[2] != "hard" && parts[2] != "soft")) fail("not KEY:SKEW:hard or soft", text);
  TopologySpreadConstraint constraint;
  constraint.topology_key = topology_key(parts[0]);
  constraint.max_skew = small_integer(parts[1]);
  constraint.schedule_anyway = parts[2] == "soft";
  return constraint;
}

bool apply_topology_args(const std::string& key, const std::string& value, PluginArgs& args) {
  if (key == "hard-pod-affinity-weight") {
    args.inter_pod_affinity.hard_pod_affinity_weight = small_integer(value);
  } else if (key == "ignore-preferred-terms") {
    args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods = true;
  } else if (key == "default-spread") {
    args.pod_topology_spread.system_defaulting = false;
    if (!value.empty()) args.pod_topology_spread.default_constraints.push_back(default_constraint(value));
  } else {
    return false;
  }
  return true;
}

bool apply_profile(const std::string& key, const std::string& value, Profile& profile) {
  if (key == "disable") {
    disable(profile, value);
  } else if (key == "weight") {
    const std::vector<std::string> pair = split(value, ':');
    for (EnabledPlugin& plugin : profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)]) {
      if (plugin.name == pair.at(0)) plugin.weight = small_integer(pair.at(1));
    }
  } else if (key == "percentage") {
    profile.percentage_of_nodes_to_score = small_integer(value);
  } else if (key == "added-need") {
    auto& required = added_affinity(profile).required;
    if (!required) required.emplace();
    required->push_back(term(value));
  } else if (key == "added-prefer") {
    added_affinity(profile).preferred.push_back(preferred_term(value));
  } else {
    return apply_args(key, value, profile.args) || apply_topology_args(key, value, profile.args);
  }
  return true;
}

void fix(const std::string& bug, UpstreamBugs& bugs) {
  if (bug == "empty-spread-selector") {
    bugs.empty_spread_selector_counts_nothing = false;
  } else if (bug == "negative-namespace-selector") {
    bugs.negative_namespace_selector_matches_all = false;
  } else {
    fail("no upstream bug", bug);
  }
}

}  // namespace

void apply_config(const std::vector<std::string>& words, SchedulerConfig& config) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "release") {
      config = default_scheduler_config(FeatureGates(parse_release(value)));
    } else if (key == "gates") {
      FeatureGates gates(config.gates.release());
      gates.apply(value);
      config = default_scheduler_config(gates);
    } else {
      for (Profile& profile : config.profiles) {
        if (!apply_profile(key, value, profile)) fail("no word of a config", words[i]);
      }
    }
  }
}

void apply_engine(const std::vector<std::string>& words, EngineConfig& engine) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = key_value(words[i]);
    if (key == "ties") {
      engine.tie_break = parse_tie_break(value);
    } else if (key == "sampling") {
      engine.node_sampling = parse_node_sampling(value);
    } else if (key == "fixed") {
      fix(value, engine.upstream_bugs);
    } else if (key == "seed") {
      engine.seed = static_cast<std::uint64_t>(integer(value));
    } else {
      fail("no word of an engine", words[i]);
    }
  }
}

}  // namespace berth::test
