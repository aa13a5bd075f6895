// SPDX-License-Identifier: Apache-2.0
#include "host/objects/json_out.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <variant>
#include <vector>

#include "host/objects/go_duration.h"
#include "host/objects/json_parts.h"
#include "host/objects/json_writer.h"
#include "host/objects/local_volumes_out.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kTaintEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
constexpr std::array<std::string_view, 4> kTolerationOperators = {"Equal", "Exists", "Gt", "Lt"};
constexpr std::array<std::string_view, 5> kPhases = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

using Writer = JsonWriter;

void write_requirements(Writer& w, std::string_view name, const std::vector<SelectorRequirement>& requirements) {
  w.objects(name, requirements, [&](const SelectorRequirement& requirement) {
    w.field("key", requirement.key);
    w.field("operator", to_string(requirement.op));
    w.strings("values", requirement.values);
  });
}

void write_selector(Writer& w, std::string_view name, const std::optional<LabelSelector>& selector) {
  if (!selector) return;
  w.object(name, [&] {
    w.labels("matchLabels", selector->match_labels);
    write_requirements(w, "matchExpressions", selector->match_expressions);
  });
}

void write_tolerations(Writer& w, const std::vector<Toleration>& tolerations) {
  w.objects("tolerations", tolerations, [&](const Toleration& toleration) {
    w.text("key", toleration.key);
    w.field("operator", name_of(kTolerationOperators, toleration.op));
    w.text("value", toleration.value);
    if (toleration.effect) w.field("effect", effect_name(*toleration.effect));
  });
}

void write_term(Writer& w, const NodeSelectorTerm& term) {
  write_requirements(w, "matchExpressions", term.match_expressions);
  write_requirements(w, "matchFields", term.match_fields);
}

namespace {

void write_node_affinity(Writer& w, const NodeAffinity& affinity) {
  w.object("nodeAffinity", [&] {
    if (affinity.required) {
      w.object("requiredDuringSchedulingIgnoredDuringExecution", [&] {
        w.objects("nodeSelectorTerms", *affinity.required, [&](const NodeSelectorTerm& term) { write_term(w, term); });
      });
    }
    w.objects("preferredDuringSchedulingIgnoredDuringExecution", affinity.preferred,
              [&](const PreferredSchedulingTerm& preferred) {
                w.field("weight", preferred.weight);
                w.object("preference", [&] { write_term(w, preferred.preference); });
              });
  });
}

void write_pod_affinity_term(Writer& w, const PodAffinityTerm& term) {
  write_selector(w, "labelSelector", term.label_selector);
  w.strings("namespaces", term.namespaces);
  write_selector(w, "namespaceSelector", term.namespace_selector);
  w.text("topologyKey", term.topology_key);
  w.strings("matchLabelKeys", term.match_label_keys);
  w.strings("mismatchLabelKeys", term.mismatch_label_keys);
}

void write_pod_affinity(Writer& w, std::string_view name, const std::optional<PodAffinity>& affinity) {
  if (!affinity) return;
  w.object(name, [&] {
    w.objects("requiredDuringSchedulingIgnoredDuringExecution", affinity->required,
              [&](const PodAffinityTerm& term) { write_pod_affinity_term(w, term); });
    w.objects("preferredDuringSchedulingIgnoredDuringExecution", affinity->preferred,
              [&](const WeightedPodAffinityTerm& weighted) {
                w.field("weight", weighted.weight);
                w.object("podAffinityTerm", [&] { write_pod_affinity_term(w, weighted.term); });
              });
  });
}

void write_affinity(Writer& w, const PodSpec& spec) {
  if (!spec.node_affinity && !spec.pod_affinity && !spec.pod_anti_affinity) return;
  w.object("affinity", [&] {
    if (spec.node_affinity) write_node_affinity(w, *spec.node_affinity);
    write_pod_affinity(w, "podAffinity", spec.pod_affinity);
    write_pod_affinity(w, "podAntiAffinity", spec.pod_anti_affinity);
  });
}

void write_port(Writer& w, const ContainerPort& port) {
  if (port.host_port != 0) w.field("hostPort", port.host_port);
  w.field("containerPort", port.container_port);
  w.text("protocol", port.protocol);
  w.text("hostIP", port.host_ip);
}

void write_containers(Writer& w, std::string_view name, const std::vector<Container>& containers) {
  w.objects(name, containers, [&](const Container& container) {
    w.text("name", container.name);
    w.text("image", container.image);
    if (!container.requests.empty() || !container.limits.empty()) {
      w.object("resources", [&] {
        w.resources("requests", container.requests);
        w.resources("limits", container.limits);
      });
    }
    w.objects("ports", container.ports, [&](const ContainerPort& port) { write_port(w, port); });
    if (container.restart_always) w.field("restartPolicy", std::string_view("Always"));
    if (container.restarts_all_containers) {
      w.objects("restartPolicyRules", std::array{0},
                [&](int) { w.field("action", std::string_view("RestartAllContainers")); });
    }
  });
}

void write_spread_constraints(Writer& w, const std::vector<TopologySpreadConstraint>& constraints) {
  w.objects("topologySpreadConstraints", constraints, [&](const TopologySpreadConstraint& constraint) {
    w.field("maxSkew", constraint.max_skew);
    w.text("topologyKey", constraint.topology_key);
    w.text("whenUnsatisfiable", constraint.schedule_anyway ? "ScheduleAnyway" : "DoNotSchedule");
    write_selector(w, "labelSelector", constraint.label_selector);
    if (constraint.min_domains) w.field("minDomains", *constraint.min_domains);
    w.text("nodeAffinityPolicy", constraint.honor_node_affinity ? "Honor" : "Ignore");
    w.text("nodeTaintsPolicy", constraint.honor_node_taints ? "Honor" : "Ignore");
    w.strings("matchLabelKeys", constraint.match_label_keys);
  });
}

void write_smallest_claim(Writer& w) {
  w.object("spec", [&] {
    w.strings("accessModes", std::vector<std::string>{"ReadWriteOnce"});
    w.object("resources", [&] { w.object("requests", [&] { w.field("storage", std::string_view("1Gi")); }); });
  });
}

/// The model has the name alone of an ephemeral volume, and the driver alone of one that a CSI driver mounts inline;
/// the rest is what an API server asks for.
/// @param position  of the volume in its pod
void write_volume(Writer& w, const PodVolume& volume, std::size_t position) {
  switch (volume.kind) {
    case PodVolume::Kind::kClaim:
      w.text("name", volume.name);
      return w.object("persistentVolumeClaim", [&] { w.field("claimName", volume.name); });
    case PodVolume::Kind::kEphemeral:
      w.text("name", volume.name);
      return w.object("ephemeral", [&] { w.object("volumeClaimTemplate", [&] { write_smallest_claim(w); }); });
    case PodVolume::Kind::kInTreeDisk:
      w.text("name", volume.disk->volume_name);
      return write_volume_source(w, volume.disk->source);
    case PodVolume::Kind::kCsiInline:
      w.text("name", "csi-" + std::to_string(position));
      return w.object("csi", [&] { w.text("driver", volume.name); });
  }
}

void write_names(Writer& w, std::string_view field, const std::vector<std::string>& names) {
  w.objects(field, names, [&](const std::string& name) { w.field("name", name); });
}

void write_shared_spec(Writer& w, const PodSpec& spec) {
  w.text("schedulerName", spec.scheduler_name);
  write_containers(w, "containers", spec.containers);
  write_containers(w, "initContainers", spec.init_containers);
  w.resources("overhead", spec.overhead);
  if (!spec.pod_level_requests.empty() || !spec.pod_level_limits.empty()) {
    w.object("resources", [&] {
      w.resources("requests", spec.pod_level_requests);
      w.resources("limits", spec.pod_level_limits);
    });
  }
  w.flag("hostNetwork", spec.host_network);
  w.labels("nodeSelector", spec.node_selector);
  write_affinity(w, spec);
  write_tolerations(w, spec.tolerations);
  write_spread_constraints(w, spec.topology_spread_constraints);
  w.text("runtimeClassName", spec.runtime_class_name);
  if (spec.termination_grace_s != PodSpec().termination_grace_s)
    w.field("terminationGracePeriodSeconds", spec.termination_grace_s);
}

void write_spec(Writer& w, const Pod& pod) {
  w.object("spec", [&] {
    w.text("nodeName", pod.node_name);
    w.field("priority", pod.priority);
    if (pod.preemption_policy == PreemptionPolicy::kNever) w.text("preemptionPolicy", "Never");
    write_names(w, "schedulingGates", pod.rare().scheduling_gates);
    std::size_t position = 0;
    std::vector<std::variant<const PodVolume*, LocalVolume>> volumes;
    for (const PodVolume& volume : pod.rare().volumes) volumes.emplace_back(&volume);
    for (const LocalVolume& volume : local_volumes(*pod.spec)) volumes.emplace_back(volume);
    w.objects("volumes", volumes, [&](const auto& volume) {
      if (const auto* const known = std::get_if<const PodVolume*>(&volume)) return write_volume(w, **known, position++);
      write_local_volume(w, std::get<LocalVolume>(volume));
    });
    w.objects("resourceClaims", pod.rare().resource_claims, [&](const std::string& name) {
      w.field("name", name);
      w.field("resourceClaimName", name);
    });
    write_shared_spec(w, *pod.spec);
  });
}

void write_status_resources(Writer& w, const ContainerStatusResources& status) {
  w.text("name", status.container_name);
  if (status.has_resources) w.object("resources", [&] { w.resources("requests", status.requests); });
  w.resources("allocatedResources", status.allocated);
}

void write_conditions(Writer& w, const PodRare& rare) {
  struct Condition {
    std::string_view type;
    std::string_view status;
    std::string_view reason;
  };
  std::vector<Condition> conditions;
  if (rare.resize_infeasible) conditions.push_back({"PodResizePending", "", "Infeasible"});
  if (rare.preempted) conditions.push_back({"DisruptionTarget", "True", "PreemptionByScheduler"});
  w.objects("conditions", conditions, [&](const Condition& condition) {
    w.text("type", condition.type);
    w.text("status", condition.status);
    w.text("reason", condition.reason);
  });
}

void write_status(Writer& w, const Pod& pod) {
  const PodRare& rare = pod.rare();
  w.object("status", [&] {
    w.field("phase", name_of(kPhases, pod.phase));
    if (pod.start_time_us != 0) w.field("startTime", format_time(pod.start_time_us));
    w.text("nominatedNodeName", rare.nominated_node_name);
    write_conditions(w, rare);
    w.objects("containerStatuses", rare.status_resources,
              [&](const ContainerStatusResources& status) { write_status_resources(w, status); });
  });
}

void write_head(Writer& w, std::string_view api_version, std::string_view kind) {
  w.text("apiVersion", api_version);
  w.text("kind", kind);
}

void write_annotations(Writer& w, const Pod& pod) {
  const PodRare& rare = pod.rare();
  if (!rare.run_duration_us && rare.annotations.empty() && !rare.local_volumes_are_safe) return;
  w.object("annotations", [&] {
    if (rare.run_duration_us) w.field(kRunDurationAnnotation, go_duration_text(*rare.run_duration_us));
    for (const auto& [name, value] : rare.annotations) w.field(name, value);
    if (!rare.local_volumes_are_safe) return;
    std::string names;
    for (const LocalVolume& volume : local_volumes(*pod.spec)) names.append(names.empty() ? "" : ",") += volume.name;
    w.field(kSafeVolumesAnnotation, names);
  });
}

void write_pod_metadata(Writer& w, const Pod& pod) {
  w.object("metadata", [&] {
    w.text("name", pod.name);
    w.text("namespace", pod.namespace_);
    w.text("uid", pod.stored_uid);
    if (pod.creation_time_us != 0) w.field("creationTimestamp", format_time(pod.creation_time_us));
    // The model keeps only that there is a time of deletion.
    if (pod.terminating) w.field("deletionTimestamp", format_time(pod.creation_time_us));
    w.labels("labels", pod.labels);
    write_annotations(w, pod);
    if (!pod.owners) return;
    w.objects("ownerReferences", *pod.owners, [&](const OwnerReference& owner) {
      w.text("apiVersion", owner.api_version);
      w.text("kind", owner.kind);
      w.text("name", owner.name);
      w.text("uid", owner.uid);
      w.flag("controller", owner.controller);
    });
  });
}

void write_allocatable(Writer& w, const Node& node) {
  const ResourceAmounts& amounts = node.allocatable;
  w.object("allocatable", [&] {
    if (amounts.milli_cpu != 0) w.field(kCpu, std::to_string(amounts.milli_cpu) + "m");
    if (amounts.memory_bytes != 0) w.field(kMemory, std::to_string(amounts.memory_bytes));
    if (amounts.ephemeral_storage_bytes != 0) {
      w.field(kEphemeralStorage, std::to_string(amounts.ephemeral_storage_bytes));
    }
    if (node.allowed_pod_number != 0) w.field(kPods, std::to_string(node.allowed_pod_number));
    for (const auto& [name, amount] : amounts.scalars) w.field(name, std::to_string(amount));
  });
}

void write_taints(Writer& w, const std::vector<Taint>& taints) {
  w.objects("taints", taints, [&](const Taint& taint) {
    w.text("key", taint.key);
    w.text("value", taint.value);
    w.field("effect", effect_name(taint.effect));
  });
}

}  // namespace

std::string_view effect_name(TaintEffect effect) { return name_of(kTaintEffects, effect); }

std::string format_time(std::int64_t time_us) {
  using namespace std::chrono;
  const sys_time<microseconds> time{microseconds(time_us)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char buffer[80];
  std::snprintf(buffer, sizeof(buffer), "%04d-%02u-%02uT%02d:%02d:%02d", int(date.year()), unsigned(date.month()),
                unsigned(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  std::string out = buffer;
  if (const auto micros = clock.subseconds().count(); micros != 0) {
    std::snprintf(buffer, sizeof(buffer), ".%06lld", static_cast<long long>(micros));
    out += buffer;
  }
  return out + 'Z';
}

void append_json(std::string& out, const Node& node) {
  Writer w(out);
  w.open('{');
  write_head(w, "v1", "Node");
  w.object("metadata", [&] {
    w.text("name", node.name);
    w.labels("labels", node.labels);
  });
  if (node.unschedulable || !node.taints.empty()) {
    w.object("spec", [&] {
      w.flag("unschedulable", node.unschedulable);
      write_taints(w, node.taints);
    });
  }
  w.object("status", [&] {
    write_allocatable(w, node);
    w.objects("images", node.images, [&](const NodeImage& image) {
      w.strings("names", image.names.list());
      w.field("sizeBytes", image.size_bytes);
    });
    w.strings("declaredFeatures", node.declared_features);
  });
  w.close('}');
}

void append_json(std::string& out, const Pod& pod) {
  Writer w(out);
  w.open('{');
  write_head(w, "v1", "Pod");
  write_pod_metadata(w, pod);
  write_spec(w, pod);
  write_status(w, pod);
  w.close('}');
}

void append_json(std::string& out, const Namespace& object) {
  Writer w(out);
  w.open('{');
  write_head(w, "v1", "Namespace");
  w.object("metadata", [&] {
    w.text("name", object.name);
    w.labels("labels", object.labels);
  });
  w.close('}');
}

void append_json(std::string& out, const Service& object) {
  Writer w(out);
  w.open('{');
  write_head(w, "v1", "Service");
  w.object("metadata", [&] {
    w.text("name", object.name);
    w.text("namespace", object.namespace_);
  });
  w.object("spec", [&] { w.labels("selector", object.selector); });
  w.close('}');
}

void append_json(std::string& out, const Workload& object) {
  const bool is_replication_controller = object.kind == "ReplicationController";
  Writer w(out);
  w.open('{');
  write_head(w, is_replication_controller ? "v1" : "apps/v1", object.kind);
  w.object("metadata", [&] {
    w.text("name", object.name);
    w.text("namespace", object.namespace_);
    w.text("uid", object.uid);
  });
  w.object("spec", [&] {
    w.field("replicas", 0);
    if (is_replication_controller)
      w.labels("selector", object.selector ? object.selector->match_labels : LabelMap());
    else
      write_selector(w, "selector", object.selector);
    w.object("template", [&] { w.object("spec", [] {}); });
  });
  w.close('}');
}

ObjectListWriter::ObjectListWriter(std::FILE* file) : file_(file) {
  buffer_ = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[";
}

void ObjectListWriter::flush() {
  failed_ |= std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size();
  buffer_.clear();
}

bool ObjectListWriter::finish() {
  buffer_ += "\n]}\n";
  flush();
  failed_ |= std::fflush(file_) != 0;
  return !failed_;
}

}  // namespace berth
