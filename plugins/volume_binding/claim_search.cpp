// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/claim_search.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "host/framework/go_sort.h"
#include "host/framework/label_problems.h"
#include "host/framework/plugin_calls.h"
#include "host/objects/node_match.h"
#include "plugins/pod_query.h"
#include "plugins/volume_binding/free_volumes.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* kAffinity = "node(s) didn't match PersistentVolume's node affinity";
constexpr const char* kBind = "node(s) didn't find available persistent volumes to bind";
constexpr const char* kSpace = "node(s) did not have enough free storage";
constexpr const char* kUnbound = "pod has unbound immediate PersistentVolumeClaims";
constexpr const char* kMissingVolume = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

bool is_bound_to(const PersistentVolume& volume, const VolumeClaim& claim) {
  const std::optional<ObjectName>& ref = volume.claim_ref;
  return ref && !claim.name.empty() && ref->name == claim.name && ref->namespace_ == claim.namespace_ &&
         (ref->uid.empty() || ref->uid == claim.uid);
}

Quantity request_of(const VolumeClaim& claim) { return claim.request.value_or(Quantity()); }

bool is_allowed(const StorageClass::TopologyTerm& term, const LabelMap& labels) {
  return !term.expressions.empty() &&
         std::all_of(term.expressions.begin(), term.expressions.end(), [&](const auto& expression) {
           const auto value = labels.find(expression.first);
           const auto& values = expression.second;
           return value && std::find(values.begin(), values.end(), *value) != values.end();
         });
}

bool is_allowed(const std::vector<StorageClass::TopologyTerm>& terms, const LabelMap& labels) {
  return terms.empty() || std::any_of(terms.begin(), terms.end(),
                                      [&](const StorageClass::TopologyTerm& term) { return is_allowed(term, labels); });
}

/// The plugin's volumes are CSI volumes on the node.
bool is_migrated_on(const CsiNode* node, const MigratedVolume& volume) {
  return node != nullptr && std::find(node->migrated_plugins.begin(), node->migrated_plugins.end(), volume.plugin) !=
                                node->migrated_plugins.end();
}

}  // namespace

bool makes_volumes(const StorageClass& storage_class) {
  return !storage_class.provisioner.empty() && storage_class.provisioner != kNoProvisioner;
}

VolumeFit fit_of(const PersistentVolume& volume, const VolumeClaim& claim, const PodLabelSelector& selector) {
  const bool is_its_own = is_bound_to(volume, claim);
  if (volume.class_name != claim.class_name || (volume.claim_ref && !is_its_own) ||
      volume.capacity < request_of(claim) || volume.is_block != claim.is_block ||
      volume.attributes_class != claim.attributes_class || volume.terminating)
    return VolumeFit::kNone;
  if (is_its_own) return VolumeFit::kOwn;
  const bool suits =
      volume.is_available && selector.matches(volume.labels) && volume.access_modes.contains_all(claim.access_modes);
  return suits ? VolumeFit::kFree : VolumeFit::kNone;
}

VolumeDecisions ClaimsOnNode::decisions(std::string node_name) const {
  VolumeDecisions decisions;
  decisions.node_name = std::move(node_name);
  for (const auto& [claim, volume] : matches) decisions.matches.push_back({claim->full_name(), volume->name});
  for (const VolumeClaim* claim : provisions) decisions.provisions.push_back({claim->full_name(), claim->class_name});
  return decisions;
}

ClaimSearch::ClaimSearch(const HostQuery& query, bool knows_attributes)
    : storage_(query.cluster.storage()),
      known_free_(static_cast<FreeVolumes*>(query.memory)),
      knows_attributes_(knows_attributes) {
  if (query.claims != nullptr) {
    for (const ClaimCopy& copy : *query.claims) {
      if (copy.volume) {
        bound_.push_back({&copy.claim, &*copy.volume});
      } else if (!sort_claim(copy.claim)) {  // its class is another one since
        pre_filter_ = {StatusCode::kUnschedulableAndUnresolvable, {kUnbound}};
        return;
      }
    }
  } else if (!accepts_claims(query)) {
    return;
  }
  by_request_.resize(delayed_.size());
  std::iota(by_request_.begin(), by_request_.end(), std::size_t{0});
  std::erase_if(by_request_, [&](std::size_t d) { return delayed_[d].claim->selected_node.has_value(); });
  go_sort(std::span(by_request_), [&](std::size_t a, std::size_t b) {
    return request_of(*delayed_[a].claim) < request_of(*delayed_[b].claim);
  });
  for (Delayed& delayed : delayed_) add_volumes(delayed);
}

/// PreFilter: each claim is there and this pod's, and then each is bound or may wait.
bool ClaimSearch::accepts_claims(const HostQuery& query) {
  const auto refuse = [&](StatusCode code, std::string text) {
    pre_filter_ = {code, {std::move(text)}};
    return false;
  };
  std::vector<const VolumeClaim*> claims;
  for (const PodVolume& volume : query.pod.rare().volumes) {
    const std::optional<std::string> name = claim_name(query.pod, volume);
    if (!name) continue;
    const bool is_ephemeral = volume.kind == PodVolume::Kind::kEphemeral;
    const VolumeClaim* claim = storage_.claim(query.pod.namespace_, *name);
    constexpr StatusCode kRefused = StatusCode::kUnschedulableAndUnresolvable;
    const std::string called = "persistentvolumeclaim " + quoted(*name);
    if (claim == nullptr && is_ephemeral)
      return refuse(kRefused, "waiting for ephemeral volume controller to create the " + called);
    if (claim == nullptr) return refuse(kRefused, called + " not found");
    if (claim->is_lost)
      return refuse(kRefused, called + " bound to non-existent persistentvolume " + quoted(claim->volume_name));
    if (claim->terminating) return refuse(kRefused, called + " is being deleted");
    if (is_ephemeral)
      if (std::optional<std::string> problem = ownership_problem(query.pod, *claim))
        return refuse(kRefused, std::move(*problem));
    claims.push_back(claim);
  }
  if (claims.empty()) {
    pre_filter_.code = StatusCode::kSkip;
    return false;
  }
  bool may_wait = true;
  for (const VolumeClaim* claim : claims) {
    const bool is_ready = sort_claim(*claim);
    if (!is_ready) immediate_.push_back(claim);
    may_wait = is_ready && may_wait;
    if (pre_filter_.code == StatusCode::kError) return false;
  }
  return may_wait || refuse(StatusCode::kUnschedulableAndUnresolvable, kUnbound);
}

/// @return false for one that should be bound already
bool ClaimSearch::sort_claim(const VolumeClaim& claim) {
  if (claim.is_bound()) {
    bound_.push_back({&claim, storage_.volume(claim.volume_name)});
    return true;
  }
  const StorageClass* storage_class = claim.class_name.empty() ? nullptr : storage_.storage_class(claim.class_name);
  if (storage_class == nullptr) return false;
  if (storage_class->binding_mode == StorageClass::BindingMode::kUnset) {
    pre_filter_ = {StatusCode::kError, {"VolumeBindingMode not set for StorageClass " + quoted(claim.class_name)}};
    return false;
  }
  if (storage_class->binding_mode != StorageClass::BindingMode::kWaitForFirstConsumer || !claim.volume_name.empty())
    return false;
  delayed_.push_back({&claim,
                      storage_class,
                      problem_of(claim),
                      claim.selector ? PodLabelSelector(claim.selector) : PodLabelSelector::everything(),
                      {},
                      {}});
  return true;
}

std::vector<const VolumeClaim*> ClaimSearch::bound() const {
  std::vector<const VolumeClaim*> claims;
  claims.reserve(bound_.size());
  for (const Bound& bound : bound_) claims.push_back(bound.claim);
  return claims;
}

std::vector<const VolumeClaim*> ClaimSearch::delayed() const {
  std::vector<const VolumeClaim*> claims;
  claims.reserve(delayed_.size());
  for (const Delayed& delayed : delayed_) claims.push_back(delayed.claim);
  return claims;
}

std::string ClaimSearch::problem_of(const VolumeClaim& claim) const {
  if (!knows_attributes_ && !claim.attributes_class.empty())
    return "unsupported volumeAttributesClassName is set on claim " + claim.full_name() +
           " when the feature-gate VolumeAttributesClass is disabled";
  const std::optional<std::string> problem = label_selector_problem(claim.selector);
  if (!problem) return {};
  return "error creating internal label selector for claim: " + claim.full_name() + ": " + *problem;
}

void ClaimSearch::add_volumes(Delayed& delayed) const {
  const VolumeClaim& claim = *delayed.claim;
  if (claim.selected_node) return;
  storage_.for_each_reserved(claim, [&](const PersistentVolume& volume) {
    if (fit_of(volume, claim, delayed.selector) == VolumeFit::kOwn) delayed.bound_to_it.push_back(&volume);
  });
  if (known_free_ != nullptr) return;
  storage_.for_each_unclaimed(claim.class_name, [&](const PersistentVolume& volume) {
    if (fit_of(volume, claim, delayed.selector) == VolumeFit::kFree) delayed.free.push_back(&volume);
  });
  std::stable_sort(delayed.free.begin(), delayed.free.end(),
                   [](const PersistentVolume* a, const PersistentVolume* b) { return a->capacity < b->capacity; });
}

ClaimsOnNode ClaimSearch::on(const Node& node) const {
  ClaimsOnNode found;
  check_bound(node, found);
  if (!found.error.empty() || delayed_.empty()) return found;
  const bool misses_volume = !found.reasons.empty() && found.reasons.back() == kMissingVolume;
  if (misses_volume) found.reasons.pop_back();
  bool is_bind_conflict = false;
  bool is_short = false;
  std::vector<const Delayed*> to_provision;
  for (const Delayed& delayed : delayed_) {
    if (!delayed.claim->selected_node) continue;
    if (*delayed.claim->selected_node != node.name) {
      is_bind_conflict = true;
      found.refused.emplace_back(delayed.claim, kBind);
    }
    to_provision.push_back(&delayed);
  }
  if (!is_bind_conflict) {
    for (const std::size_t d : by_request_) {
      const Delayed& delayed = delayed_[d];
      if (!delayed.problem.empty()) {
        found.error = delayed.problem;
        return found;
      }
      if (!find_volume(delayed, node, found)) to_provision.push_back(&delayed);
    }
    for (const Delayed* delayed : to_provision) {
      const CsiStorageCapacity* capacity = nullptr;
      const Provisioning answer = provisioning(*delayed, node, capacity);
      is_bind_conflict = answer == Provisioning::kNotBound;
      is_short = answer == Provisioning::kNoSpace;
      if (answer != Provisioning::kPossible) found.refused.emplace_back(delayed->claim, is_short ? kSpace : kBind);
      if (answer != Provisioning::kPossible) break;
      found.provisions.push_back(delayed->claim);
      found.capacities.push_back(capacity);
    }
  }
  if (is_bind_conflict) found.reasons.emplace_back(kBind);
  if (is_short) found.reasons.emplace_back(kSpace);
  if (misses_volume) found.reasons.emplace_back(kMissingVolume);
  return found;
}

void ClaimSearch::check_bound(const Node& node, ClaimsOnNode& found) const {
  for (const auto& [claim, volume] : bound_) {
    if (volume == nullptr) {
      found.refused.emplace_back(claim, kMissingVolume);
      found.reasons.emplace_back(kMissingVolume);
      return;
    }
    const bool is_migrated =
        volume->migrated != nullptr && is_migrated_on(storage_.csi_node(node.name), *volume->migrated);
    if (is_migrated && !volume->migrated->problem.empty()) {
      found.error = "could not translate pv: " + volume->migrated->problem;
      return;
    }
    if (!accepts_labels(is_migrated ? volume->migrated->node_affinity : volume->node_affinity, node.labels)) {
      found.refused.emplace_back(claim, kAffinity);
      found.reasons.emplace_back(kAffinity);
      return;
    }
  }
}

/// @return false when no volume is left for the claim
bool ClaimSearch::find_volume(const Delayed& delayed, const Node& node, ClaimsOnNode& found) const {
  const auto is_taken = [&](const PersistentVolume* volume) {
    return std::any_of(found.matches.begin(), found.matches.end(),
                       [&](const auto& match) { return match.second == volume; });
  };
  const auto take = [&](const PersistentVolume* volume) {
    found.matches.emplace_back(delayed.claim, volume);
    return true;
  };
  for (const PersistentVolume* volume : delayed.bound_to_it)
    if (!is_taken(volume)) return accepts_labels(volume->node_affinity, node.labels) && take(volume);
  if (known_free_ != nullptr) {
    const PersistentVolume* const smallest =
        known_free_->smallest(*delayed.claim, delayed.selector, node, storage_, is_taken);
    return smallest != nullptr && take(smallest);
  }
  for (const PersistentVolume* volume : delayed.free)
    if (!is_taken(volume) && accepts_labels(volume->node_affinity, node.labels)) return take(volume);
  return false;
}

/// @param capacity  set where the capacity is tracked and enough
ClaimSearch::Provisioning ClaimSearch::provisioning(const Delayed& delayed, const Node& node,
                                                    const CsiStorageCapacity*& capacity) const {
  const StorageClass& storage_class = *delayed.storage_class;
  if (!makes_volumes(storage_class)) return Provisioning::kNotBound;
  if (!is_allowed(storage_class.allowed_topologies, node.labels)) return Provisioning::kNotBound;
  if (!tracks_capacity(delayed)) return Provisioning::kPossible;
  capacity = find_capacity(delayed, node);
  return capacity != nullptr ? Provisioning::kPossible : Provisioning::kNoSpace;
}

bool ClaimSearch::tracks_capacity(const Delayed& delayed) const {
  if (!delayed.claim->request) return false;
  const CsiDriver* driver = storage_.csi_driver(delayed.storage_class->provisioner);
  return driver != nullptr && driver->tracks_capacity;
}

/// @return null: no capacity that the node reaches is enough
const CsiStorageCapacity* ClaimSearch::find_capacity(const Delayed& delayed, const Node& node) const {
  const std::int64_t bytes = delayed.claim->request->value();
  const CsiStorageCapacity* found = nullptr;
  storage_.for_each_capacity([&](const CsiStorageCapacity& capacity) {
    const Quantity* const limit = capacity.limit();
    if (found != nullptr || capacity.class_name != delayed.storage_class->name || limit == nullptr ||
        limit->value() < bytes)
      return;
    if (capacity.node_topology && !label_selector_problem(capacity.node_topology) &&
        PodLabelSelector(capacity.node_topology).matches(node.labels))
      found = &capacity;
  });
  return found;
}

}  // namespace berth
