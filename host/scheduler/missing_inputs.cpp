// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/missing_inputs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "host/objects/dump_command.h"
#include "host/objects/pod_state.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {
namespace {

/// The pods that need what is missing: how many, and the first.
struct Needing {
  std::int64_t pod_count = 0;
  const Pod* first = nullptr;

  void add(const Pod& pod) {
    if (pod_count++ == 0) first = &pod;
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

bool may_be_queued(const Pod& pod) { return is_pending(pod) && !pod.terminating; }

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

void look_for_namespaces(const ClusterObjects& objects, std::vector<std::string>& found) {
  Needing needing;
  const PodSpec* last = nullptr;
  bool last_reads = false;
  for (const PodPtr& pod : objects.pods) {
    if (pod->spec.get() != last) last_reads = reads_namespace_labels(*pod->spec);
    last = pod->spec.get();
    if (last_reads) needing.add(*pod);
  }
  if (needing.pod_count == 0) return;
  const std::set<std::string_view> missing = namespaces_without_object(objects);
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
    if (labelled_.pod_count > 0 && objects_.services.empty() && is_dump()) {
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
  /// Objects that an API server stored have a uid; in hand-written and generated input a Service may well not exist.
  bool is_dump() const {
    return std::any_of(objects_.pods.begin(), objects_.pods.end(),
                       [](const PodPtr& pod) { return !pod->stored_uid.empty(); });
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

void look_for_spreading(const ClusterObjects& objects, const SchedulerConfig& config, std::vector<std::string>& found) {
  DefaultSpreading spreading(objects);
  for (const PodPtr& pod : objects.pods) {
    if (!may_be_queued(*pod)) continue;
    const Profile* profile = config.find_profile(pod->spec->scheduler_name);
    if (profile == nullptr || !profile->enables(ExtensionPoint::kScore, "PodTopologySpread")) continue;
    if (uses_default_constraints(*pod->spec, profile->args.pod_topology_spread)) spreading.add(*pod);
  }
  spreading.tell(found);
}

// ---- volumes and claims

void look_for_claims(const ClusterObjects& objects, std::vector<std::string>& found) {
  Needing volumes;
  Needing devices;
  for (const PodPtr& pod : objects.pods) {
    if (pod->rare_fields == nullptr || !may_be_queued(*pod)) continue;
    const std::vector<PodVolume>& used = pod->rare().volumes;
    const bool claims_volume = std::any_of(used.begin(), used.end(), [](const PodVolume& volume) {
      return volume.kind == PodVolume::Kind::kClaim || volume.kind == PodVolume::Kind::kEphemeral;
    });
    if (claims_volume) volumes.add(*pod);
    if (!pod->rare().resource_claims.empty()) devices.add(*pod);
  }
  const auto is_absent = [&](const char* kind) { return !objects.unused_kinds.contains(kind); };
  constexpr std::string_view kNotBuilt = "; nothing reads it yet, since its plugins are not built";
  if (volumes.pod_count > 0 && is_absent("PersistentVolumeClaim"))
    found.push_back(with_command(
        "the input has no PersistentVolumeClaim for the volume claims of " + volumes.words() + std::string(kNotBuilt),
        "persistentvolumes,persistentvolumeclaims,storageclasses,csinodes"));
  if (devices.pod_count > 0 && is_absent("ResourceClaim"))
    found.push_back(with_command(
        "the input has no ResourceClaim for the resource claims of " + devices.words() + std::string(kNotBuilt),
        "resourceclaims,resourceslices,deviceclasses"));
}

}  // namespace

std::vector<std::string> missing_inputs(const ClusterObjects& objects, const SchedulerConfig& config) {
  std::vector<std::string> found;
  const bool runs_affinity = std::any_of(config.profiles.begin(), config.profiles.end(), [](const Profile& profile) {
    return profile.enables(ExtensionPoint::kFilter, "InterPodAffinity") ||
           profile.enables(ExtensionPoint::kScore, "InterPodAffinity");
  });
  if (runs_affinity) look_for_namespaces(objects, found);
  look_for_spreading(objects, config, found);
  look_for_claims(objects, found);
  if (!found.empty()) found.push_back("one command brings all that Berth reads: " + std::string(kDumpCommand));
  return found;
}

}  // namespace berth
