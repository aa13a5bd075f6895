// SPDX-License-Identifier: Apache-2.0
// The parts of a cluster spec that PodTopologySpread and InterPodAffinity read.
#include "host/generate/spec_reader.h"

namespace berth::spec_reader {
namespace {

constexpr Spellings<bool, 2> kWhenUnsatisfiable = {{{"DoNotSchedule", false}, {"ScheduleAnyway", true}}};
constexpr Spellings<bool, 2> kInclusionPolicies = {{{"Honor", true}, {"Ignore", false}}};
constexpr Spellings<std::string_view, 3> kOwnerKinds = {
    {{"ReplicaSet", "ReplicaSet"}, {"StatefulSet", "StatefulSet"}, {"ReplicationController", "ReplicationController"}}};

void read_label_requirement(const JsonValue& value, SelectorRequirement& out) {
  read_requirement(value, out);
  if (out.op == SelectorOperator::kGt || out.op == SelectorOperator::kLt) {
    value.field("operator").mismatch("one of In NotIn Exists DoesNotExist");
  }
}

void read_selector(const JsonValue& value, LabelSelector& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "matchLabels") {
      read_label_map(field, out.match_labels);
    } else if (key == "matchExpressions") {
      field.for_each_element(
          [&](const JsonValue& element) { read_label_requirement(element, out.match_expressions.emplace_back()); });
    } else {
      return false;
    }
    return true;
  });
}

/// An absent selector matches nothing, an empty one everything.
void read_selector(const JsonValue& value, std::optional<LabelSelector>& out) {
  if (value.present()) read_selector(value, out.emplace());
}

bool read_term_field(std::string_view key, const JsonValue& field, PodAffinityTerm& out) {
  if (key == "labelSelector")
    read_selector(field, out.label_selector);
  else if (key == "namespaces")
    field.read(out.namespaces);
  else if (key == "namespaceSelector")
    read_selector(field, out.namespace_selector);
  else if (key == "topologyKey")
    field.read(out.topology_key);
  else if (key == "matchLabelKeys")
    field.read(out.match_label_keys);
  else if (key == "mismatchLabelKeys")
    field.read(out.mismatch_label_keys);
  else
    return false;
  return true;
}

void require_topology_key(const JsonValue& value, const std::string& topology_key) {
  if (value.is_object() && topology_key.empty()) value.problem("expected a topologyKey");
}

void read_required_term(const JsonValue& value, PodAffinityTerm& out) {
  value.for_each_field_strict(
      [&](std::string_view key, const JsonValue& field) { return read_term_field(key, field, out); });
  require_topology_key(value, out.topology_key);
}

void read_preferred_term(const JsonValue& value, WeightedPodAffinityTerm& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key != "weight") return read_term_field(key, field, out.term);
    field.read(out.weight);
    return true;
  });
  if (value.is_object() && (out.weight < 1 || out.weight > 100)) value.problem("expected a weight from 1 to 100");
  require_topology_key(value, out.term.topology_key);
}

void read_at_least_one(const JsonValue& value, std::int32_t& out) {
  if (value.read(out) && out < 1) value.mismatch("a number of at least 1");
}

void read_spread_constraint(const JsonValue& value, TopologySpreadConstraint& out) {
  bool has_action = false;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "maxSkew")
      read_at_least_one(field, out.max_skew);
    else if (key == "topologyKey")
      field.read(out.topology_key);
    else if (key == "whenUnsatisfiable")
      has_action = read_spelling(field, kWhenUnsatisfiable, out.schedule_anyway) || field.present();
    else if (key == "labelSelector")
      read_selector(field, out.label_selector);
    else if (key == "minDomains" && field.present())
      read_at_least_one(field, out.min_domains.emplace());
    else if (key == "nodeAffinityPolicy")
      read_spelling(field, kInclusionPolicies, out.honor_node_affinity);
    else if (key == "nodeTaintsPolicy")
      read_spelling(field, kInclusionPolicies, out.honor_node_taints);
    else if (key == "matchLabelKeys")
      field.read(out.match_label_keys);
    else
      return key == "minDomains";
    return true;
  });
  require_topology_key(value, out.topology_key);
  if (value.is_object() && !has_action) value.problem("expected whenUnsatisfiable");
}

}  // namespace

void read_spread_constraints(const JsonValue& value, std::vector<TopologySpreadConstraint>& out) {
  value.for_each_element([&](const JsonValue& element) { read_spread_constraint(element, out.emplace_back()); });
}

void read_pod_affinity(const JsonValue& value, std::optional<PodAffinity>& out) {
  if (!value.present()) return;
  PodAffinity& affinity = out.emplace();
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "required")
      field.for_each_element([&](const JsonValue& e) { read_required_term(e, affinity.required.emplace_back()); });
    else if (key == "preferred")
      field.for_each_element([&](const JsonValue& e) { read_preferred_term(e, affinity.preferred.emplace_back()); });
    else
      return false;
    return true;
  });
}

void read_service(const JsonValue& value, ServiceSpec& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name")
      read_object_name(field, out.name);
    else if (key == "namespace")
      read_object_name(field, out.namespace_);
    else if (key == "count" && field.present())
      read_count(field, out.count.emplace());
    else if (key == "selector")
      read_text_draws(field, out.selector);
    else
      return key == "count";
    return true;
  });
}

void read_workload_owner(const JsonValue& value, std::optional<WorkloadOwnerSpec>& out) {
  if (!value.present()) return;
  WorkloadOwnerSpec& owner = out.emplace();
  std::string_view kind;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "kind")
      read_spelling(field, kOwnerKinds, kind);
    else if (key == "name")
      read_object_name(field, owner.name);
    else if (key == "selector")
      read_selector(field, owner.selector);
    else
      return false;
    return true;
  });
  owner.kind = kind;
  if (value.is_object() && (kind.empty() || owner.name.empty())) value.problem("expected kind and name");
  if (kind == "ReplicationController" && !owner.selector.match_expressions.empty()) {
    value.field("selector").problem("expected matchLabels only, as a ReplicationController has no more");
  }
}

}  // namespace berth::spec_reader
