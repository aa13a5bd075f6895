// SPDX-License-Identifier: Apache-2.0
#include "host/config/plugin_args_out.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/config_reader.h"
#include "host/objects/go_duration.h"
#include "host/objects/json_value.h"

namespace berth {
namespace {

void write_strings(std::string_view name, const std::vector<std::string>& texts, DocumentWriter& out) {
  if (texts.empty()) return;
  out.key(name);
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void write_resources(const std::vector<ResourceWeight>& resources, DocumentWriter& out) {
  out.key("resources");
  out.begin_array();
  for (const ResourceWeight& resource : resources) {
    out.begin_object();
    out.string_field("name", resource.name);
    out.integer_field("weight", resource.weight);
    out.end_object();
  }
  out.end_array();
}

void write_shape(const std::vector<ShapePoint>& shape, DocumentWriter& out) {
  out.key("shape");
  out.begin_array();
  for (const ShapePoint& point : shape) {
    out.begin_object();
    out.integer_field("score", point.score);
    out.integer_field("utilization", point.utilization);
    out.end_object();
  }
  out.end_array();
}

void write_requirements(std::string_view name, const std::vector<SelectorRequirement>& requirements,
                        DocumentWriter& out) {
  if (requirements.empty()) return;
  out.key(name);
  out.begin_array();
  for (const SelectorRequirement& requirement : requirements) {
    out.begin_object();
    out.string_field("key", requirement.key);
    out.string_field("operator", to_string(requirement.op));
    write_strings("values", requirement.values, out);
    out.end_object();
  }
  out.end_array();
}

void write_term(const NodeSelectorTerm& term, DocumentWriter& out) {
  out.begin_object();
  write_requirements("matchExpressions", term.match_expressions, out);
  write_requirements("matchFields", term.match_fields, out);
  out.end_object();
}

void write_affinity(const NodeAffinity& affinity, DocumentWriter& out) {
  out.key("addedAffinity");
  out.begin_object();
  if (!affinity.preferred.empty()) {
    out.key("preferredDuringSchedulingIgnoredDuringExecution");
    out.begin_array();
    for (const PreferredSchedulingTerm& term : affinity.preferred) {
      out.begin_object();
      out.key("preference");
      write_term(term.preference, out);
      out.integer_field("weight", term.weight);
      out.end_object();
    }
    out.end_array();
  }
  if (affinity.required) {
    out.key("requiredDuringSchedulingIgnoredDuringExecution");
    out.begin_object();
    out.key("nodeSelectorTerms");
    out.begin_array();
    for (const NodeSelectorTerm& term : *affinity.required) write_term(term, out);
    out.end_array();
    out.end_object();
  }
  out.end_object();
}

std::string_view type_name(ScoringStrategyType type) {
  switch (type) {
    case ScoringStrategyType::kLeastAllocated:
      return "LeastAllocated";
    case ScoringStrategyType::kMostAllocated:
      return "MostAllocated";
    case ScoringStrategyType::kRequestedToCapacityRatio:
      break;
  }
  return "RequestedToCapacityRatio";
}

/// One entry of the list: {"args": {"apiVersion", <fields of >, "kind", <fields of others>}, "name"}.
template <class Fields>
void write_entry(std::string_view name, DocumentWriter& out, const Fields& write_fields) {
  out.begin_object();
  out.key("args");
  out.begin_object();
  out.string_field("apiVersion", kSchedulerApiVersion);
  out.string_field("kind", std::string(name) + "Args");
  write_fields();
  out.end_object();
  out.string_field("name", name);
  out.end_object();
}

void write_preemption(const DefaultPreemptionArgs& args, DocumentWriter& out) {
  out.integer_field("minCandidateNodesAbsolute", args.min_candidate_nodes_absolute);
  out.integer_field("minCandidateNodesPercentage", args.min_candidate_nodes_percentage);
}

void write_dynamic_resources(const DynamicResourcesArgs& args, DocumentWriter& out) {
  if (args.binding_timeout_us) out.string_field("bindingTimeout", go_duration_text(*args.binding_timeout_us));
  if (args.filter_timeout_us) out.string_field("filterTimeout", go_duration_text(*args.filter_timeout_us));
}

void write_inter_pod_affinity(const InterPodAffinityArgs& args, DocumentWriter& out) {
  out.integer_field("hardPodAffinityWeight", args.hard_pod_affinity_weight);
  out.key("ignorePreferredTermsOfExistingPods");
  out.boolean(args.ignore_preferred_terms_of_existing_pods);
}

void write_fit(const NodeResourcesFitArgs& args, DocumentWriter& out) {
  write_strings("ignoredResourceGroups", args.ignored_resource_groups, out);
  write_strings("ignoredResources", args.ignored_resources, out);
  out.key("scoringStrategy");
  out.begin_object();
  if (!args.shape.empty()) {
    out.key("requestedToCapacityRatio");
    out.begin_object();
    write_shape(args.shape, out);
    out.end_object();
  }
  write_resources(args.resources, out);
  out.string_field("type", type_name(args.strategy));
  out.end_object();
}

void write_spread(const PodTopologySpreadArgs& args, DocumentWriter& out) {
  if (!args.default_constraints.empty()) {
    out.key("defaultConstraints");
    out.begin_array();
    for (const TopologySpreadConstraint& constraint : args.default_constraints) {
      out.begin_object();
      out.integer_field("maxSkew", constraint.max_skew);
      out.string_field("topologyKey", constraint.topology_key);
      out.string_field("whenUnsatisfiable", constraint.schedule_anyway ? "ScheduleAnyway" : "DoNotSchedule");
      out.end_object();
    }
    out.end_array();
  }
  out.string_field("defaultingType", args.system_defaulting ? "System" : "List");
}

void write_volume_binding(const VolumeBindingArgs& args, DocumentWriter& out) {
  out.integer_field("bindTimeoutSeconds", args.bind_timeout_seconds);
  if (!args.shape.empty()) write_shape(args.shape, out);
}

/// Arguments in a text of JSON, as they were read.
void write_json(simdjson::dom::element element, DocumentWriter& out) {
  switch (element.type()) {
    case simdjson::dom::element_type::OBJECT:
      out.begin_object();
      for (auto [key, value] : simdjson::dom::object(element)) {
        if (value.is_null()) continue;  // reads as absent
        out.key(key);
        write_json(value, out);
      }
      out.end_object();
      return;
    case simdjson::dom::element_type::ARRAY:
      out.begin_array();
      for (const simdjson::dom::element value : simdjson::dom::array(element)) write_json(value, out);
      out.end_array();
      return;
    case simdjson::dom::element_type::STRING:
      out.string(std::string_view(element));
      return;
    case simdjson::dom::element_type::INT64:
      out.integer(std::int64_t(element));
      return;
    case simdjson::dom::element_type::UINT64:
      out.unsigned_integer(std::uint64_t(element));
      return;
    case simdjson::dom::element_type::DOUBLE:
      out.real(double(element));
      return;
    case simdjson::dom::element_type::BOOL:
      out.boolean(bool(element));
      return;
    default:
      out.string("");  // null in a list of texts
  }
}

void write_outside(const OutsideArgs& args, DocumentWriter& out) {
  JsonParser parser;
  const auto element = parser.parse(args.json);
  out.begin_object();
  out.key("args");
  if (element) {
    write_json(*element, out);
  } else {
    out.begin_object();
    out.end_object();
  }
  out.string_field("name", args.plugin);
  out.end_object();
}

}  // namespace

void write_plugin_config(const Profile& profile, DocumentWriter& out) {
  std::set<std::string_view> enabled;
  const auto add = [&](const PluginLists& lists) {
    for (const ListedPlugin& plugin : lists.enabled) enabled.insert(plugin.name);
  };
  for (const PluginLists& lists : profile.lists) add(lists);
  add(profile.multi_point);
  const PluginArgs& args = profile.args;
  const auto entry = [&](std::string_view name, const auto& write_fields) {
    if (enabled.contains(name)) write_entry(name, out, write_fields);
  };
  out.begin_array();
  entry("DefaultPreemption", [&] { write_preemption(args.default_preemption, out); });
  entry("DynamicResources", [&] { write_dynamic_resources(args.dynamic_resources, out); });
  entry("InterPodAffinity", [&] { write_inter_pod_affinity(args.inter_pod_affinity, out); });
  entry("NodeAffinity", [&] {
    if (args.node_affinity.added_affinity) write_affinity(*args.node_affinity.added_affinity, out);
  });
  entry("NodeResourcesBalancedAllocation", [&] { write_resources(args.balanced_allocation.resources, out); });
  entry("NodeResourcesFit", [&] { write_fit(args.node_resources_fit, out); });
  entry("PodTopologySpread", [&] { write_spread(args.pod_topology_spread, out); });
  entry("VolumeBinding", [&] { write_volume_binding(args.volume_binding, out); });
  for (const OutsideArgs& outside : profile.outside_args) write_outside(outside, out);
  out.end_array();
}

}  // namespace berth
