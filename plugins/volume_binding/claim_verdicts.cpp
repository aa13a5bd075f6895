// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/claim_verdicts.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "host/framework/host_plugin.h"
#include "plugins/volume_binding/claim_search.h"
#include "plugins/volume_claims.h"

namespace berth {
namespace {

bool holds(const std::vector<const VolumeClaim*>& claims, const VolumeClaim& claim) {
  return std::find(claims.begin(), claims.end(), &claim) != claims.end();
}

/// Of a claim that PreFilter lets pass.
ClaimVerdict verdict_on_node(const VolumeClaim& claim, bool is_bound, const ClaimsOnNode& found) {
  for (const auto& [refused, reason] : found.refused)
    if (refused == &claim) return {claim.name, ClaimVerdict::Kind::kRefused, std::string(reason)};
  for (const auto& [matched, volume] : found.matches)
    if (matched == &claim) return {claim.name, ClaimVerdict::Kind::kMatched, volume->name};
  if (holds(found.provisions, claim)) return {claim.name, ClaimVerdict::Kind::kProvisioned, claim.class_name};
  if (is_bound && found.error.empty()) return {claim.name, ClaimVerdict::Kind::kBound, claim.volume_name};
  return {claim.name};
}

/// A bound claim is looked at until one is refused.
bool is_reached(const std::vector<const VolumeClaim*>& bound, const VolumeClaim& claim, const ClaimsOnNode& found) {
  if (!holds(bound, claim)) return true;
  for (const VolumeClaim* earlier : bound) {
    if (earlier == &claim) return true;
    const auto is_it = [&](const auto& refused) { return refused.first == earlier; };
    if (std::any_of(found.refused.begin(), found.refused.end(), is_it)) return false;
  }
  return true;
}

/// Of one pod on any node.
class VerdictsOfPod {
 public:
  VerdictsOfPod(const Pod& pod, const ClusterCache& cluster, const FeatureGates& gates)
      : search_({pod, cluster}, gates.enabled("VolumeAttributesClass")), bound_(search_.bound()) {
    if (search_.pre_filter().code != StatusCode::kSuccess && search_.immediate().empty()) return;
    for (const PodVolume& volume : pod.rare().volumes) {
      const std::optional<std::string> name = claim_name(pod, volume);
      const VolumeClaim* const claim = name ? cluster.storage().claim(pod.namespace_, *name) : nullptr;
      if (claim != nullptr) claims_.push_back(claim);
    }
  }
  bool empty() const { return claims_.empty(); }

  std::vector<ClaimVerdict> on(const Node& node) const {
    const bool is_searched = search_.pre_filter().code == StatusCode::kSuccess;
    const ClaimsOnNode found = is_searched ? search_.on(node) : ClaimsOnNode{};
    std::vector<ClaimVerdict> verdicts;
    verdicts.reserve(claims_.size());
    for (const VolumeClaim* claim : claims_) {
      if (holds(search_.immediate(), *claim)) {
        verdicts.push_back({claim->name, ClaimVerdict::Kind::kUnbound, claim->class_name});
      } else if (!is_searched || !is_reached(bound_, *claim, found)) {
        verdicts.push_back({claim->name});
      } else {
        verdicts.push_back(verdict_on_node(*claim, holds(bound_, *claim), found));
      }
    }
    return verdicts;
  }

 private:
  ClaimSearch search_;
  std::vector<const VolumeClaim*> bound_;
  std::vector<const VolumeClaim*> claims_;
};

}  // namespace

std::vector<std::vector<ClaimVerdict>> claim_verdicts(const Pod& pod, const ClusterCache& cluster,
                                                      std::span<const Node* const> nodes, const FeatureGates& gates) {
  const VerdictsOfPod verdicts(pod, cluster, gates);
  std::vector<std::vector<ClaimVerdict>> of_nodes;
  if (verdicts.empty()) return of_nodes;
  of_nodes.reserve(nodes.size());
  for (const Node* node : nodes) of_nodes.push_back(verdicts.on(*node));
  return of_nodes;
}

}  // namespace berth
