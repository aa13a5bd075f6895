// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/objects/declared_paths.h"
#include "host/objects/label_map.h"
#include "host/objects/node.h"
#include "host/objects/resources.h"
#include "host/objects/selectors.h"
#include "host/objects/volumes.h"

namespace berth {

enum class TolerationOperator : std::uint8_t { kEqual, kExists, kGt, kLt };

struct Toleration {
  std::string key;                                     ///< empty: every key
  TolerationOperator op = TolerationOperator::kEqual;  ///< an absent operator reads as Equal
  std::string value;
  std::optional<TaintEffect> effect;  ///< absent: every effect
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct ContainerPort {
  std::int32_t host_port = 0;  ///< 0: none
  std::int32_t container_port = 0;
  std::string protocol;  ///< as stored; empty reads as TCP
  std::string host_ip;   ///< as stored; empty reads as 0.0.0.0
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};

struct Container {
  std::string name;
  std::string image;
  ResourceList requests;  ///< after limits were copied into absent requests
  ResourceList limits;
  std::vector<ContainerPort> ports;
  bool restart_always = false;           ///< restartPolicy: Always; makes an init container a sidecar
  bool restarts_all_containers = false;  ///< has a restart rule of action RestartAllContainers
  friend bool operator==(const Container&, const Container&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> namespaces;
  std::optional<LabelSelector> namespace_selector;
  std::string topology_key;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;
  PodAffinityTerm term;
  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};

/// Serves podAffinity and podAntiAffinity.
struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

struct TopologySpreadConstraint {
  std::int32_t max_skew = 1;
  std::string topology_key;
  bool schedule_anyway = false;  ///< whenUnsatisfiable: ScheduleAnyway, else DoNotSchedule
  std::optional<LabelSelector> label_selector;
  std::optional<std::int32_t> min_domains;
  bool honor_node_affinity = true;
  bool honor_node_taints = false;
  std::vector<std::string> match_label_keys;
  friend bool operator==(const TopologySpreadConstraint&, const TopologySpreadConstraint&) = default;
};

/// What a pod asks of a node: the part of spec that pods of one template share. Immutable once decoded and shared by
/// all pods of a load whose content is equal, so pointer equality within a load implies equal content.
struct PodSpec {
  std::string scheduler_name = "default-scheduler";
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  /// spec.resources after pod-level defaulting: docs/behaviour/plugins-node.md 1.3. No plugin reads the limits.
  ResourceList pod_level_requests;
  ResourceList pod_level_limits;
  bool has_pod_level_resources = false;  ///< spec.resources has a request or limit of a supported name
  bool host_network = false;
  LabelMap node_selector;
  std::optional<NodeAffinity> node_affinity;
  std::optional<PodAffinity> pod_affinity;
  std::optional<PodAffinity> pod_anti_affinity;
  std::vector<Toleration> tolerations;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<std::string> image_volumes;  ///< references of image volumes, in order
  std::string runtime_class_name;
  std::int64_t termination_grace_s = 30;  ///< terminationGracePeriodSeconds: how long its pods may take to end
  // Volumes that end with the pod, or stay on its node: rules of draining ask for them.
  bool has_empty_dir = false;          ///< an emptyDir of any medium
  bool has_empty_dir_on_disk = false;  ///< an emptyDir of another medium than Memory
  bool has_host_path = false;
  // What no rule reads and kube-scheduler's batch signature compares, in any order. 0 where there is none; numbers of
  // this process only.
  std::uint64_t tolerations_hash = 0;  ///< of tolerations as written, with their seconds
  std::uint64_t volumes_hash = 0;      ///< of the sources of volumes, claims, config maps and secrets left out
  friend bool operator==(const PodSpec&, const PodSpec&) = default;
};

/// Resources that the kubelet reported for a running container: docs/behaviour/plugins-node.md 1.3 "Status resources".
struct ContainerStatusResources {
  std::string container_name;
  ResourceList requests;      ///< resources.requests; empty: none
  ResourceList allocated;     ///< allocatedResources; empty: none
  bool has_resources = true;  ///< the entry has `resources`; v1.35 looks only at such entries
  friend bool operator==(const ContainerStatusResources&, const ContainerStatusResources&) = default;
};

/// A disk of an in-tree plugin that a pod names itself.
struct InlineDisk {
  std::string volume_name;
  VolumeSource source;
  std::shared_ptr<const MigratedVolume> migrated;  ///< null: the kind does not migrate to CSI
};

/// A volume that a storage plugin has to look at. Other kinds (emptyDir, configMap, ...) are dropped at load.
struct PodVolume {
  enum class Kind : std::uint8_t { kClaim, kEphemeral, kInTreeDisk, kCsiInline };
  Kind kind = Kind::kClaim;
  std::string name;  ///< claim name, volume name for ephemeral, source kind for a disk, driver of an inline CSI volume
  std::shared_ptr<const InlineDisk> disk = nullptr;  ///< of kInTreeDisk
  friend bool operator==(const PodVolume& a, const PodVolume& b);
};

struct OwnerReference {
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  std::string api_version = {};  ///< as read; default spreading compares it exactly
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };
enum class PreemptionPolicy : std::uint8_t { kPreemptLowerPriority, kNever };

/// How long a pod of a simulation runs, in the form of Go's durations; no rule of a scheduler reads it.
inline constexpr std::string_view kRunDurationAnnotation = "berth.dev/run-duration";

// Other annotations that the model keeps: rules of draining read them, none of a scheduler does.
inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
inline constexpr std::string_view kSafeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr std::string_view kDoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt";
inline constexpr std::array<std::string_view, 3> kKeptAnnotations = {kMirrorAnnotation, kSafeToEvictAnnotation,
                                                                     kDoNotDisruptAnnotation};
/// Names of volumes, separated by commas. Of it the model keeps whether it names all that are local.
inline constexpr std::string_view kSafeVolumesAnnotation =
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

/// What few pods carry; kept apart so that the many stay small (150,000 running pods fit in 600 bytes each).
struct PodRare {
  std::string nominated_node_name;  ///< status.nominatedNodeName
  std::vector<std::string> scheduling_gates;
  std::vector<PodVolume> volumes;
  std::vector<std::string> resource_claims;                ///< names of spec.resourceClaims entries
  std::vector<ContainerStatusResources> status_resources;  ///< empty when none could raise a request
  bool resize_infeasible = false;                          ///< condition PodResizePending with reason Infeasible
  bool preempted = false;  ///< condition DisruptionTarget is True with reason PreemptionByScheduler
  std::optional<std::int64_t> run_duration_us;                   ///< annotation kRunDurationAnnotation, 0 or more
  std::vector<std::pair<std::string, std::string>> annotations;  ///< those of kKeptAnnotations, in their order
  bool local_volumes_are_safe = false;  ///< kSafeVolumesAnnotation names every hostPath, and emptyDir on a disk
  DeclaredValues declared;              ///< at paths that plugins declared

  /// The value of an annotation of kKeptAnnotations. null: the pod does not have it
  const std::string* annotation(std::string_view name) const;
  friend bool operator==(const PodRare&, const PodRare&) = default;
};

struct Pod {
  std::string name;
  std::string namespace_ = "default";
  std::string stored_uid;  ///< metadata.uid; empty when the object carries none
  LabelMap labels;
  std::shared_ptr<const PodSpec> spec;                        ///< never null
  std::string node_name;                                      ///< empty: pending
  std::shared_ptr<const std::vector<OwnerReference>> owners;  ///< null: none; shared by the pods of one owner
  std::unique_ptr<const PodRare> rare_fields;                 ///< null: all at their defaults
  std::int64_t creation_time_us = 0;                          ///< microseconds since the epoch; 0 when absent
  std::int64_t start_time_us = 0;                             ///< status.startTime; 0 when absent
  std::int32_t priority = 0;
  PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  PodPhase phase = PodPhase::kPending;
  bool terminating = false;  ///< has a deletionTimestamp

  /// "namespace/name", as reports name a pod.
  std::string full_name() const { return namespace_ + "/" + name; }
  /// metadata.uid, or the full name where the object carries none: unique in a cluster either way.
  std::string uid() const { return stored_uid.empty() ? full_name() : stored_uid; }
  const PodRare& rare() const;  ///< defaults when rare_fields is null
};

using PodPtr = std::shared_ptr<const Pod>;

}  // namespace berth
