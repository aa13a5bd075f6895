// SPDX-License-Identifier: Apache-2.0
#include "host/objects/validation.h"

#include <array>

namespace berth {
namespace {

using enum ValidationCheck;

constexpr std::string_view kCompared = "compared as it stands";
constexpr std::string_view kNotRead = "not read";
constexpr std::string_view kKept = "kept";

constexpr auto kRules = std::to_array<ValidationRule>({
    {kUnknownField, "unknown-field", "every struct below", "a field of Kubernetes 1.35 or 1.36", kNotRead},
    {kDuplicateField, "duplicate-field", "every struct and map below", "each key once", "the last value counts"},
    {kName, "name", "metadata.name, metadata.namespace",
     "DNS subdomain; DNS label for namespaces and entries of volumeClaimTemplates", kCompared},
    {kLabels, "labels", "metadata.labels of objects and templates", "qualified names, label values", kCompared},
    {kReferencedName, "referenced-name",
     "spec.nodeName, priorityClassName, runtimeClassName, status.nominatedNodeName; storageClassName, "
     "volumeAttributesClassName; VolumeAttachment persistentVolumeName",
     "DNS subdomain", kCompared},
    {kOwnerReference, "owner-reference", "metadata.ownerReferences[]",
     "apiVersion VERSION or GROUP/VERSION; kind, but no Event, and name not empty; one controller",
     "compared as it stands; the first controller counts"},
    {kContainers, "containers", "spec.containers", "at least one", "requests nothing"},
    {kContainerName, "container-name", "containers[].name, initContainers[].name", "DNS label, once in a pod",
     "the first of that name is meant"},
    {kContainerImage, "container-image", "containers[].image, initContainers[].image", "no white space at either end",
     kCompared},
    {kContainerPort, "container-port", "containers[].ports[].containerPort", "1 to 65535", "read as 0"},
    {kPortProtocol, "port-protocol", "containers[].ports[].protocol", "TCP, UDP or SCTP", kCompared},
    {kHostPortConflict, "host-port-conflict", "containers[].ports[].hostPort",
     "protocol, address and port once in a pod", kKept},
    {kHostNetworkPort, "host-network-port", "containers[].ports[].hostPort",
     "the containerPort where hostNetwork is true", kKept},
    {kResourceName, "resource-name", "requests, limits, overhead",
     "cpu, memory, ephemeral-storage, hugepages-SIZE or a "
     "name with a domain",
     "not counted"},
    {kWholeResource, "whole-resource", "requests, limits, overhead, status.allocatable",
     "extended resources and pods are whole numbers", "rounded up"},
    {kRequestAboveLimit, "request-above-limit", "containers[].resources.requests, spec.resources.requests",
     "at most the limit", "the request counts"},
    {kNoOvercommit, "no-overcommit", "containers[].resources.requests, spec.resources.requests",
     "equal to the limit of an extended resource or huge pages, where it is given", "the request counts"},
    {kHugePages, "huge-pages", "requests, limits, overhead", "a multiple of the page size; cpu or memory beside them",
     "the request counts"},
    {kContainerClaim, "container-claim", "containers[].resources.claims[]",
     "name an entry of spec.resourceClaims; each claim or request of one once", kNotRead},
    {kContainerRestartPolicy, "container-restart-policy", "containers[].restartPolicy, initContainers[].restartPolicy",
     "Always, OnFailure or Never; not empty", "not Always: an init container is no sidecar"},
    {kRestartRule, "restart-rule", "containers[].restartPolicyRules", "a known action, beside a restartPolicy",
     "not RestartAllContainers"},
    {kPodRestartPolicy, "pod-restart-policy", "spec.restartPolicy",
     "Always, OnFailure or Never; of templates Always, of Jobs OnFailure or Never", "no rule reads it"},
    {kPreemptionPolicy, "preemption-policy", "spec.preemptionPolicy, PriorityClass preemptionPolicy", "not empty",
     "PreemptLowerPriority"},
    {kPodLevelResources, "pod-level-resources", "spec.resources",
     "cpu, memory and huge pages; at least what the containers request, and of huge pages their limits; no claims",
     "the pod's amounts count"},
    {kVolume, "volume", "spec.volumes[]",
     "name a DNS label, once; one source; claimName not empty; ephemeral with a volumeClaimTemplate", kKept},
    {kResourceClaim, "resource-claim", "spec.resourceClaims[]",
     "name a DNS label, once; either resourceClaimName or resourceClaimTemplateName, a DNS subdomain", kKept},
    {kSchedulingGate, "scheduling-gate", "spec.schedulingGates[].name", "qualified name, once", "holds the pod back"},
    {kGatedNodeName, "gated-node-name", "spec.nodeName", "absent while there are scheduling gates",
     "the pod runs there"},
    {kNodeSelector, "node-selector", "spec.nodeSelector, RuntimeClass scheduling.nodeSelector",
     "qualified names, label values", kCompared},
    {kNodeSelectorTerms, "node-selector-terms",
     "nodeAffinity.required*.nodeSelectorTerms of pods and PersistentVolumes", "at least one", "matches no node"},
    {kNodeRequirement, "node-requirement", "nodeAffinity matchExpressions[]",
     "key a qualified name; values by operator; label values where required", "as the rule for node affinity takes it"},
    {kNodeField, "node-field", "nodeAffinity matchFields[]", "metadata.name, In or NotIn, one name of a node",
     "as the rule for node affinity takes it"},
    {kPreferenceWeight, "preference-weight", "preferred*[].weight", "1 to 100", "0 adds nothing"},
    {kAffinityTopologyKey, "affinity-topology-key", "podAffinity and podAntiAffinity topologyKey", "qualified name",
     "no node has the label: affinity fits nowhere, anti-affinity keeps nothing apart"},
    {kAffinityNamespaces, "affinity-namespaces", "podAffinity and podAntiAffinity namespaces[]", "DNS label",
     kCompared},
    {kLabelSelector, "label-selector",
     "labelSelector, namespaceSelector, selectors of workloads, budgets and claims, CSIStorageCapacity nodeTopology",
     "keys qualified names; values by operator; label values", "as the rule that reads it takes it"},
    {kLabelKeys, "label-keys", "matchLabelKeys, mismatchLabelKeys",
     "qualified names beside a labelSelector that, once the pod's labels are merged into it, requires no key of "
     "matchLabelKeys twice; in one of both lists",
     "merged all the same"},
    {kMaxSkew, "max-skew", "topologySpreadConstraints[].maxSkew", "at least 1", kCompared},
    {kSpreadTopologyKey, "spread-topology-key", "topologySpreadConstraints[].topologyKey", "not empty",
     "no node has the label"},
    {kMinDomains, "min-domains", "topologySpreadConstraints[].minDomains", "at least 1, beside DoNotSchedule",
     kCompared},
    {kSpreadDuplicate, "spread-duplicate", "topologySpreadConstraints[]", "each topologyKey and whenUnsatisfiable once",
     "each constraint counts"},
    {kTolerationKey, "toleration-key", "tolerations[].key", "qualified name; absent only beside Exists",
     "without a key and with Equal every taint of that value is tolerated"},
    {kTolerationValue, "toleration-value", "tolerations[].value",
     "label value; none beside Exists; integer for Gt and Lt", kCompared},
    {kTolerationSeconds, "toleration-seconds", "tolerations[].tolerationSeconds", "only beside NoExecute", kNotRead},
    {kTolerationDuplicate, "toleration-duplicate", "RuntimeClass scheduling.tolerations[]", "each once", kKept},
    {kTaint, "taint", "Node spec.taints[]", "key a qualified name, value a label value", kCompared},
    {kTaintDuplicate, "taint-duplicate", "Node spec.taints[]", "each key and effect once", "each taint counts"},
    {kDeclaredFeatures, "declared-features", "Node status.declaredFeatures", "UpperCamelCase names in order, each once",
     kCompared},
    {kPriorityValue, "priority-value", "PriorityClass value, globalDefault",
     "at most 1000000000; names with system- only for the two built-in classes, neither of them the default", kKept},
    {kServiceSelector, "service-selector", "Service spec.selector", "qualified names, label values", kCompared},
    {kDisruptionsAllowed, "disruptions-allowed", "PodDisruptionBudget status.disruptionsAllowed", "at least 0",
     kCompared},
    {kWorkloadSelector, "workload-selector", "spec.selector of workloads", "present and not empty",
     "absent: the template's labels; empty: every pod"},
    {kSelectorTemplate, "selector-template", "spec.selector of workloads", "matches the template's labels",
     "the pods are made all the same"},
    {kIndexedJob, "indexed-job", "Job spec",
     "completionMode Indexed or NonIndexed; with Indexed completions, and parallelism at most 100000",
     "as without completionMode"},
    {kAccessModes, "access-modes", "accessModes of PersistentVolumes and claims",
     "at least one, not empty; none beside ReadWriteOncePod", kCompared},
    {kVolumeMode, "volume-mode", "volumeMode of PersistentVolumes and claims", "not empty", "Filesystem"},
    {kVolumeCapacity, "volume-capacity", "PersistentVolume spec.capacity", "storage alone, more than 0",
     "compared as it stands, 0 when absent"},
    {kClaimRequest, "claim-request", "spec.resources.requests of claims", "storage, more than 0",
     "compared as it stands, absent: any volume is large enough"},
    {kVolumeSource, "volume-source",
     "PersistentVolume spec; awsElasticBlockStore, azureDisk, cinder, csi, gcePersistentDisk, iscsi, portworxVolume "
     "and "
     "rbd of pods too",
     "one source; its disk, driver and volumeHandle not empty; an iqn, driver, kind and diskURI of the form that the "
     "source has",
     "compared as it stands; of several sources csi counts, else the last"},
    {kVolumeNodeAffinity, "volume-node-affinity", "PersistentVolume spec.nodeAffinity",
     "has required; present for a local volume", "every node"},
    {kAttributesClass, "attributes-class", "PersistentVolume volumeAttributesClassName", "not empty; beside csi",
     kCompared},
    {kStorageClass, "storage-class", "StorageClass provisioner, volumeBindingMode",
     "provisioner a qualified name, in upper or lower case; volumeBindingMode not empty",
     "compared as it stands; Immediate"},
    {kAllowedTopologies, "allowed-topologies", "StorageClass allowedTopologies[]",
     "each term once, with expressions; each key once, a qualified name; at least one value, each once",
     "as the rule for volumes takes it"},
    {kCsiNodeDriver, "csi-node-driver", "CSINode spec.drivers[]",
     "name a DNS subdomain of at most 63 characters, once; allocatable.count at least 0", kCompared},
    {kStorageCapacity, "storage-capacity", "CSIStorageCapacity capacity, storageClassName",
     "capacity at least 0; storageClassName not empty", kCompared},
    {kVolumeAttachment, "volume-attachment", "VolumeAttachment spec",
     "attacher a DNS subdomain of at most 63 characters; nodeName; either persistentVolumeName or inlineVolumeSpec",
     "counts no volume without a name"},
    {kKnownName, "known-name",
     "tolerations[].operator and effect, Node spec.taints[].effect, nodeAffinityPolicy, nodeTaintsPolicy, "
     "preemptionPolicy, status.phase",
     "a name that the API has",
     "a toleration tolerates nothing, a taint repels nothing, a policy is Ignore or PreemptLowerPriority, the pod has "
     "not finished"},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].check) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

}  // namespace

std::span<const ValidationRule> validation_rules() { return kRules; }

std::string_view id_of(ValidationCheck check) { return kRules[static_cast<std::size_t>(check)].id; }

}  // namespace berth
