// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode_pod_spec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "host/objects/admission.h"
#include "host/objects/decode_parts.h"
#include "host/objects/field_names.h"
#include "host/objects/object_pools.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

constexpr std::int32_t kPortMax = 65535;

/// What read_pod_spec() and read_container() look at; a field has to stand here to be read at all.
constexpr std::array<std::string_view, 13> kSpecFields = {"containers",
                                                          "schedulerName",
                                                          "initContainers",
                                                          "nodeSelector",
                                                          "affinity",
                                                          "tolerations",
                                                          "topologySpreadConstraints",
                                                          "overhead",
                                                          "resources",
                                                          "hostNetwork",
                                                          "runtimeClassName",
                                                          "terminationGracePeriodSeconds",
                                                          "volumes"};
/// Parts of a volume that differ from pod to pod, or that no signature compares.
constexpr std::array<std::string_view, 5> kUnsignedVolumeFields = {"name", "configMap", "secret",
                                                                   "persistentVolumeClaim", "ephemeral"};
constexpr std::array<std::string_view, 6> kContainerFields = {"name",  "image",         "resources",
                                                              "ports", "restartPolicy", "restartPolicyRules"};

constexpr std::array<std::pair<std::string_view, bool>, 2> kWhenUnsatisfiable = {
    {{"DoNotSchedule", false}, {"ScheduleAnyway", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kInclusionPolicies = {{{"Honor", true}, {"Ignore", false}}};

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool read_port(const JsonValue& value, std::int32_t& out) {
  std::int32_t port = 0;
  if (!value.read(port)) return false;
  if (port < 0 || port > kPortMax) {
    value.mismatch("a port from 0 to 65535");
    return false;
  }
  out = port;
  return true;
}

std::vector<ContainerPort> read_ports(const JsonValue& value) {
  std::vector<ContainerPort> ports;
  value.for_each_element([&](const JsonValue& element) {
    ContainerPort& port = ports.emplace_back();
    element.for_each_field([&](std::string_view key, const JsonValue& field) {
      if (key == "hostPort") read_port(field, port.host_port);
      if (key == "containerPort") read_port(field, port.container_port);
      if (key == "protocol") field.read(port.protocol);
      if (key == "hostIP") field.read(port.host_ip);
    });
  });
  return ports;
}

bool any_restarts_all_containers(const JsonValue& rules) {
  bool found = false;
  rules.for_each_element([&](const JsonValue& rule) {
    std::string_view action;
    found |= rule.field("action").read(action) && action == "RestartAllContainers";
  });
  return found;
}

Container read_container(const JsonValue& value) {
  Container container;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "name") field.read(container.name);
    if (key == "image") field.read(container.image);
    if (key == "resources" && field.expect_object()) {
      container.requests = read_resource_list(field.field("requests"));
      container.limits = read_resource_list(field.field("limits"));
    }
    if (key == "ports") container.ports = read_ports(field);
    if (key == "restartPolicy") {
      std::string_view policy;
      container.restart_always = field.read(policy) && policy == "Always";
    }
    if (key == "restartPolicyRules") container.restarts_all_containers = any_restarts_all_containers(field);
  });
  return container;
}

std::vector<Container> read_containers(const JsonValue& value) {
  std::vector<Container> containers;
  value.for_each_element([&](const JsonValue& element) { containers.push_back(read_container(element)); });
  return containers;
}

PodAffinityTerm read_pod_affinity_term(const JsonValue& value) {
  PodAffinityTerm term;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "labelSelector") term.label_selector = read_label_selector(field);
    if (key == "namespaces") field.read(term.namespaces);
    if (key == "namespaceSelector") term.namespace_selector = read_label_selector(field);
    if (key == "topologyKey") field.read(term.topology_key);
    if (key == "matchLabelKeys") field.read(term.match_label_keys);
    if (key == "mismatchLabelKeys") field.read(term.mismatch_label_keys);
  });
  return term;
}

WeightedPodAffinityTerm read_weighted_term(const JsonValue& value) {
  WeightedPodAffinityTerm weighted;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "weight") read_preference_weight(field, weighted.weight);
    if (key == "podAffinityTerm") weighted.term = read_pod_affinity_term(field);
  });
  return weighted;
}

PodAffinity read_pod_affinity(const JsonValue& value) {
  PodAffinity affinity;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      affinity.required.clear();
      field.for_each_element([&](const JsonValue& term) { affinity.required.push_back(read_pod_affinity_term(term)); });
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      affinity.preferred.clear();
      field.for_each_element([&](const JsonValue& term) { affinity.preferred.push_back(read_weighted_term(term)); });
    }
  });
  return affinity;
}

void read_affinity(const JsonValue& value, PodSpec& spec) {
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "nodeAffinity") spec.node_affinity = read_node_affinity(field);
    if (key == "podAffinity") spec.pod_affinity = read_pod_affinity(field);
    if (key == "podAntiAffinity") spec.pod_anti_affinity = read_pod_affinity(field);
  });
}

/// A name that is not Honor is not honoured; "" is such a name, and not the same as absent.
void read_inclusion_policy(const JsonValue& field, bool& honors) {
  read_stored_enum(field, kInclusionPolicies, false, honors);
}

TopologySpreadConstraint read_spread_constraint(const JsonValue& value) {
  TopologySpreadConstraint constraint;
  constraint.max_skew = 0;  // as stored when absent
  bool has_action = false;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "maxSkew") field.read(constraint.max_skew);
    if (key == "topologyKey") field.read(constraint.topology_key);
    if (key == "whenUnsatisfiable") {
      has_action = true;
      std::string_view text;
      if (field.read(text) && text.empty()) field.mismatch("DoNotSchedule or ScheduleAnyway");
      read_enum(field, kWhenUnsatisfiable, constraint.schedule_anyway);
    }
    if (key == "labelSelector") constraint.label_selector = read_label_selector(field);
    if (key == "minDomains") field.read(constraint.min_domains);
    if (key == "nodeAffinityPolicy") read_inclusion_policy(field, constraint.honor_node_affinity);
    if (key == "nodeTaintsPolicy") read_inclusion_policy(field, constraint.honor_node_taints);
    if (key == "matchLabelKeys") field.read(constraint.match_label_keys);
  });
  if (value.is_object() && !has_action) value.problem("has no whenUnsatisfiable");
  return constraint;
}

template <class T>
void append_plain(std::string& out, char tag, T value) {
  char bytes[1 + sizeof(T)];
  bytes[0] = tag;
  std::memcpy(bytes + 1, &value, sizeof(T));
  out.append(bytes, sizeof(bytes));
}

void append_text(std::string& out, std::string_view text) {
  append_plain(out, 's', static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

void append_value(std::string& out, simdjson::dom::element value) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::STRING:
      return append_text(out, std::string_view(value));
    case element_type::INT64:
      return append_plain(out, 'i', std::int64_t(value));
    case element_type::UINT64:
      return append_plain(out, 'u', std::uint64_t(value));
    case element_type::DOUBLE:
      return append_plain(out, 'd', double(value));
    case element_type::BOOL:
      return append_plain(out, 'b', bool(value));
    case element_type::NULL_VALUE:
      out += 'n';
      return;
    case element_type::ARRAY:
      out += '[';
      for (auto element : simdjson::dom::array(value)) append_value(out, element);
      out += ']';
      return;
    case element_type::OBJECT:
      out += '{';
      for (auto [key, element] : simdjson::dom::object(value)) {
        append_text(out, key);
        append_value(out, element);
      }
      out += '}';
      return;
  }
}

void append_sorted(std::string& out, simdjson::dom::element value);

/// Entries by key, those with null left out: what a typed reader makes of them does not follow from their order.
void append_sorted(std::string& out, simdjson::dom::object object) {
  std::map<std::string_view, simdjson::dom::element> sorted;
  for (auto [key, element] : object)
    if (!element.is_null()) sorted.insert_or_assign(key, element);
  out += '{';
  for (const auto& [key, element] : sorted) {
    append_text(out, key);
    append_sorted(out, element);
  }
  out += '}';
}

void append_sorted(std::string& out, simdjson::dom::element value) {
  if (value.is_object()) return append_sorted(out, simdjson::dom::object(value));
  if (!value.is_array()) return append_value(out, value);
  out += '[';
  for (auto element : simdjson::dom::array(value)) append_sorted(out, element);
  out += ']';
}

std::uint64_t content_hash(simdjson::dom::element value) {
  std::string content;
  append_sorted(content, value);
  return hash_bytes(content);
}

void note_local_volume(const JsonValue& volume, PodSpec& spec) {
  if (!volume.is_object()) return;
  if (volume.field("hostPath").present()) spec.has_host_path = true;
  if (volume.field("emptyDir").present()) spec.has_empty_dir = true;
  if (volume.field("emptyDir").present() && stays_on_node(volume)) spec.has_empty_dir_on_disk = true;
}

std::uint64_t volumes_hash(const JsonValue& volumes) {
  std::uint64_t hash = 0;
  volumes.for_each_element([&](const JsonValue& volume) {
    volume.for_each_field([&](std::string_view key, const JsonValue& source) {
      if (is_one_of(key, kUnsignedVolumeFields) || !source.present()) return;
      std::string content;
      append_text(content, key);
      append_sorted(content, source.element());
      hash += hash_bytes(content);
    });
  });
  return hash;
}

bool names_pod_level_resource(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(), [](const auto& entry) { return is_pod_level_resource(entry.first); });
}

void read_spec_field(std::string_view key, const JsonValue& field, PodSpec& spec) {
  if (key == "schedulerName") {
    std::string_view name;
    if (field.read(name) && !name.empty()) spec.scheduler_name = name;
  }
  if (key == "containers") spec.containers = read_containers(field);
  if (key == "initContainers") spec.init_containers = read_containers(field);
  if (key == "overhead") spec.overhead = read_resource_list(field);
  if (key == "resources" && field.expect_object()) {
    spec.pod_level_requests = read_resource_list(field.field("requests"));
    spec.pod_level_limits = read_resource_list(field.field("limits"));
  }
  if (key == "hostNetwork") field.read(spec.host_network);
  if (key == "nodeSelector") spec.node_selector = read_label_map(field);
  if (key == "affinity") read_affinity(field, spec);
  if (key == "tolerations") {
    spec.tolerations = read_tolerations(field);
    spec.tolerations_hash = 0;
    field.for_each_element([&](const JsonValue& toleration) {
      if (toleration.present()) spec.tolerations_hash += content_hash(toleration.element());
    });
  }
  if (key == "volumes") {
    spec.volumes_hash = volumes_hash(field);
    field.for_each_element([&](const JsonValue& volume) { note_local_volume(volume, spec); });
  }
  if (key == "topologySpreadConstraints") {
    spec.topology_spread_constraints.clear();
    field.for_each_element(
        [&](const JsonValue& item) { spec.topology_spread_constraints.push_back(read_spread_constraint(item)); });
  }
  if (key == "runtimeClassName") field.read(spec.runtime_class_name);
  if (key == "terminationGracePeriodSeconds") field.read(spec.termination_grace_s);
}

void append_containers(std::string& out, simdjson::dom::element value) {
  if (!value.is_array()) return append_value(out, value);
  out += '[';
  for (simdjson::dom::element container : simdjson::dom::array(value)) {
    if (!container.is_object()) {
      append_value(out, container);
      continue;
    }
    out += '{';
    for (auto [key, element] : simdjson::dom::object(container)) {
      const bool is_read = is_one_of(key, kContainerFields);
      // The names alone of unknown fields: a container that has some is validated for each pod.
      if (!is_read && field_index(ApiType::kContainer, key) >= 0) continue;
      append_text(out, key);
      if (is_read) append_value(out, element);
    }
    out += '}';
  }
  out += ']';
}

void append_volumes(std::string& out, simdjson::dom::element value) {
  if (!value.is_array()) return;
  out += '[';
  for (simdjson::dom::element volume : simdjson::dom::array(value)) {
    if (!volume.is_object()) continue;
    for (auto [key, element] : simdjson::dom::object(volume)) {
      if (is_one_of(key, kUnsignedVolumeFields)) continue;
      append_text(out, key);
      append_value(out, element);
    }
  }
  out += ']';
}

}  // namespace

bool stays_on_node(const JsonValue& volume) {
  if (volume.field("hostPath").present()) return true;
  const JsonValue empty_dir = volume.field("emptyDir");
  if (!empty_dir.present()) return false;
  if (!empty_dir.is_object()) return true;
  const JsonValue medium = empty_dir.field("medium");
  return !medium.is_string() || std::string_view(medium.element()) != "Memory";
}

PodSpec read_pod_spec(const JsonValue& value) {
  PodSpec spec;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (is_one_of(key, kSpecFields)) read_spec_field(key, field, spec);
  });
  spec.has_pod_level_resources =
      names_pod_level_resource(spec.pod_level_requests) || names_pod_level_resource(spec.pod_level_limits);
  apply_spec_defaults(spec);
  return spec;
}

void append_spec_source(std::string& out, simdjson::dom::object spec) {
  for (auto [key, element] : spec) {
    // Claims are no part of a PodSpec, but the claims of its containers are compared with them.
    if (!is_one_of(key, kSpecFields) && key != "resourceClaims") continue;
    append_text(out, key);
    if (key == "containers" || key == "initContainers") {
      append_containers(out, element);
    } else if (key == "volumes") {
      append_volumes(out, element);
    } else {
      append_value(out, element);
    }
  }
}

}  // namespace berth
