// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode_pod.h"

#include <algorithm>
#include <array>
#include <optional>

#include "host/objects/decode_parts.h"
#include "host/objects/decode_pod_spec.h"
#include "host/objects/decode_volumes.h"
#include "host/objects/field_names.h"
#include "host/objects/go_duration.h"
#include "host/objects/label_keys.h"
#include "host/objects/pod_names.h"
#include "host/objects/validation.h"

namespace berth {
namespace {

constexpr std::array<std::pair<std::string_view, PodPhase>, 5> kPhases = {{{"Pending", PodPhase::kPending},
                                                                           {"Running", PodPhase::kRunning},
                                                                           {"Succeeded", PodPhase::kSucceeded},
                                                                           {"Failed", PodPhase::kFailed},
                                                                           {"Unknown", PodPhase::kUnknown}}};

OwnerReference read_owner(const JsonValue& value) {
  OwnerReference owner;
  value.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "apiVersion") field.read(owner.api_version);
    if (key == "kind") field.read(owner.kind);
    if (key == "name") field.read(owner.name);
    if (key == "uid") field.read(owner.uid);
    if (key == "controller") field.read(owner.controller);
  });
  return owner;
}

void append_length_and_text(std::string& out, std::string_view text) {
  const std::size_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out.append(text);
}

void append_content(std::string& out, const std::vector<OwnerReference>& owners) {
  for (const OwnerReference& owner : owners) {
    append_length_and_text(out, owner.api_version);
    append_length_and_text(out, owner.kind);
    append_length_and_text(out, owner.name);
    append_length_and_text(out, owner.uid);
    out += owner.controller ? '1' : '0';
  }
}

void read_names(const JsonValue& value, std::vector<std::string>& out) {
  out.clear();
  value.for_each_element([&](const JsonValue& element) { element.field("name").read(out.emplace_back()); });
}

bool has_text(const JsonValue& object, std::string_view field, std::string_view expected) {
  std::string_view text;
  return object.field(field).read(text) && text == expected;
}

/// The first condition of each type decides, as kube-scheduler's helpers do.
void read_conditions(const JsonValue& conditions, PodRare& rare) {
  bool knows_resize = false;
  bool knows_disruption = false;
  conditions.for_each_element([&](const JsonValue& condition) {
    if (!knows_resize && has_text(condition, "type", "PodResizePending")) {
      knows_resize = true;
      rare.resize_infeasible = has_text(condition, "reason", "Infeasible");
    } else if (!knows_disruption && has_text(condition, "type", "DisruptionTarget")) {
      knows_disruption = true;
      rare.preempted = has_text(condition, "status", "True") && has_text(condition, "reason", "PreemptionByScheduler");
    }
  });
}

void read_container_statuses(const JsonValue& value, std::vector<ContainerStatusResources>& out) {
  value.for_each_element([&](const JsonValue& element) {
    if (!element.is_object()) return;
    const JsonValue resources = element.field("resources");
    const JsonValue allocated = element.field("allocatedResources");
    if (!resources.present() && !allocated.present()) return;
    ContainerStatusResources& status = out.emplace_back();
    element.field("name").read(status.container_name);
    status.has_resources = resources.present();
    status.requests = read_resource_list(resources.field("requests"), ResourceNames::kAny);
    status.allocated = read_resource_list(allocated, ResourceNames::kAny);
  });
}

std::optional<std::int64_t> read_run_duration(const JsonValue& value) {
  std::string_view text;
  if (!value.read(text)) return std::nullopt;
  const std::optional<std::int64_t> ns = parse_go_duration_ns(text);
  if (ns && *ns >= 0) return duration_us(*ns);
  value.mismatch("a duration of 0 or more, such as \"30m\"");
  return std::nullopt;
}

/// Other annotations are not looked at: they may be anything.
void read_annotations(const JsonValue& annotations, DecodedMeta& meta) {
  if (!annotations.is_object()) return;
  std::array<std::optional<std::string>, kKeptAnnotations.size()> kept;
  annotations.for_each_entry([&](std::string_view key, const JsonValue& value) {
    if (key == kRunDurationAnnotation) meta.run_duration_us = read_run_duration(value);
    std::optional<std::string>* into = key == kSafeVolumesAnnotation ? &meta.safe_volumes : nullptr;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (key == kKeptAnnotations[i]) into = &kept[i];
    if (into == nullptr) return;
    into->emplace();
    value.read(**into);
  });
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) meta.annotations.emplace_back(kKeptAnnotations[i], std::move(*kept[i]));
}

/// Whether every volume that stays on the node is in a list of names that are separated by commas.
bool names_local_volumes(const JsonValue& volumes, std::string_view names) {
  bool all = true;
  volumes.for_each_element([&](const JsonValue& volume) {
    std::string_view name;
    if (!volume.is_object() || !stays_on_node(volume) || !volume.field("name").read(name)) return;
    bool is_named = false;
    for (std::string_view rest = names; !is_named;) {
      const std::size_t comma = rest.find(',');
      is_named = rest.substr(0, comma) == name;
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    all = all && is_named;
  });
  return all;
}

bool is_within(const ResourceList& list, const ResourceList& limit) {
  return std::all_of(list.begin(), list.end(), [&](const auto& entry) {
    const Quantity* most = find(limit, entry.first);
    return most != nullptr && entry.second <= *most;
  });
}

/// Whether an API server adds labels of the pod to a selector of the spec.
bool has_keys_to_merge(const PodSpec& spec) {
  return names_label_keys(spec) ||
         std::any_of(spec.topology_spread_constraints.begin(), spec.topology_spread_constraints.end(),
                     [](const TopologySpreadConstraint& constraint) { return !constraint.match_label_keys.empty(); });
}

/// Whether some figure of the kubelet is above what the spec asks; otherwise no rule can tell them from none.
bool can_raise_requests(const PodSpec& spec, const std::vector<ContainerStatusResources>& statuses) {
  const auto is_harmless = [&](const ContainerStatusResources& status) {
    const auto is_meant = [&](const Container& c) { return c.name == status.container_name; };
    for (const auto* containers : {&spec.containers, &spec.init_containers}) {
      const auto at = std::find_if(containers->begin(), containers->end(), is_meant);
      if (at != containers->end())
        return is_within(status.requests, at->requests) && is_within(status.allocated, at->requests);
    }
    return true;  // of no container of the spec: never looked up
  };
  return !std::all_of(statuses.begin(), statuses.end(), is_harmless);
}

}  // namespace

LabelMap PodDecoder::read_labels(const JsonValue& value) {
  read_string_map(value, entries_);
  if (entries_.empty()) return {};
  LabelMap::pack(entries_, scratch_);
  const std::uint64_t hash = hash_bytes(scratch_);
  LabelMap& recent = recent_labels_[hash % kRecentCount];
  if (recent.bytes() == scratch_) return recent;
  const std::size_t findings_before = value.sink().finding_count();
  LabelMap labels = pools_.labels(scratch_, hash);
  validate_labels(value, ValidationCheck::kLabels);
  // Labels with a finding have to be reported again with the next object.
  if (value.sink().finding_count() == findings_before && value.sink().empty()) recent = labels;
  return labels;
}

OwnersPtr PodDecoder::read_owners(const JsonValue& value) {
  std::vector<OwnerReference> owners;
  bool has_controller = false;
  value.for_each_element([&](const JsonValue& element) {
    const OwnerReference& owner = owners.emplace_back(read_owner(element));
    validate_owner(element, owner, has_controller);
    has_controller |= owner.controller;
  });
  if (owners.empty()) return nullptr;
  scratch_.clear();
  append_content(scratch_, owners);
  const std::uint64_t hash = hash_bytes(scratch_);
  RecentOwners& recent = recent_owners_[hash % kRecentCount];
  if (recent.content != scratch_) recent = {scratch_, pools_.owners(std::move(owners), hash)};
  return recent.owners;
}

DecodedMeta PodDecoder::read_metadata(const JsonValue& metadata, bool is_namespace_object) {
  DecodedMeta meta;
  validate_metadata(metadata, is_namespace_object);
  std::int64_t deletion_time_us = 0;
  metadata.for_each_field([&](std::string_view key, const JsonValue& field) {
    if (key == "name") {
      field.read(meta.name);
    } else if (key == "namespace") {
      field.read(meta.namespace_);
    } else if (key == "uid") {
      field.read(meta.uid);
    } else if (key == "labels") {
      meta.labels = read_labels(field);
    } else if (key == "ownerReferences") {
      meta.owners = read_owners(field);
    } else if (key == "creationTimestamp") {
      read_time(field, meta.creation_time_us);
    } else if (key == "deletionTimestamp") {
      meta.terminating = read_time(field, deletion_time_us);
    } else if (key == "annotations") {
      read_annotations(field, meta);
    }
  });
  return meta;
}

void PodDecoder::keep_annotations(DecodedMeta&& meta, const JsonValue& spec, PodOwn& own) {
  own.rare.run_duration_us = meta.run_duration_us;
  own.rare.annotations = std::move(meta.annotations);
  own.rare.local_volumes_are_safe = meta.safe_volumes && names_local_volumes(spec.field("volumes"), *meta.safe_volumes);
  own.has_rare |= !(own.rare == PodRare());
}

void PodDecoder::keep_declared(const JsonValue& object, PodOwn& own) const {
  if (declared_ == nullptr) return;
  own.rare.declared = read_declared(object, declared_->of_pods());
  own.has_rare |= !own.rare.declared.empty();
}

bool PodDecoder::read_own_field(std::string_view key, const JsonValue& value, PodOwn& own) {
  if (key == "nodeName") {
    value.read(own.node_name);
  } else if (key == "priority") {
    value.read(own.priority);
  } else if (key == "priorityClassName") {
    value.read(own.priority_class_name);
  } else if (key == "preemptionPolicy") {
    own.preemption_policy = read_preemption_policy(value);
  } else if (key == "schedulingGates") {
    read_names(value, own.rare.scheduling_gates);
    own.has_rare |= !own.rare.scheduling_gates.empty();
  } else if (key == "volumes") {
    read_pod_volumes(value, own.rare.volumes);
    own.has_rare |= !own.rare.volumes.empty();
  } else if (key == "resourceClaims") {
    read_names(value, own.rare.resource_claims);
    own.has_rare |= !own.rare.resource_claims.empty();
  } else {
    return false;
  }
  return true;
}

SpecPtr PodDecoder::shared_spec(const JsonValue& spec) {
  scratch_.clear();
  append_spec_source(scratch_, simdjson::dom::object(spec.element()));
  const auto known = recent_specs_.find(scratch_);
  if (known != recent_specs_.end()) return known->second;
  std::string source = scratch_;
  const std::size_t problems_before = spec.sink().count();
  const std::size_t findings_before = spec.sink().finding_count();
  SpecPtr shared = pools_.spec(read_pod_spec(spec));
  validate_pod_spec(spec, *shared);
  // A spec with problems or findings has to report them again, with the next pod's path.
  if (spec.sink().count() != problems_before || spec.sink().finding_count() != findings_before) return shared;
  recent_spec_bytes_ += source.size();
  if (recent_spec_bytes_ > kRecentSpecBytes) {
    recent_specs_.clear();
    recent_spec_bytes_ = source.size();
  }
  recent_specs_.emplace(std::move(source), shared);
  return shared;
}

SpecPtr PodDecoder::read_spec(const JsonValue& spec, PodOwn& own) {
  if (!spec.expect_object()) {
    if (!spec.present()) spec.problem("absent, expected an object");
    return std::make_shared<const PodSpec>();
  }
  spec.for_each_field([&](std::string_view key, const JsonValue& field) { read_own_field(key, field, own); });
  validate_pod_own(spec);
  return shared_spec(spec);
}

void PodDecoder::read_status(const JsonValue& status, Pod& pod, PodOwn& own) {
  std::vector<ContainerStatusResources> statuses;
  PodRare told;
  validate_fields(status, ApiType::kPodStatus);
  status.for_each_field([&](std::string_view key, const JsonValue& field) {
    // A pod of another phase has not finished. "" is that of a pod that no kubelet has seen yet.
    const bool has_phase = key == "phase" && !(field.is_string() && std::string_view(field.element()).empty());
    if (has_phase) read_stored_enum(field, kPhases, PodPhase::kUnknown, pod.phase);
    if (key == "startTime") read_time(field, pod.start_time_us);
    if (key == "nominatedNodeName") {
      field.read(own.rare.nominated_node_name);
      validate_referenced_name(field);
    }
    if (key == "conditions") read_conditions(field, told);
    if (key == "containerStatuses" || key == "initContainerStatuses") read_container_statuses(field, statuses);
  });
  const bool is_on_node = !own.node_name.empty();
  if (told.resize_infeasible || can_raise_requests(*pod.spec, statuses)) {
    own.rare.status_resources = std::move(statuses);
    own.rare.resize_infeasible = told.resize_infeasible;
    own.has_rare = true;
  }
  if (is_on_node && told.preempted) own.rare.preempted = own.has_rare = true;
  own.has_rare |= !own.rare.nominated_node_name.empty();
}

DecodedPod PodDecoder::read_pod(const JsonValue& object) {
  DecodedPod decoded;
  decoded.pod = std::make_shared<Pod>();
  Pod& pod = *decoded.pod;
  constexpr std::array<std::string_view, 3> kParts = {"metadata", "spec", "status"};
  const auto found = object.find_fields(kParts);
  validate_fields(object, ApiType::kPod);
  DecodedMeta meta = read_metadata(object.field(kParts[0], found[0]));
  pod.name = std::move(meta.name);
  if (!meta.namespace_.empty()) pod.namespace_ = std::move(meta.namespace_);
  pod.stored_uid = std::move(meta.uid);
  pod.labels = std::move(meta.labels);
  pod.owners = std::move(meta.owners);
  pod.creation_time_us = meta.creation_time_us;
  pod.terminating = meta.terminating;

  PodOwn own;
  const JsonValue spec = object.field(kParts[1], found[1]);
  keep_annotations(std::move(meta), spec, own);
  keep_declared(object, own);
  pod.spec = read_spec(spec, own);
  if (has_keys_to_merge(*pod.spec)) validate_merged_label_keys(spec, pod.labels);
  read_status(object.field(kParts[2], found[2]), pod, own);
  pod.node_name = own.node_name;
  pod.priority = own.priority.value_or(0);
  pod.preemption_policy = own.preemption_policy.value_or(PreemptionPolicy::kPreemptLowerPriority);
  if (own.has_rare) pod.rare_fields = std::make_unique<const PodRare>(std::move(own.rare));
  decoded.has_label_keys = names_label_keys(*pod.spec);
  decoded.has_runtime_class = !pod.spec->runtime_class_name.empty();
  decoded.has_priority = own.priority.has_value();
  decoded.has_preemption_policy = own.preemption_policy.has_value();
  if (!own.priority_class_name.empty()) {
    decoded.priority_class_name = std::make_unique<std::string>(own.priority_class_name);
  }
  decoded.name_hash = PodNames::hash(pod.namespace_, pod.name);
  decoded.uid_hash = hash_bytes(pod.stored_uid.empty() ? pod.full_name() : pod.stored_uid);
  return decoded;
}

PodTemplate PodDecoder::read_template(const JsonValue& value) {
  PodTemplate result;
  if (!value.present()) value.problem("absent, expected a pod template");
  PodOwn own;
  DecodedMeta meta = read_metadata(value.field("metadata"));
  result.labels = std::move(meta.labels);
  const JsonValue spec = value.field("spec");
  keep_annotations(std::move(meta), spec, own);
  keep_declared(value, own);
  result.spec = read_spec(spec, own);
  if (has_keys_to_merge(*result.spec)) validate_merged_label_keys(spec, result.labels);
  result.node_name = own.node_name;
  result.rare = std::move(own.rare);
  result.priority_class_name = own.priority_class_name;
  result.priority = own.priority;
  result.preemption_policy = own.preemption_policy;
  return result;
}

}  // namespace berth
