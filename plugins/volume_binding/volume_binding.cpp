// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/volume_binding.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "host/framework/pod_signature.h"
#include "plugins/volume_binding/capacity_score.h"
#include "plugins/volume_binding/claim_search.h"
#include "plugins/volume_binding/free_volumes.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

Status status_of(ClaimsOnNode&& found) {
  if (!found.error.empty()) return {StatusCode::kError, "", {std::move(found.error)}};
  if (found.reasons.empty()) return {};
  return {StatusCode::kUnschedulableAndUnresolvable, "", std::move(found.reasons)};
}

bool is_bound(const ClaimCopy& copy) { return copy.volume.has_value(); }

bool has_unbound_claim(const HostQuery& query) {
  if (query.claims != nullptr) return !std::all_of(query.claims->begin(), query.claims->end(), is_bound);
  const Pod& pod = query.pod;
  const ClusterStorage& storage = query.cluster.storage();
  const std::vector<PodVolume>& volumes = pod.rare().volumes;
  return std::any_of(volumes.begin(), volumes.end(), [&](const PodVolume& volume) {
    const std::optional<std::string> name = claim_name(pod, volume);
    const VolumeClaim* const claim = name ? storage.claim(pod.namespace_, *name) : nullptr;
    return claim != nullptr && !claim->is_bound();
  });
}

}  // namespace

VolumeBinding::VolumeBinding(const SchedulerConfig& config)
    : knows_attributes_(config.gates.enabled("VolumeAttributesClass")),
      scores_(config.gates.enabled("StorageCapacityScoring")) {
  for (const Profile& profile : config.profiles)
    if (profile.enables(ExtensionPoint::kFilter, kName))
      shapes_.emplace(profile.scheduler_name, profile.args.volume_binding.shape);
}

const std::vector<ShapePoint>* VolumeBinding::shape_of(const Pod& pod) const {
  const auto found = shapes_.find(pod.spec->scheduler_name);
  return found == shapes_.end() ? nullptr : &found->second;
}

bool VolumeBinding::concerns(const Pod& pod) const { return has_volume(pod, has_claim); }

std::optional<std::string> VolumeBinding::sign(const Pod& pod) const {
  std::string signature = volumes_signature(pod, has_claim);
  if (scores_ && !signature.empty()) signature.append(1, '\0').append(pod.spec->scheduler_name);
  return signature;
}

std::optional<std::string> VolumeBinding::sign_claims(std::span<const OwnClaim> claims,
                                                      const ClusterStorage& /*storage*/) const {
  if (scores_ || !knows_attributes_) return std::nullopt;  // scores and errors are of claims by name
  std::string text;
  const auto append_affinity = [&](const std::optional<std::vector<NodeSelectorTerm>>& affinity) {
    append_texts(text, {affinity ? node_terms_signature(*affinity) : "*"});
  };
  for (const auto& [claim, volume, is_ephemeral, shares_handle] : claims) {
    if (volume != nullptr) {
      text += 'b';
      append_affinity(volume->node_affinity);
      if (volume->migrated == nullptr) continue;
      append_texts(text, {volume->migrated->plugin, volume->migrated->problem});
      append_affinity(volume->migrated->node_affinity);
    } else {
      const std::string request = claim->request ? claim->request->to_string() : "-";
      const char modes[] = {claim->is_block ? 'B' : 'F', static_cast<char>('0' + claim->access_modes.bits())};
      text += 'd';
      append_texts(text, {claim->class_name, request, std::string_view(modes, 2), claim->attributes_class});
    }
  }
  return text;
}

/// Volumes and claims that are assumed for an unbound claim may be what another pod waits for. A claim that is the
/// pod's own, and for which a volume has to be made, is none of them; where a handle is shared the pod may be known by
/// the names of its claims, and then its own answers change.
HostReach VolumeBinding::reach(const HostQuery& query, const Node& /*node*/) const {
  const ClusterStorage& storage = query.cluster.storage();
  if (!has_unbound_claim(query)) return {HostReach::Kind::kNothing};
  const auto takes = [](bool may_take) -> HostReach {
    return {may_take ? HostReach::Kind::kVolumes : HostReach::Kind::kNothing};
  };
  if (query.claims != nullptr &&
      std::none_of(query.claims->begin(), query.claims->end(), is_bound))  // shares no handle
    return takes(std::any_of(query.claims->begin(), query.claims->end(),
                             [&](const ClaimCopy& copy) { return storage.has_unclaimed(copy.claim.class_name); }));
  if (query.users != nullptr)
    if (const auto claims = own_claims(query.pod, storage, *query.users)) {
      const auto may_take = [&](const OwnClaim& own) {
        return own.volume == nullptr && storage.has_unclaimed(own.claim->class_name);
      };
      const auto shares_handle = [](const OwnClaim& own) { return own.shares_handle; };
      if (std::none_of(claims->begin(), claims->end(), shares_handle))
        return takes(std::any_of(claims->begin(), claims->end(), may_take));
    }
  return {HostReach::Kind::kEverything};
}

std::unique_ptr<HostMemory> VolumeBinding::make_memory() const { return std::make_unique<FreeVolumes>(); }

HostPreFilter VolumeBinding::pre_filter(const HostQuery& query) const {
  return ClaimSearch(query, knows_attributes_).pre_filter();
}

void VolumeBinding::evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes,
                             HostAnswers& answers) const {
  const ClaimSearch search(query, knows_attributes_);
  if (search.pre_filter().code != StatusCode::kSuccess) return;
  const std::vector<ShapePoint>* const shape = shape_of(query.pod);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ClaimsOnNode found = search.on(*nodes[i]->node);
    if (scores_ && shape != nullptr && found.error.empty() && found.reasons.empty())
      answers.score(i, capacity_score(found, *shape));
    Status status = status_of(std::move(found));
    if (!status.ok()) answers.refuse(i, status.code, std::move(status.reasons));
  }
}

Status VolumeBinding::filter_changed(const HostQuery& query, const NodeInfo& node,
                                     std::span<const Pod* const> /*added*/,
                                     std::span<const Pod* const> /*removed*/) const {
  const ClaimSearch search(query, knows_attributes_);
  return search.pre_filter().code == StatusCode::kSuccess ? status_of(search.on(*node.node)) : Status{};
}

Status VolumeBinding::pre_score(const HostQuery& /*query*/) const {
  if (scores_) return {};
  return {StatusCode::kSkip, "", {}};
}

VolumeDecisionsPtr VolumeBinding::reserve(const HostQuery& query, const NodeInfo& node) const {
  if (shape_of(query.pod) == nullptr) return nullptr;
  if (!has_unbound_claim(query)) return nullptr;
  const ClaimSearch search({query.pod, query.cluster, nullptr, query.memory}, knows_attributes_);  // of claims by name
  if (search.pre_filter().code != StatusCode::kSuccess || !search.has_unbound()) return nullptr;
  const ClaimsOnNode found = search.on(*node.node);
  if (!found.error.empty() || !found.reasons.empty()) return nullptr;
  return std::make_shared<const VolumeDecisions>(found.decisions(node.name));
}

}  // namespace berth
