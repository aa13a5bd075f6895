// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the API server's validation of v1.35 checks of the fields that scheduling reads: one function for each API
// struct, as upstream's pkg/apis/*/validation has it. A value that fails a check is read as it stands, and is reported
// as a finding of the value's sink: a warning, or with --strict a problem. Values that cannot be stored at all (wrong
// JSON types, unknown operators, negative amounts) are problems of the decoders. The table in docs/objects.md lists
// the checks; a test keeps it equal to validation_rules().

#include <cstdint>
#include <span>
#include <string_view>

#include "host/objects/json_value.h"
#include "host/objects/pod.h"

namespace berth {

enum class ValidationCheck : std::uint8_t {
  kUnknownField,
  kDuplicateField,
  kName,
  kLabels,
  kReferencedName,
  kOwnerReference,
  kContainers,
  kContainerName,
  kContainerImage,
  kContainerPort,
  kPortProtocol,
  kHostPortConflict,
  kHostNetworkPort,
  kResourceName,
  kWholeResource,
  kRequestAboveLimit,
  kNoOvercommit,
  kHugePages,
  kContainerClaim,
  kContainerRestartPolicy,
  kRestartRule,
  kPodRestartPolicy,
  kPreemptionPolicy,
  kPodLevelResources,
  kVolume,
  kResourceClaim,
  kSchedulingGate,
  kGatedNodeName,
  kNodeSelector,
  kNodeSelectorTerms,
  kNodeRequirement,
  kNodeField,
  kPreferenceWeight,
  kAffinityTopologyKey,
  kAffinityNamespaces,
  kLabelSelector,
  kLabelKeys,
  kMaxSkew,
  kSpreadTopologyKey,
  kMinDomains,
  kSpreadDuplicate,
  kTolerationKey,
  kTolerationValue,
  kTolerationSeconds,
  kTolerationDuplicate,
  kTaint,
  kTaintDuplicate,
  kDeclaredFeatures,
  kPriorityValue,
  kServiceSelector,
  kDisruptionsAllowed,
  kWorkloadSelector,
  kSelectorTemplate,
  kIndexedJob,
  kAccessModes,
  kVolumeMode,
  kVolumeCapacity,
  kClaimRequest,
  kVolumeSource,
  kVolumeNodeAffinity,
  kAttributesClass,
  kStorageClass,
  kAllowedTopologies,
  kCsiNodeDriver,
  kStorageCapacity,
  kVolumeAttachment,
  kKnownName,
};

struct ValidationRule {
  ValidationCheck check;
  std::string_view id;      ///< as warnings and docs/objects.md name it
  std::string_view fields;  ///< where it applies
  std::string_view rule;    ///< what the API server demands
  std::string_view stored;  ///< how a value that fails is read
};

/// All checks, in the order of ValidationCheck.
std::span<const ValidationRule> validation_rules();
std::string_view id_of(ValidationCheck check);

// Objects. Each checks the object's own fields and what lies in them, without its metadata.

void validate_node(const JsonValue& object);
void validate_priority_class(const JsonValue& object);
void validate_service(const JsonValue& object);
void validate_runtime_class(const JsonValue& object);
void validate_disruption_budget(const JsonValue& object);
/// @param kind             as of Workload::kind
/// @param template_labels  of spec.template, as read
void validate_workload(const JsonValue& object, std::string_view kind, const LabelMap& template_labels);
void validate_persistent_volume(const JsonValue& object);
void validate_volume_claim(const JsonValue& object);
void validate_storage_class(const JsonValue& object);
void validate_csi_node(const JsonValue& object);
void validate_csi_driver(const JsonValue& object);
void validate_csi_storage_capacity(const JsonValue& object);
void validate_volume_attachment(const JsonValue& object);
/// An entry of volumeClaimTemplates of a StatefulSet, with its metadata.
void validate_claim_template(const JsonValue& object);

/// Name, namespace and field names; labels and owners are checked where they are read.
void validate_metadata(const JsonValue& metadata, bool is_namespace_object);
/// @param decoded         of `owner`
/// @param has_controller  an earlier owner of the object is its controller
void validate_owner(const JsonValue& owner, const OwnerReference& decoded, bool has_controller);
/// metadata.labels, a node selector or another map of labels.
void validate_labels(const JsonValue& labels, ValidationCheck check);

// Parts of pods.

/// The name of another object: spec.nodeName, status.nominatedNodeName.
void validate_referenced_name(const JsonValue& name);
/// The fields of a spec that are each pod's own: names, gates, volumes, claims, and names of unknown fields.
void validate_pod_own(const JsonValue& spec);
/// The rest of a spec.
/// @param decoded  of `spec`, with apply_spec_defaults() applied
void validate_pod_spec(const JsonValue& spec, const PodSpec& decoded);
void validate_allocatable(const JsonValue& list);
/// spec.overhead, or podFixed of a RuntimeClass.
void validate_overhead(const JsonValue& list);
void validate_resources(const JsonValue& resources, const JsonValue& pod_claims);
/// What an entry of spec.volumes has beside its name.
void validate_volume_sources(const JsonValue& volume);
void validate_affinity(const JsonValue& affinity);
/// A selector of nodes by terms of which one has to match: of a node affinity or of a PersistentVolume.
void validate_node_selector(const JsonValue& selector);
void validate_spread_constraints(const JsonValue& constraints);
/// What the API server finds once it has merged matchLabelKeys into the selectors of a pod with these labels. Specs
/// are shared and labels are each pod's own, so this is apart from validate_pod_spec().
void validate_merged_label_keys(const JsonValue& spec, const LabelMap& labels);
void validate_tolerations(const JsonValue& tolerations);
void validate_label_selector(const JsonValue& selector);

}  // namespace berth
