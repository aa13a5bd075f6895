// SPDX-License-Identifier: Apache-2.0
#include "host/config/plugin_args.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "host/config/node_affinity_reader.h"
#include "host/config/plugin_catalog.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int32_t kShapeScoreMax = 10;

/// Fields that any args object may have; they must match the plugin's name.
bool is_type_field(std::string_view key, const JsonValue& value, const std::string& kind) {
  if (key != "kind" && key != "apiVersion") return false;
  const std::string_view wanted = key == "kind" ? std::string_view(kind) : kSchedulerApiVersion;
  std::string_view text;
  if (value.read(text) && text != wanted) value.mismatch(quoted_for_message(wanted));
  return true;
}

void read_resources(const JsonValue& list, std::int64_t weight_max, std::vector<ResourceWeight>& out) {
  if (!list.present() || !list.expect_array()) return;
  std::vector<ResourceWeight> resources;
  list.for_each_element([&](const JsonValue& element) {
    ResourceWeight resource;
    element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
      if (key == "name") {
        value.read(resource.name);
      } else if (key == "weight") {
        read_in_range<std::int64_t>(value, resource.weight, 0, weight_max);
        if (resource.weight == 0) resource.weight = 1;
      } else {
        return false;
      }
      return true;
    });
    resources.push_back(std::move(resource));
  });
  if (!resources.empty()) out = std::move(resources);
}

ShapePoint read_shape_point(const JsonValue& element) {
  ShapePoint point;
  element.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "utilization") {
      read_in_range<std::int32_t>(value, point.utilization, 0, 100);
    } else if (key == "score") {
      read_in_range<std::int32_t>(value, point.score, 0, kShapeScoreMax);
    } else {
      return false;
    }
    return true;
  });
  return point;
}

/// At least one point, utilization strictly increasing.
void read_shape(const JsonValue& list, std::vector<ShapePoint>& out) {
  if (list.present() && !list.expect_array()) return;
  out.clear();
  list.for_each_element([&](const JsonValue& element) {
    const ShapePoint point = read_shape_point(element);
    if (!out.empty() && point.utilization <= out.back().utilization) {
      element.field("utilization").mismatch("more than the point before, " + std::to_string(out.back().utilization));
    }
    out.push_back(point);
  });
  if (out.empty()) list.problem("expected at least one point");
}

void read_label_names(const JsonValue& list, bool allows_prefix, std::vector<std::string>& out) {
  if (!list.read(out)) return;
  list.for_each_element([&](const JsonValue& element) {
    std::string_view name;
    if (element.present() && !element.is_string()) return;  // said already
    element.read(name);
    if (!allows_prefix && name.find('/') != std::string_view::npos) {
      element.mismatch("a resource group name without \"/\"");
    } else if (!is_qualified_name(name)) {
      element.mismatch("a name in the syntax of a label key");
    }
  });
}

// ---- one function for each plugin with arguments; each returns whether it knows the field

constexpr auto kStrategies = std::to_array<std::pair<std::string_view, ScoringStrategyType>>({
    {"LeastAllocated", ScoringStrategyType::kLeastAllocated},
    {"MostAllocated", ScoringStrategyType::kMostAllocated},
    {"RequestedToCapacityRatio", ScoringStrategyType::kRequestedToCapacityRatio},
});

void read_ratio(const JsonValue& ratio, std::vector<ShapePoint>& out) {
  ratio.for_each_field_strict([](std::string_view key, const JsonValue&) { return key == "shape"; });
  if (ratio.is_object()) read_shape(ratio.field("shape"), out);
}

void read_scoring_strategy(const JsonValue& strategy, const ConfigContext& context, NodeResourcesFitArgs& out) {
  bool has_ratio = false;
  strategy.for_each_field_strict([&](std::string_view key, const JsonValue& value) {
    if (key == "type") {
      if (const auto type = read_choice(value, kStrategies)) out.strategy = *type;
    } else if (key == "resources") {
      read_resources(value, 100, out.resources);
    } else if (key == "requestedToCapacityRatio") {
      has_ratio = value.present();
      read_ratio(value, out.shape);
    } else {
      return false;
    }
    return true;
  });
  if (!strategy.is_object()) return;
  const bool wants_ratio = out.strategy == ScoringStrategyType::kRequestedToCapacityRatio;
  if (wants_ratio && !has_ratio) {
    strategy.field("requestedToCapacityRatio").mismatch("a shape: type is RequestedToCapacityRatio");
  }
  if (!wants_ratio && has_ratio && context.gates.release() >= Release::k1_36) {
    strategy.field("requestedToCapacityRatio").mismatch("nothing: type is not RequestedToCapacityRatio");
  }
  if (!wants_ratio) out.shape.clear();
}

bool read_node_resources_fit(std::string_view key, const JsonValue& value, const ConfigContext& context,
                             PluginArgs& args) {
  NodeResourcesFitArgs& out = args.node_resources_fit;
  if (key == "ignoredResources") {
    read_label_names(value, true, out.ignored_resources);
  } else if (key == "ignoredResourceGroups") {
    read_label_names(value, false, out.ignored_resource_groups);
  } else if (key == "scoringStrategy") {
    read_scoring_strategy(value, context, out);
  } else {
    return false;
  }
  return true;
}

bool read_balanced_allocation(std::string_view key, const JsonValue& value, const ConfigContext&, PluginArgs& args) {
  if (key != "resources") return false;
  read_resources(value, 1, args.balanced_allocation.resources);
  std::set<std::string_view> seen;
  if (!value.is_array()) return true;
  value.for_each_element([&](const JsonValue& element) {
    const JsonValue name = element.field("name");
    if (name.is_string() && !seen.insert(std::string_view(name.element())).second) {
      name.mismatch("a resource that is not listed before");
    }
  });
  return true;
}

bool read_node_affinity_args(std::string_view key, const JsonValue& value, const ConfigContext& context,
                             PluginArgs& args) {
  if (key != "addedAffinity") return false;
  if (value.present()) args.node_affinity.added_affinity = read_node_affinity(value, context.sink);
  return true;
}

bool read_inter_pod_affinity(std::string_view key, const JsonValue& value, const ConfigContext&, PluginArgs& args) {
  InterPodAffinityArgs& out = args.inter_pod_affinity;
  if (key == "hardPodAffinityWeight") {
    read_in_range<std::int32_t>(value, out.hard_pod_affinity_weight, 0, 100);
  } else if (key == "ignorePreferredTermsOfExistingPods") {
    value.read(out.ignore_preferred_terms_of_existing_pods);
  } else {
    return false;
  }
  return true;
}

constexpr auto kInclusionPolicies =
    std::to_array<std::pair<std::string_view, bool>>({{"Honor", true}, {"Ignore", false}});
constexpr auto kUnsatisfiable =
    std::to_array<std::pair<std::string_view, bool>>({{"DoNotSchedule", false}, {"ScheduleAnyway", true}});

bool read_constraint_field(std::string_view key, const JsonValue& value, TopologySpreadConstraint& out) {
  if (key == "maxSkew") {
    read_in_range<std::int32_t>(value, out.max_skew, 1);
  } else if (key == "topologyKey") {
    value.read(out.topology_key);
  } else if (key == "whenUnsatisfiable") {
    out.schedule_anyway = read_choice(value, kUnsatisfiable).value_or(false);
  } else if (key == "labelSelector") {
    if (value.present()) value.problem("expected no selector: it is made for each pod");
  } else if (key == "minDomains") {
    read_in_range<std::int32_t>(value, out.min_domains.emplace(1), 1);
    if (!value.present()) out.min_domains.reset();
  } else if (key == "nodeAffinityPolicy") {
    out.honor_node_affinity = read_choice(value, kInclusionPolicies).value_or(true);
  } else if (key == "nodeTaintsPolicy") {
    out.honor_node_taints = read_choice(value, kInclusionPolicies).value_or(false);
  } else if (key == "matchLabelKeys") {
    value.read(out.match_label_keys);
  } else {
    return false;
  }
  return true;
}

TopologySpreadConstraint read_constraint(const JsonValue& element) {
  TopologySpreadConstraint constraint;
  element.for_each_field_strict(
      [&](std::string_view key, const JsonValue& value) { return read_constraint_field(key, value, constraint); });
  for (const std::string_view required : {"maxSkew", "topologyKey", "whenUnsatisfiable"}) {
    const JsonValue field = element.field(required);
    if (!field.present()) field.problem("expected a value: the field is required");
  }
  const JsonValue topology_key = element.field("topologyKey");
  if (topology_key.is_string() && !is_qualified_name(constraint.topology_key)) topology_key.mismatch("a label key");
  return constraint;
}

void read_default_constraints(const JsonValue& list, std::vector<TopologySpreadConstraint>& out) {
  list.for_each_element([&](const JsonValue& element) {
    TopologySpreadConstraint constraint = read_constraint(element);
    for (const TopologySpreadConstraint& other : out) {
      if (other.topology_key == constraint.topology_key && other.schedule_anyway == constraint.schedule_anyway) {
        element.problem("repeats topologyKey and whenUnsatisfiable of an earlier constraint");
        break;
      }
    }
    out.push_back(std::move(constraint));
  });
}

constexpr auto kDefaulting = std::to_array<std::pair<std::string_view, bool>>({{"System", true}, {"List", false}});

bool read_pod_topology_spread(std::string_view key, const JsonValue& value, const ConfigContext&, PluginArgs& args) {
  PodTopologySpreadArgs& out = args.pod_topology_spread;
  if (key == "defaultingType") {
    const bool is_empty = value.is_string() && std::string_view(value.element()).empty();
    if (!is_empty) out.system_defaulting = read_choice(value, kDefaulting).value_or(true);
  } else if (key == "defaultConstraints") {
    read_default_constraints(value, out.default_constraints);
  } else {
    return false;
  }
  return true;
}

bool read_default_preemption(std::string_view key, const JsonValue& value, const ConfigContext&, PluginArgs& args) {
  DefaultPreemptionArgs& out = args.default_preemption;
  if (key == "minCandidateNodesPercentage") {
    read_in_range<std::int32_t>(value, out.min_candidate_nodes_percentage, 0, 100);
  } else if (key == "minCandidateNodesAbsolute") {
    read_in_range<std::int32_t>(value, out.min_candidate_nodes_absolute, 0);
  } else {
    return false;
  }
  return true;
}

bool read_volume_binding(std::string_view key, const JsonValue& value, const ConfigContext& context, PluginArgs& args) {
  VolumeBindingArgs& out = args.volume_binding;
  if (key == "bindTimeoutSeconds") {
    read_in_range<std::int64_t>(value, out.bind_timeout_seconds, 0);
  } else if (key == "shape") {
    if (!value.present()) return true;
    if (!context.gates.enabled("StorageCapacityScoring")) {
      value.problem("expected nothing: the feature gate StorageCapacityScoring is off");
    } else if (!value.is_array() || simdjson::dom::array(value.element()).size() > 0) {
      read_shape(value, out.shape);  // an empty list keeps the default
    }
  } else {
    return false;
  }
  return true;
}

void read_gated_duration(const JsonValue& value, bool gates_are_on, std::string_view gates, std::int64_t lowest_us,
                         std::optional<std::int64_t>& out) {
  if (!value.present()) return;
  if (!gates_are_on) return value.problem("expected nothing: " + std::string(gates) + " off");
  std::int64_t us = 0;
  if (!read_duration_us(value, us)) return;
  if (us < lowest_us) value.mismatch("a duration of at least " + std::to_string(lowest_us / kSecondUs) + "s");
  out = us;
}

bool has_binding_timeout(const FeatureGates& gates) {
  return gates.enabled("DRADeviceBindingConditions") && gates.enabled("DRAResourceClaimDeviceStatus");
}

bool read_dynamic_resources(std::string_view key, const JsonValue& value, const ConfigContext& context,
                            PluginArgs& args) {
  DynamicResourcesArgs& out = args.dynamic_resources;
  if (key == "filterTimeout") {
    read_gated_duration(value, context.gates.enabled("DRASchedulerFilterTimeout"),
                        "the feature gate DRASchedulerFilterTimeout is", 0, out.filter_timeout_us);
  } else if (key == "bindingTimeout") {
    read_gated_duration(value, has_binding_timeout(context.gates),
                        "one of the feature gates DRADeviceBindingConditions and DRAResourceClaimDeviceStatus is",
                        kSecondUs, out.binding_timeout_us);
  } else {
    return false;
  }
  return true;
}

// ---- rules over several fields

void check_default_preemption(const JsonValue& args, const PluginArgs& read) {
  const DefaultPreemptionArgs& out = read.default_preemption;
  if (out.min_candidate_nodes_percentage != 0 || out.min_candidate_nodes_absolute != 0) return;
  args.field("minCandidateNodesPercentage").problem("expected more than 0 when minCandidateNodesAbsolute is 0");
  args.field("minCandidateNodesAbsolute").problem("expected more than 0 when minCandidateNodesPercentage is 0");
}

void check_pod_topology_spread(const JsonValue& args, const PluginArgs& read) {
  const PodTopologySpreadArgs& out = read.pod_topology_spread;
  if (!out.system_defaulting || out.default_constraints.empty()) return;
  args.field("defaultingType").problem("expected List when there are defaultConstraints");
}

struct ArgsReader {
  std::string_view plugin;
  bool (*read_field)(std::string_view key, const JsonValue& value, const ConfigContext& context, PluginArgs& args);
  void (*check)(const JsonValue& args, const PluginArgs& read);  ///< may be null
};

constexpr auto kReaders = std::to_array<ArgsReader>({
    {"DefaultPreemption", read_default_preemption, check_default_preemption},
    {"DynamicResources", read_dynamic_resources, nullptr},
    {"InterPodAffinity", read_inter_pod_affinity, nullptr},
    {"NodeAffinity", read_node_affinity_args, nullptr},
    {"NodeResourcesBalancedAllocation", read_balanced_allocation, nullptr},
    {"NodeResourcesFit", read_node_resources_fit, nullptr},
    {"PodTopologySpread", read_pod_topology_spread, check_pod_topology_spread},
    {"VolumeBinding", read_volume_binding, nullptr},
});

void decode_args(std::string_view plugin, const JsonValue& value, const ConfigContext& context, PluginArgs& args) {
  const auto* reader = std::find_if(kReaders.begin(), kReaders.end(),
                                    [plugin](const ArgsReader& other) { return other.plugin == plugin; });
  const std::string kind = std::string(plugin) + "Args";
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (is_type_field(key, field, kind)) return true;
    if (reader != kReaders.end()) return reader->read_field(key, field, context, args);
    field.problem("expected no arguments: plugin " + quoted_for_message(plugin) + " takes none");
    return true;
  });
  if (reader != kReaders.end() && reader->check != nullptr && value.is_object()) reader->check(value, args);
}

/// Why no arguments can be given to a plugin of this name; empty when they can.
std::string refusal(std::string_view name) {
  if (const std::string_view replacement = replacement_of_removed_plugin(name); !replacement.empty())
    return "a plugin that exists: it was removed from kube-scheduler, use " + std::string(replacement);
  if (find_catalog_plugin(name) == nullptr) return "one of kube-scheduler's in-tree plugins";
  return {};
}

}  // namespace

PluginArgs default_plugin_args(const FeatureGates& gates) {
  PluginArgs args;
  if (gates.enabled("DRASchedulerFilterTimeout")) args.dynamic_resources.filter_timeout_us = 10 * kSecondUs;
  if (has_binding_timeout(gates)) args.dynamic_resources.binding_timeout_us = 600 * kSecondUs;
  if (gates.enabled("StorageCapacityScoring")) args.volume_binding.shape = {{0, kShapeScoreMax}, {100, 0}};
  return args;
}

void decode_plugin_config(const JsonValue& list, const ConfigContext& context, Profile& profile) {
  std::set<std::string, std::less<>> seen;
  list.for_each_element([&](const JsonValue& entry) {
    entry.for_each_field_strict([](std::string_view key, const JsonValue&) { return key == "name" || key == "args"; });
    const JsonValue name = entry.field("name");
    const JsonValue value = entry.field("args");
    std::string_view plugin;
    if (name.present() && !name.read(plugin)) return;
    const bool is_loaded = find_plugin(context.loaded, plugin) != nullptr;
    const bool is_left_out = context.leaves_out_of_tree_out && is_out_of_tree(plugin) && !is_loaded;
    if (std::string why = refusal(plugin); !why.empty() && !is_left_out && !is_loaded) {
      name.mismatch(why);
    } else if (!seen.emplace(plugin).second) {
      name.mismatch("each plugin once");
    } else if (is_left_out) {
      profile.out_of_tree.push_back({std::string(plugin), "pluginConfig", 0, entry.path()});
    } else if (is_loaded) {
      std::string json = value.present() ? simdjson::minify(value.element()) : "{}";
      profile.outside_args.push_back({std::string(plugin), std::move(json), entry.path()});
    } else {
      decode_args(plugin, value, context, profile.args);
    }
  });
}

}  // namespace berth
