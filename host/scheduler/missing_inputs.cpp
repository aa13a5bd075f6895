// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/missing_inputs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "host/objects/dump_command.h"
#include "host/objects/pod_state.h"
#include "host/preemption/default_preemption.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {
namespace {

/// The pods that need what is missing: how many, and the first.
struct Needing {
  std::int64_t pod_count = 0;
  const Pod* first = nullptr;
  const Pod* last = nullptr;

  void add(const Pod& pod) {
    if (pod_count++ == 0) first = &pod;
    last = &pod;
  }
  /// "pod default/a" or "pods default/a and 2 more"
  std::string words() const {
    if (pod_count == 1) return "pod " + first->full_name();
    return "pods " + first->full_name() + " and " + std::to_string(pod_count - 1) + " more";
  }
};

std::string with_command(std::string sentence, std::string_view kinds) {
  return std::move(sentence) + ". To add what is missing: " + dump_command_for(kinds);
}

/// Pods that are to be placed, and those whose terms are read for them.
class Pods {
 public:
  explicit Pods(const ClusterObjects& objects) : objects_(objects) {}
  Pods(const ClusterObjects& objects, const std::vector<PodPtr>& asked) : objects_(objects), asked_(&asked) {}

  /// Calls visit(const Pod&) for each pod that is to be placed.
  template <class Visit>
  void for_each_queued(Visit&& visit) const {
    for (const PodPtr& pod : asked_ != nullptr ? *asked_ : objects_.pods)
      if (asked_ != nullptr || may_be_queued(*pod)) visit(*pod);
  }
  /// Calls visit(const Pod&) for each pod whose terms select pods of any namespace.
  template <class Visit>
  void for_each_selecting(Visit&& visit) const {
    for (const PodPtr& pod : asked_ != nullptr ? *asked_ : objects_.pods) visit(*pod);
  }
  /// Calls visit(const Pod&) for each other pod whose terms may select one that is to be placed.
  template <class Visit>
  void for_each_other(Visit&& visit) const {
    if (asked_ == nullptr) return;
    for (const PodPtr& pod : objects_.pods)
      if (is_on_node(*pod)) visit(*pod);
  }
  /// Namespaces that terms of the others may find a pod of.
  std::set<std::string_view> namespaces_asked_for() const {
    std::set<std::string_view> names;
    if (asked_ != nullptr)
      for (const PodPtr& pod : *asked_) names.insert(pod->namespace_);
    return names;
  }

 private:
  static bool may_be_queued(const Pod& pod) { return is_pending(pod) && !pod.terminating; }

  const ClusterObjects& objects_;
  const std::vector<PodPtr>* asked_ = nullptr;  ///< null: every pod
};

/// Objects that an API server stored have a uid; in hand-written and generated input a Service or a budget may well
/// not exist.
bool is_dump(const ClusterObjects& objects) {
  return std::any_of(objects.pods.begin(), objects.pods.end(),
                     [](const PodPtr& pod) { return !pod->stored_uid.empty(); });
}

// ---- Namespaces

bool reads_namespace_labels(const PodAffinityTerm& term) {
  const auto& selector = term.namespace_selector;
  return selector && (!selector->match_labels.empty() || !selector->match_expressions.empty());
}

bool reads_namespace_labels(const std::optional<PodAffinity>& affinity) {
  if (!affinity) return false;
  return std::any_of(affinity->required.begin(), affinity->required.end(),
                     [](const PodAffinityTerm& term) { return reads_namespace_labels(term); }) ||
         std::any_of(affinity->preferred.begin(), affinity->preferred.end(),
                     [](const WeightedPodAffinityTerm& weighted) { return reads_namespace_labels(weighted.term); });
}

bool reads_namespace_labels(const PodSpec& spec) {
  return reads_namespace_labels(spec.pod_affinity) || reads_namespace_labels(spec.pod_anti_affinity);
}

std::set<std::string_view> namespaces_without_object(const ClusterObjects& objects) {
  std::set<std::string_view> known;
  for (const Namespace& name_space : objects.namespaces) known.insert(name_space.name);
  std::set<std::string_view> missing;
  for (const PodPtr& pod : objects.pods)
    if (!known.contains(pod->namespace_)) missing.insert(pod->namespace_);
  return missing;
}

void look_for_namespaces(const ClusterObjects& objects, const Pods& pods, std::vector<std::string>& found) {
  Needing selecting;
  Needing others;
  const PodSpec* last = nullptr;
  bool last_reads = false;
  const auto add = [&](Needing& needing, const Pod& pod) {
    if (pod.spec.get() != last) last_reads = reads_namespace_labels(*pod.spec);
    last = pod.spec.get();
    if (last_reads) needing.add(pod);
  };
  pods.for_each_selecting([&](const Pod& pod) { add(selecting, pod); });
  if (selecting.pod_count == 0) pods.for_each_other([&](const Pod& pod) { add(others, pod); });
  const Needing& needing = selecting.pod_count > 0 ? selecting : others;
  if (needing.pod_count == 0) return;
  std::set<std::string_view> missing = namespaces_without_object(objects);
  if (selecting.pod_count == 0) {
    const std::set<std::string_view> asked = pods.namespaces_asked_for();
    std::erase_if(missing, [&](std::string_view name) { return !asked.contains(name); });
  }
  if (missing.empty()) return;
  std::string names = "\"" + std::string(*missing.begin()) + "\"";
  if (missing.size() > 1) names += " and " + std::to_string(missing.size() - 1) + " more";
  found.push_back(with_command("the input has no Namespace " + names + ", whose labels a namespaceSelector of " +
                                   needing.words() + " reads: pods there are selected as if it had none",
                               "namespaces"));
}

// ---- Services and controllers

/// A kind of owner whose selector default spreading reads.
struct OwnerKind {
  std::string_view kind;
  std::string_view resource;  ///< as kubectl calls it
};

constexpr auto kOwnerKinds = std::to_array<OwnerKind>({{"ReplicaSet", "replicasets"},
                                                       {"StatefulSet", "statefulsets"},
                                                       {"ReplicationController", "replicationcontrollers"}});

/// Pending pods that get default constraints, by what their selector would be made of.
class DefaultSpreading {
 public:
  explicit DefaultSpreading(const ClusterObjects& objects) : objects_(objects) {
    for (const Workload& workload : objects.workloads)
      workloads_.emplace(workload.kind, workload.namespace_, workload.name);
  }

  void add(const Pod& pod) {
    if (!pod.labels.empty()) labelled_.add(pod);
    if (pod.owners == nullptr) return;
    if (pod.owners.get() != last_owners_ || pod.namespace_ != last_namespace_) last_missing_ = missing_owner(pod);
    last_owners_ = pod.owners.get();
    last_namespace_ = pod.namespace_;
    if (last_missing_ == nullptr) return;
    for (std::size_t i = 0; i < kOwnerKinds.size(); ++i) {
      if (kOwnerKinds[i].kind != last_missing_->kind) continue;
      if (owned_[i].pod_count == 0) owner_names_[i] = last_missing_->name;
      owned_[i].add(pod);
    }
  }

  void tell(std::vector<std::string>& found) const {
    for (std::size_t i = 0; i < kOwnerKinds.size(); ++i) {
      if (owned_[i].pod_count == 0) continue;
      const std::string kind(kOwnerKinds[i].kind);
      found.push_back(with_command("the input has no " + kind + " \"" + owner_names_[i] + "\", the owner of " +
                                       owned_[i].words() +
                                       ": default topology spreading does not know which pods belong together",
                                   kOwnerKinds[i].resource));
    }
    if (labelled_.pod_count > 0 && objects_.services.empty() && is_dump(objects_)) {
      found.push_back(
          with_command("the input has no Service: default topology spreading does not know which pods a "
                       "Service selects, such as " +
                           labelled_.words(),
                       "services"));
    }
  }

 private:
  /// nullptr: none, or one whose kind is not read
  const OwnerReference* missing_owner(const Pod& pod) const {
    for (const OwnerReference& owner : *pod.owners) {
      if (!owner.controller) continue;
      const bool is_there = workloads_.contains({owner.kind, pod.namespace_, owner.name});
      return is_there || !is_read_by_default_spreading(owner) ? nullptr : &owner;
    }
    return nullptr;
  }
  const ClusterObjects& objects_;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> workloads_;
  const std::vector<OwnerReference>* last_owners_ = nullptr;
  std::string_view last_namespace_;
  const OwnerReference* last_missing_ = nullptr;
  Needing labelled_;
  std::array<Needing, kOwnerKinds.size()> owned_;
  std::array<std::string, kOwnerKinds.size()> owner_names_;
};

void look_for_spreading(const ClusterObjects& objects, const Pods& pods, const SchedulerConfig& config,
                        std::vector<std::string>& found) {
  DefaultSpreading spreading(objects);
  pods.for_each_queued([&](const Pod& pod) {
    const Profile* profile = config.find_profile(pod.spec->scheduler_name);
    if (profile == nullptr || !profile->enables(ExtensionPoint::kScore, "PodTopologySpread")) return;
    if (uses_default_constraints(*pod.spec, profile->args.pod_topology_spread)) spreading.add(pod);
  });
  spreading.tell(found);
}

// ---- volumes and claims

constexpr std::string_view kNotBuilt = "; nothing reads it yet, since its plugins are not built";

/// Objects of one kind that pods need and the input lacks.
struct Missing {
  std::set<std::string> names;
  Needing needing;

  void add(std::string name, const Pod& pod) {
    names.insert(std::move(name));
    if (needing.last != &pod) needing.add(pod);
  }
  /// @param sentence  behind the names, in front of the pods
  void tell(std::string_view kind, std::string_view sentence, std::string_view resources,
            std::vector<std::string>& found) const {
    if (names.empty()) return;
    std::string text = "the input has no " + std::string(kind) + " \"" + *names.begin() + "\"";
    if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
    text.append(sentence).append(needing.words());
    found.push_back(with_command(std::move(text), resources));
  }
};

/// What stands between a pod and its volumes: claims, the volumes that they are bound to, and the classes of claims
/// that are not bound.
class VolumeSearch {
 public:
  explicit VolumeSearch(const ClusterObjects& objects) : storage_(objects.storage) {
    for (const PersistentVolume& volume : storage_.volumes) volumes_.emplace(volume.name, &volume);
    for (const StorageClass& object : storage_.classes) classes_.emplace(object.name, &object);
    for (const VolumeClaim& claim : storage_.claims) claims_.emplace(claim.full_name(), &claim);
    for (const CsiDriver& driver : storage_.csi_drivers)
      if (driver.tracks_capacity) tracking_.insert(driver.name);
  }

  void add(const Pod& pod) {
    for (const PodVolume& volume : pod.rare().volumes) {
      if (const std::string name = claim_name(pod, volume); !name.empty()) add(pod.namespace_ + "/" + name, pod);
    }
  }

  void tell(std::vector<std::string>& found) const {
    missing_claims_.tell("PersistentVolumeClaim", " for the volume claims of ",
                         "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes", found);
    missing_volumes_.tell("PersistentVolume", ", bound to the volume claims of ", "persistentvolumes", found);
    missing_classes_.tell("StorageClass", ", named by unbound volume claims of ", "storageclasses", found);
    if (on_drivers_.pod_count > 0 && storage_.csi_nodes.empty())
      found.push_back(with_command(
          "the input has no CSINode: how many volumes a node takes is not known, for " + on_drivers_.words(),
          "csinodes,volumeattachments"));
    if (to_provision_.pod_count > 0 && storage_.csi_drivers.empty())
      found.push_back(with_command(
          "the input has no CSIDriver: whether free storage is checked is not known, for " + to_provision_.words(),
          "csidrivers,csistoragecapacities"));
    if (to_measure_.pod_count > 0 && storage_.capacities.empty())
      found.push_back(
          with_command("the input has no CSIStorageCapacity: no node has free storage for " + to_measure_.words(),
                       "csistoragecapacities"));
  }

 private:
  /// The claim that has to be there; "" when there is none or when a controller makes it with the pod. Only stored
  /// objects have a uid.
  static std::string claim_name(const Pod& pod, const PodVolume& volume) {
    const bool is_stored = !pod.stored_uid.empty();
    if (volume.kind == PodVolume::Kind::kEphemeral) return is_stored ? pod.name + "-" + volume.name : std::string();
    if (volume.kind != PodVolume::Kind::kClaim) return {};
    return is_stored || !is_made_with_pod(pod, volume.name) ? volume.name : std::string();
  }

  /// Of a volumeClaimTemplate of a StatefulSet: TEMPLATE-POD.
  static bool is_made_with_pod(const Pod& pod, std::string_view claim) {
    return claim.ends_with("-" + pod.name) && pod.owners != nullptr &&
           std::any_of(pod.owners->begin(), pod.owners->end(),
                       [](const OwnerReference& owner) { return owner.controller && owner.kind == "StatefulSet"; });
  }

  void add(const std::string& full_name, const Pod& pod) {
    const auto claim = claims_.find(full_name);
    if (claim == claims_.end()) return missing_claims_.add(full_name, pod);
    const VolumeClaim& found = *claim->second;
    if (!found.volume_name.empty()) {
      const auto volume = volumes_.find(found.volume_name);
      if (volume == volumes_.end()) return missing_volumes_.add(found.volume_name, pod);
      const PersistentVolume& bound = *volume->second;
      if (bound.source.kind == VolumeSource::Kind::kCsi || bound.migrated != nullptr) add_stored(on_drivers_, pod);
    } else if (!found.class_name.empty()) {
      const auto named = classes_.find(found.class_name);
      if (named == classes_.end()) return missing_classes_.add(found.class_name, pod);
      add_unbound(*named->second, pod);
    }
  }

  /// Of a claim that may be provisioned by a CSI driver.
  void add_unbound(const StorageClass& storage_class, const Pod& pod) {
    const std::string& provisioner = storage_class.provisioner;
    if (provisioner.empty() || provisioner.starts_with("kubernetes.io/")) return;
    add_stored(on_drivers_, pod);
    add_stored(to_provision_, pod);
    if (tracking_.contains(provisioner)) add_stored(to_measure_, pod);
  }

  /// Hand-written and generated input may well have none of the objects that a CSI driver brings.
  static void add_stored(Needing& needing, const Pod& pod) {
    if (!pod.stored_uid.empty() && needing.last != &pod) needing.add(pod);
  }

  const StorageObjects& storage_;
  std::unordered_map<std::string, const VolumeClaim*> claims_;
  std::unordered_map<std::string_view, const PersistentVolume*> volumes_;
  std::unordered_map<std::string_view, const StorageClass*> classes_;
  std::unordered_set<std::string_view> tracking_;  ///< names of drivers
  Needing on_drivers_;                             ///< pods with volumes that count against the limits of nodes
  Needing to_provision_;
  Needing to_measure_;
  Missing missing_claims_;
  Missing missing_volumes_;
  Missing missing_classes_;
};

void look_for_claims(const ClusterObjects& objects, const Pods& pods, std::vector<std::string>& found) {
  std::optional<VolumeSearch> volumes;
  Needing devices;
  pods.for_each_queued([&](const Pod& pod) {
    if (pod.rare_fields == nullptr) return;
    if (!pod.rare().volumes.empty()) {
      if (!volumes) volumes.emplace(objects);
      volumes->add(pod);
    }
    if (!pod.rare().resource_claims.empty()) devices.add(pod);
  });
  if (volumes) volumes->tell(found);
  if (devices.pod_count > 0 && !objects.unused_kinds.contains("ResourceClaim"))
    found.push_back(with_command(
        "the input has no ResourceClaim for the resource claims of " + devices.words() + std::string(kNotBuilt),
        "resourceclaims,resourceslices,deviceclasses"));
}

// ---- RuntimeClasses

/// An API server writes the overhead of its class into each pod that it stores.
void look_for_runtime_classes(const ClusterObjects& objects, const Pods& pods, std::vector<std::string>& found) {
  std::unordered_set<std::string_view> known;
  for (const RuntimeClass& runtime_class : objects.runtime_classes) known.insert(runtime_class.name);
  Missing missing;
  const auto add = [&](const Pod& pod) {
    const PodSpec& spec = *pod.spec;
    const bool needs_class = !spec.runtime_class_name.empty() && spec.overhead.empty();
    if (needs_class && !known.contains(spec.runtime_class_name)) missing.add(spec.runtime_class_name, pod);
  };
  pods.for_each_selecting(add);
  missing.tell("RuntimeClass", ": no overhead is added to ", "runtimeclasses", found);
}

// ---- PodDisruptionBudgets

/// Where a pod that is to be placed may evict one that runs.
void look_for_budgets(const ClusterObjects& objects, const Pods& pods, const SchedulerConfig& config,
                      std::vector<std::string>& found) {
  if (!objects.pod_disruption_budgets.empty()) return;
  std::optional<std::int32_t> lowest;
  for (const PodPtr& pod : objects.pods)
    if (is_on_node(*pod)) lowest = std::min(pod->priority, lowest.value_or(pod->priority));
  if (!lowest || !is_dump(objects)) return;
  Needing preemptors;
  pods.for_each_queued([&](const Pod& pod) {
    const Profile* profile = config.find_profile(pod.spec->scheduler_name);
    const bool may_evict = profile != nullptr && preempts(*profile) && pod.priority > *lowest &&
                           pod.preemption_policy != PreemptionPolicy::kNever;
    if (may_evict) preemptors.add(pod);
  });
  if (preemptors.pod_count == 0) return;
  found.push_back(
      with_command("the input has no PodDisruptionBudget: which pods it protects from eviction is not known, for " +
                       preemptors.words(),
                   "poddisruptionbudgets"));
}

std::vector<std::string> missing_for(const ClusterObjects& objects, const Pods& pods, const SchedulerConfig& config,
                                     bool may_evict) {
  std::vector<std::string> found;
  const bool runs_affinity = std::any_of(config.profiles.begin(), config.profiles.end(), [](const Profile& profile) {
    return profile.enables(ExtensionPoint::kFilter, "InterPodAffinity") ||
           profile.enables(ExtensionPoint::kScore, "InterPodAffinity");
  });
  if (runs_affinity) look_for_namespaces(objects, pods, found);
  look_for_spreading(objects, pods, config, found);
  look_for_runtime_classes(objects, pods, found);
  if (may_evict) look_for_budgets(objects, pods, config, found);
  look_for_claims(objects, pods, found);
  if (!found.empty()) found.push_back("one command brings all that Berth reads: " + std::string(kDumpCommand));
  return found;
}

}  // namespace

std::vector<std::string> missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config, bool may_evict) {
  return missing_for(objects, Pods(objects), config, may_evict);
}

std::vector<std::string> missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config,
                                        const std::vector<PodPtr>& asked) {
  return missing_for(objects, Pods(objects, asked), config, true);
}

}  // namespace berth
