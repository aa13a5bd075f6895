// SPDX-License-Identifier: Apache-2.0
#include "host/engine/reference/volume_binding.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "host/config/node_score.h"
#include "host/engine/reference/label_matcher.h"
#include "host/engine/reference/node_scores.h"
#include "host/engine/reference/node_selector_match.h"
#include "host/engine/reference/volumes.h"
#include "host/framework/go_sort.h"
#include "host/framework/label_problems.h"

namespace berth::reference {
namespace {

using Claims = std::vector<const VolumeClaim*>;

struct PodClaims {
  Claims bound;
  Claims immediate;
  Claims delayed;
  std::string error;
};

/// kube-scheduler's int64 arithmetic wraps round.
std::int64_t wrapped(__int128 exact) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(exact)); }

/// Bytes of a claim that may count in the score, and those of the volume or the capacity that it is given.
struct Sized {
  std::string class_name;
  std::int64_t requested;
  std::int64_t capacity;
};

/// FindPodVolumes: the four flags of 1.3, and what was chosen.
struct Found {
  bool affinity_holds = true;
  bool can_bind = true;
  bool has_space = true;
  bool volumes_exist = true;
  std::string error;
  VolumeDecisions decisions;
  std::vector<Sized> matched;
  std::vector<Sized> provisioned;  ///< those whose capacity is tracked
  bool is_accepted() const { return affinity_holds && can_bind && has_space && volumes_exist && error.empty(); }
};

/// Name of the claim of a volume; empty: it has none.
std::optional<std::string> claim_of(const Pod& pod, const PodVolume& volume) {
  if (volume.kind == PodVolume::Kind::kEphemeral) return pod.name + "-" + volume.name;
  if (volume.kind == PodVolume::Kind::kClaim) return volume.name;
  return std::nullopt;
}

/// Of claims that are all there.
PodClaims claims_of(const Request& request) {
  PodClaims claims;
  for (const PodVolume& volume : request.pod->rare().volumes) {
    const std::optional<std::string> name = claim_of(*request.pod, volume);
    if (!name) continue;
    const VolumeClaim* claim = storage_of(request).claim(request.pod->namespace_, *name);
    if (!claim->volume_name.empty() && claim->is_bind_completed) {
      claims.bound.push_back(claim);
      continue;
    }
    const StorageClass* object = storage_of(request).storage_class(claim->class_name);
    bool waits = false;
    if (!claim->class_name.empty() && object != nullptr) {
      if (object->binding_mode == StorageClass::BindingMode::kUnset) {
        claims.error = "VolumeBindingMode not set for StorageClass \"" + claim->class_name + "\"";
        return claims;
      }
      waits = object->binding_mode == StorageClass::BindingMode::kWaitForFirstConsumer;
    }
    (waits && claim->volume_name.empty() ? claims.delayed : claims.immediate).push_back(claim);
  }
  return claims;
}

bool term_accepts(NodeSelectorTerm term, const Node& node) {
  if (is_empty(term)) return false;
  term.match_fields.clear();
  return is_empty(term) || (!is_malformed(term) && term_matches(term, node));
}

bool accepts(const std::optional<std::vector<NodeSelectorTerm>>& affinity, const Node& node) {
  if (!affinity) return true;
  return std::any_of(affinity->begin(), affinity->end(),
                     [&](const NodeSelectorTerm& term) { return term_accepts(term, node); });
}

void check_bound(const Request& request, const Claims& claims, const Node& node, Found& found) {
  const CsiNode* csi = storage_of(request).csi_node(node.name);
  for (const VolumeClaim* claim : claims) {
    const PersistentVolume* volume = storage_of(request).volume(claim->volume_name);
    found.volumes_exist = volume != nullptr;
    if (volume == nullptr) return;
    auto affinity = volume->node_affinity;
    if (volume->migrated != nullptr && csi != nullptr &&
        std::count(csi->migrated_plugins.begin(), csi->migrated_plugins.end(), volume->migrated->plugin) > 0) {
      if (!volume->migrated->problem.empty()) {
        found.error = "could not translate pv: " + volume->migrated->problem;
        return;
      }
      affinity = volume->migrated->node_affinity;
    }
    found.affinity_holds = accepts(affinity, node);
    if (!found.affinity_holds) return;
  }
}

bool belongs_to(const PersistentVolume& volume, const VolumeClaim& claim) {
  if (!volume.claim_ref) return false;
  const ObjectName& ref = *volume.claim_ref;
  if (ref.name != claim.name || ref.namespace_ != claim.namespace_) return false;
  return ref.uid.empty() || ref.uid == claim.uid;
}

/// FindMatchingVolume, 1.4. @return null: none
const PersistentVolume* match(const Request& request, const VolumeClaim& claim, const Node& node,
                              const std::set<std::string>& chosen) {
  const PersistentVolume* smallest = nullptr;
  bool is_over = false;
  const LabelMatcher selector(claim.selector);
  const Quantity wanted = claim.request.value_or(Quantity());
  storage_of(request).for_each_volume([&](const PersistentVolume& volume) {
    if (is_over || volume.class_name != claim.class_name || chosen.contains(volume.name)) return;
    if (volume.claim_ref && !belongs_to(volume, claim)) return;
    if (volume.capacity < wanted || volume.is_block != claim.is_block) return;
    if (volume.attributes_class != claim.attributes_class || volume.terminating) return;
    const bool is_near = accepts(volume.node_affinity, node);
    if (belongs_to(volume, claim)) {
      smallest = is_near ? &volume : nullptr;
      is_over = true;
      return;
    }
    if (!volume.is_available || (claim.selector && !selector.matches(volume.labels))) return;
    if (!is_near || !volume.access_modes.contains_all(claim.access_modes)) return;
    if (smallest == nullptr || volume.capacity < smallest->capacity) smallest = &volume;
  });
  return smallest;
}

std::int64_t bytes_of(const VolumeClaim& claim) { return claim.request.value_or(Quantity()).value(); }

bool allows(const StorageClass& object, const Node& node) {
  if (object.allowed_topologies.empty()) return true;
  for (const StorageClass::TopologyTerm& term : object.allowed_topologies) {
    bool holds = !term.expressions.empty();
    for (const auto& [key, values] : term.expressions) {
      const auto value = node.labels.find(key);
      holds = holds && value && std::count(values.begin(), values.end(), *value) > 0;
    }
    if (holds) return true;
  }
  return false;
}

/// @param chosen  set to the capacity that is enough, where it is tracked
bool has_room(const Request& request, const VolumeClaim& claim, const StorageClass& object, const Node& node,
              const CsiStorageCapacity*& chosen) {
  const CsiDriver* driver = storage_of(request).csi_driver(object.provisioner);
  if (!claim.request || driver == nullptr || !driver->tracks_capacity) return true;
  storage_of(request).for_each_capacity([&](const CsiStorageCapacity& capacity) {
    if (capacity.class_name != claim.class_name || !capacity.node_topology) return;
    const auto& limit = capacity.volume_size_max ? capacity.volume_size_max : capacity.capacity;
    if (!limit || limit->value() < claim.request->value()) return;
    if (chosen != nullptr || label_selector_problem(capacity.node_topology)) return;
    if (LabelMatcher(capacity.node_topology).matches(node.labels)) chosen = &capacity;
  });
  return chosen != nullptr;
}

void provision(const Request& request, const Claims& claims, const Node& node, Found& found) {
  for (const VolumeClaim* claim : claims) {
    const StorageClass& object = *storage_of(request).storage_class(claim->class_name);
    found.can_bind =
        !object.provisioner.empty() && object.provisioner != "kubernetes.io/no-provisioner" && allows(object, node);
    if (!found.can_bind) return;
    const CsiStorageCapacity* chosen = nullptr;
    found.has_space = has_room(request, *claim, object, node, chosen);
    if (!found.has_space) return;
    if (chosen != nullptr)
      found.provisioned.push_back(
          {claim->class_name, bytes_of(*claim), chosen->capacity ? chosen->capacity->value() : 0});
    found.decisions.provisions.push_back({claim->full_name(), claim->class_name});
  }
}

Found find_volumes(const Request& request, const Node& node) {
  Found found;
  const PodClaims claims = claims_of(request);
  found.decisions.node_name = node.name;
  check_bound(request, claims.bound, node, found);
  if (!found.error.empty()) return found;
  Claims unmatched;
  Claims to_match;
  for (const VolumeClaim* claim : claims.delayed) {
    if (claim->selected_node && *claim->selected_node != node.name) {
      found.can_bind = false;
      return found;
    }
    (claim->selected_node ? unmatched : to_match).push_back(claim);
  }
  go_sort(std::span(to_match), [](const VolumeClaim* a, const VolumeClaim* b) {
    return a->request.value_or(Quantity()) < b->request.value_or(Quantity());
  });
  std::set<std::string> chosen;
  for (const VolumeClaim* claim : to_match) {
    const bool is_too_new = !request.gates->enabled("VolumeAttributesClass") && !claim->attributes_class.empty();
    if (is_too_new) {
      found.error = "unsupported volumeAttributesClassName is set on claim " + claim->full_name() +
                    " when the feature-gate VolumeAttributesClass is disabled";
      return found;
    }
    if (const auto problem = label_selector_problem(claim->selector)) {
      found.error = "error creating internal label selector for claim: " + claim->full_name() + ": " + *problem;
      return found;
    }
    const PersistentVolume* volume = match(request, *claim, node, chosen);
    if (volume == nullptr) {
      unmatched.push_back(claim);
      continue;
    }
    chosen.insert(volume->name);
    found.decisions.matches.push_back({claim->full_name(), volume->name});
    found.matched.push_back({volume->class_name, bytes_of(*claim), volume->capacity.value()});
  }
  provision(request, unmatched, node, found);
  return found;
}

}  // namespace

std::string not_owner(const Pod& pod, const VolumeClaim& claim) {
  return "PVC " + claim.full_name() + " was not created for pod " + pod.full_name() + " (pod is not owner)";
}

Status pre_filter_binding(const Request& request) {
  const Pod& pod = *request.pod;
  const auto refused = [](std::string text) {
    return Status{StatusCode::kUnschedulableAndUnresolvable, "VolumeBinding", {std::move(text)}};
  };
  bool has_claim = false;
  for (const PodVolume& volume : pod.rare().volumes) {
    const std::optional<std::string> name = claim_of(pod, volume);
    if (!name) continue;
    has_claim = true;
    const bool is_ephemeral = volume.kind == PodVolume::Kind::kEphemeral;
    const std::string called = "persistentvolumeclaim \"" + *name + "\"";
    const VolumeClaim* claim = storage_of(request).claim(pod.namespace_, *name);
    if (claim == nullptr)
      return refused(is_ephemeral ? "waiting for ephemeral volume controller to create the " + called
                                  : called + " not found");
    if (claim->is_lost)
      return refused(called + " bound to non-existent persistentvolume \"" + claim->volume_name + "\"");
    if (claim->terminating) return refused(called + " is being deleted");
    if (is_ephemeral && claim->controller_uid != pod.uid()) return refused(not_owner(pod, *claim));
  }
  if (!has_claim) return {StatusCode::kSkip, "", {}};
  const PodClaims claims = claims_of(request);
  if (!claims.error.empty())
    return {StatusCode::kError, "VolumeBinding", {"running PreFilter plugin \"VolumeBinding\": " + claims.error}};
  if (!claims.immediate.empty()) return refused("pod has unbound immediate PersistentVolumeClaims");
  return {};
}

Status filter_binding(const Request& request, const Node& node) {
  const Found found = find_volumes(request, node);
  if (!found.error.empty())
    return {StatusCode::kError, "VolumeBinding", {"running \"VolumeBinding\" filter plugin: " + found.error}};
  if (found.is_accepted()) return {};
  Status status{StatusCode::kUnschedulableAndUnresolvable, "VolumeBinding", {}};
  if (!found.affinity_holds) status.reasons.emplace_back("node(s) didn't match PersistentVolume's node affinity");
  if (!found.can_bind) status.reasons.emplace_back("node(s) didn't find available persistent volumes to bind");
  if (!found.has_space) status.reasons.emplace_back("node(s) did not have enough free storage");
  if (!found.volumes_exist)
    status.reasons.emplace_back("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  return status;
}

bool scores_volumes(const Request& request) {
  if (!request.gates->enabled("StorageCapacityScoring")) return false;
  for (const PodVolume& volume : request.pod->rare().volumes)
    if (claim_of(*request.pod, volume)) return true;
  return false;
}

std::int64_t score_binding(const Request& request, const NodeState& state) {
  // Without its Filter the plugin knows of no volumes.
  if (!scores_volumes(request) || !request.profile->enables(ExtensionPoint::kFilter, "VolumeBinding")) return 0;
  const Found found = find_volumes(request, *state.node);
  const bool is_static = !found.matched.empty();
  std::map<std::string, Sized> classes;
  for (const Sized& one : is_static ? found.matched : found.provisioned) {
    Sized& sum = classes.try_emplace(one.class_name, Sized{one.class_name, 0, 0}).first->second;
    sum.requested = wrapped(static_cast<__int128>(sum.requested) + one.requested);
    sum.capacity = is_static ? wrapped(static_cast<__int128>(sum.capacity) + one.capacity) : one.capacity;
  }
  if (classes.empty()) return 0;
  double total = 0;
  for (const auto& [name, sum] : classes) {
    const bool is_full = sum.capacity == 0 || sum.requested > sum.capacity;
    const std::int64_t utilization =
        is_full ? kMaxNodeScore : wrapped(static_cast<__int128>(sum.requested) * kMaxNodeScore) / sum.capacity;
    total += static_cast<double>(shape_score(request.profile->args.volume_binding.shape, utilization));
  }
  return std::llround(total / static_cast<double>(classes.size()));
}

VolumeDecisionsPtr decide_volumes(const Request& request, const Node& node) {
  for (const ExtensionPoint point : {ExtensionPoint::kReserve, ExtensionPoint::kFilter})
    if (!request.profile->enables(point, "VolumeBinding")) return nullptr;
  if (!pre_filter_binding(request).ok() || claims_of(request).delayed.empty()) return nullptr;
  Found found = find_volumes(request, node);
  if (!found.is_accepted()) return nullptr;
  return std::make_shared<const VolumeDecisions>(std::move(found.decisions));
}

}  // namespace berth::reference
