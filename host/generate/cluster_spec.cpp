// SPDX-License-Identifier: Apache-2.0
#include "host/generate/cluster_spec.h"

#include <algorithm>
#include <array>

#include "host/config/config_reader.h"
#include "host/generate/cluster_spec_check.h"
#include "host/generate/spec_reader.h"
#include "host/objects/decode_parts.h"
#include "host/objects/text/text_reader.h"

namespace berth {
namespace {

using namespace spec_reader;

constexpr std::int64_t kSpecVersion = 1;
constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kLatestTimeUs = 253'402'300'799 * kSecondUs;

void read_namespace(const JsonValue& value, NamespaceSpec& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name")
      read_object_name(field, out.name);
    else if (key == "labels")
      read_label_map(field, out.labels);
    else if (key == "count" && field.present())
      read_count(field, out.count.emplace());
    else
      return key == "count";
    return true;
  });
}

void read_priority_class(const JsonValue& value, PriorityClass& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name")
      read_object_name(field, out.name);
    else if (key == "value")
      field.read(out.value);
    else if (key == "globalDefault")
      field.read(out.global_default);
    else if (key == "preemptionPolicy")
      read_preemption_policy(field, out.preemption_policy);
    else
      return false;
    return true;
  });
}

void read_pool_image(const JsonValue& value, PoolImage& out) {
  std::vector<std::string> names;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    Quantity size;
    if (key == "names")
      read_names(field, names);
    else if (key == "percent")
      read_percent(field, out.percent);
    else if (key == "size")
      read_quantity(field, size);
    else
      return false;
    if (key == "size") out.image.size_bytes = size.value();
    return true;
  });
  out.image.names = std::move(names);
  if (value.is_object() && out.image.names.empty()) value.problem("expected names");
}

void read_node_pool(const JsonValue& value, NodePoolSpec& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "name")
      read_object_name(field, out.name);
    else if (key == "count")
      read_count(field, out.count);
    else if (key == "zones")
      read_names(field, out.zones);
    else if (key == "regions")
      read_names(field, out.regions);
    else if (key == "hostnameLabel")
      field.read(out.hostname_label);
    else if (key == "labels")
      read_text_draws(field, out.labels);
    else if (key == "taints")
      read_taints(field, out.taints);
    else if (key == "allocatable")
      read_resource_draws(field, out.allocatable);
    else if (key == "images")
      field.for_each_element([&](const JsonValue& image) { read_pool_image(image, out.images.emplace_back()); });
    else if (key == "unschedulablePercent")
      read_percent(field, out.unschedulable_percent);
    else if (key == "declaredFeatures")
      read_names(field, out.declared_features);
    else
      return false;
    return true;
  });
}

void read_created(const JsonValue& value, PodGroupSpec& out) {
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "at")
      read_time(field, out.created_at_us);
    else if (key == "everySeconds")
      read_count(field, out.created_every_s);
    else
      return false;
    return true;
  });
}

void read_placement(const JsonValue& value, RunningPlacement& out) {
  std::string_view text;
  if (!value.read(text)) return;
  if (text == "roundRobin")
    out = RunningPlacement::kRoundRobin;
  else if (text == "random")
    out = RunningPlacement::kRandom;
  else
    value.mismatch("random or roundRobin");
}

/// Fields that say how many pods there are, and where.
bool read_group_frame(std::string_view key, const JsonValue& field, PodGroupSpec& out) {
  if (key == "name")
    read_object_name(field, out.name);
  else if (key == "namespace" && field.present())
    read_object_name(field, out.namespaces.emplace_back());
  else if (key == "namespaces")
    read_names(field, out.namespaces);
  else if (key == "running")
    read_count(field, out.running);
  else if (key == "pending")
    read_count(field, out.pending);
  else if (key == "variants")
    read_count(field, out.variants);
  else if (key == "variantsInTurn")
    field.read(out.variants_in_turn);
  else if (key == "runningOn")
    read_names(field, out.running_on);
  else if (key == "placement")
    read_placement(field, out.placement);
  else if (key == "created")
    read_created(field, out);
  else
    return key == "namespace";
  return true;
}

/// Fields of the pods themselves.
bool read_group_template(std::string_view key, const JsonValue& field, PodGroupSpec& out) {
  if (key == "labels")
    read_text_draws(field, out.labels);
  else if (key == "containers")
    read_containers(field, out.containers);
  else if (key == "initContainers")
    read_containers(field, out.init_containers);
  else if (key == "overhead")
    read_resource_draws(field, out.overhead);
  else if (key == "podLevelRequests")
    read_resource_draws(field, out.pod_level_requests);
  else if (key == "hostNetwork")
    field.read(out.host_network);
  else if (key == "nodeSelector")
    read_text_draws(field, out.node_selector);
  else if (key == "nodeAffinity")
    read_node_affinity(field, out.node_affinity);
  else if (key == "podAffinity")
    read_pod_affinity(field, out.pod_affinity);
  else if (key == "podAntiAffinity")
    read_pod_affinity(field, out.pod_anti_affinity);
  else if (key == "topologySpreadConstraints")
    read_spread_constraints(field, out.topology_spread_constraints);
  else if (key == "ownedBy")
    read_workload_owner(field, out.owned_by);
  else if (key == "tolerations")
    read_tolerations(field, out.tolerations);
  else if (key == "priorityClass" && field.present())
    read_text_draw(field, out.priority_class.emplace());
  else if (key == "priority")
    field.read(out.priority);
  else if (key == "preemptionPolicy")
    read_preemption_policy(field, out.preemption_policy);
  else if (key == "schedulerName")
    field.read(out.scheduler_name);
  else if (key == "schedulingGates")
    read_names(field, out.scheduling_gates);
  else
    return key == "priorityClass";
  return true;
}

/// Short form for pods of one container.
bool read_single_container(std::string_view key, const JsonValue& field, ContainerSpec& out) {
  if (key == "image")
    read_text_draw(field, out.image);
  else if (key == "requests")
    read_resource_draws(field, out.requests);
  else if (key == "limits")
    read_resource_draws(field, out.limits);
  else if (key == "hostPorts")
    read_host_ports(field, out.ports);
  else
    return false;
  return true;
}

bool is_pod_level_name(std::string_view name) {
  return name == kCpu || name == kMemory || name.starts_with("hugepages-");
}

/// Admission would turn such limits into a pod-level request; the spec can say that request itself.
void check_pod_level(const JsonValue& value, const PodGroupSpec& group) {
  for (const auto& [name, draw] : group.pod_level_requests) {
    if (!is_pod_level_name(name)) {
      value.problem("podLevelRequests: got \"" + name + "\", expected cpu, memory or hugepages-*");
    }
  }
  if (group.pod_level_requests.empty()) return;
  for (const auto* list : {&group.containers, &group.init_containers}) {
    for (const ContainerSpec& container : *list) {
      for (const auto& [name, draw] : container.limits) {
        if (name.starts_with("hugepages-"))
          value.problem("limits of " + name + " beside podLevelRequests are not supported");
      }
    }
  }
}

void check_group(const JsonValue& value, const PodGroupSpec& group, bool has_short_form) {
  if (has_short_form && !group.containers.empty()) {
    value.problem("expected either containers or image, requests, limits and hostPorts");
  }
  if (group.variants < 1) value.problem("expected at least one variant");
  if (group.priority && group.priority_class) value.problem("expected either priority or priorityClass");
  if (group.scheduler_name.empty()) value.problem("expected a schedulerName that is not empty");
  const std::int64_t pod_count = group.running + group.pending;
  const __int128 last_created_us =
      group.created_at_us + static_cast<__int128>(group.created_every_s) * kSecondUs * pod_count;
  if (last_created_us > kLatestTimeUs) value.problem("expected creation times before the year 10000");
  if (pod_count > 0 && group.variants > pod_count) value.problem("expected at most as many variants as pods");
}

void read_pod_group(const JsonValue& value, PodGroupSpec& out) {
  ContainerSpec single;
  single.name = "main";
  bool has_short_form = false;
  const std::vector<std::string> default_namespaces = std::exchange(out.namespaces, {});
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (read_single_container(key, field, single)) return has_short_form = true;
    return read_group_frame(key, field, out) || read_group_template(key, field, out);
  });
  check_group(value, out, has_short_form);
  if (out.containers.empty()) out.containers.push_back(std::move(single));
  check_pod_level(value, out);
  if (out.namespaces.empty()) out.namespaces = default_namespaces;
}

void read_random_bound(const JsonValue& value, std::int32_t& out) {
  if (value.read(out) && (out < 0 || out > 100'000)) value.mismatch("a count from 0 to 100000");
}

void read_random(const JsonValue& value, RandomClusterOptions& out) {
  const std::array<std::pair<std::string_view, std::int32_t*>, 3> bounds = {
      {{"maxNodes", &out.max_nodes},
       {"maxRunningPods", &out.max_running_pods},
       {"maxPendingPods", &out.max_pending_pods}}};
  const std::array<std::pair<std::string_view, bool*>, 13> switches = {{
      {"overcommittedNodes", &out.overcommitted_nodes},
      {"malformedAffinity", &out.malformed_affinity},
      {"comparisonTolerations", &out.comparison_tolerations},
      {"podLevelResources", &out.pod_level_resources},
      {"statusResources", &out.status_resources},
      {"pendingStatusResources", &out.pending_status_resources},
      {"nominatedPods", &out.nominated_pods},
      {"gatedPods", &out.gated_pods},
      {"foreignSchedulerNames", &out.foreign_scheduler_names},
      {"podsOnUnknownNodes", &out.pods_on_unknown_nodes},
      {"volumesAndClaims", &out.volumes_and_claims},
      {"configuration", &out.configuration},
      {"oddQuantities", &out.odd_quantities},
  }};
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "topology") return read_percent(field, out.topology_percent), true;
    if (key == "volumes") return read_percent(field, out.volumes_percent), true;
    for (const auto& [name, target] : bounds) {
      if (name == key) return read_random_bound(field, *target), true;
    }
    for (const auto& [name, target] : switches) {
      if (name == key) return field.read(*target), true;
    }
    return false;
  });
}

template <class Object, class Read>
void read_list(const JsonValue& value, std::vector<Object>& out, Read&& read) {
  value.for_each_element([&](const JsonValue& element) {
    if (!element.is_object()) element.mismatch("an object");
    read(element, out.emplace_back());
  });
}

void read_version(const JsonValue& value) {
  std::int64_t version = kSpecVersion;
  if (value.read(version) && version != kSpecVersion) value.mismatch("version 1, the only one there is");
}

ClusterSpec read_cluster_spec(const JsonValue& value) {
  ClusterSpec spec;
  bool has_pools = false;
  value.for_each_field_strict([&](std::string_view key, const JsonValue& field) {
    if (key == "version")
      read_version(field);
    else if (key == "namespaces")
      read_list(field, spec.namespaces, read_namespace);
    else if (key == "priorityClasses")
      read_list(field, spec.priority_classes, read_priority_class);
    else if (key == "services")
      read_list(field, spec.services, read_service);
    else if (key == "nodePools")
      read_list(field, spec.node_pools, read_node_pool);
    else if (key == "pods")
      read_list(field, spec.pod_groups, read_pod_group);
    else if (key == "random" && field.present())
      read_random(field, spec.random.emplace());
    else
      return key == "random";
    has_pools = has_pools || (key != "version" && key != "random" && field.present());
    return true;
  });
  if (!value.is_object())
    value.mismatch("an object with nodePools and pods, or with random");
  else if (spec.random && has_pools)
    value.problem("expected either random or nodePools and pods");
  return spec;
}

void add_default_namespace(ClusterSpec& spec) {
  const auto is_default = [](const NamespaceSpec& ns) { return ns.name == "default"; };
  if (std::any_of(spec.namespaces.begin(), spec.namespaces.end(), is_default)) return;
  spec.namespaces.insert(spec.namespaces.begin(), NamespaceSpec{"default", {}, {}});
}

ClusterSpec read_document(const JsonDocument& document, const std::string& source) {
  ClusterSpec spec;
  ProblemSink sink(source);
  decode_config(document, source, sink, [&](const JsonValue& root) {
    spec = read_cluster_spec(root);
    check_cluster_spec(spec, sink);
  });
  add_default_namespace(spec);
  return spec;
}

}  // namespace

std::vector<std::string> NamespaceSpec::members() const {
  if (!count) return {name};
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(*count));
  for (std::int64_t i = 0; i < *count; ++i) names.push_back(name + '-' + std::to_string(i));
  return names;
}

ClusterSpec parse_cluster_spec(std::string_view json, const std::string& source) {
  return read_document({std::string(json)}, source);
}

ClusterSpec load_cluster_spec(const std::string& path) {
  TextLimits limits;
  limits.item_bytes_max = kMaxSpecBytes;
  const std::vector<JsonDocument> documents = documents_from_file(path, limits);
  if (documents.size() != 1) {
    throw InputError(InputProblem{path, "", "got " + std::to_string(documents.size()) + " documents, expected one"});
  }
  return read_document(documents.front(), path);
}

}  // namespace berth
