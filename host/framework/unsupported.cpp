// SPDX-License-Identifier: Apache-2.0
#include "host/framework/unsupported.h"

#include <span>
#include <string_view>

namespace berth {
namespace {

bool enabled_anywhere(const Profile& profile, std::string_view plugin) {
  for (const std::vector<EnabledPlugin>& point : profile.plugins) {
    for (const EnabledPlugin& enabled : point) {
      if (enabled.name == plugin) return true;
    }
  }
  return false;
}

/// Plugins that judge a volume of this kind, the one a user would look for first in front: spec/
/// plugins-storage-devices.md.
std::span<const std::string_view> judges_of(PodVolume::Kind kind) {
  static constexpr std::string_view kClaimJudges[] = {"VolumeBinding", "VolumeRestrictions", "VolumeZone",
                                                      "NodeVolumeLimits"};
  static constexpr std::string_view kDiskJudges[] = {"VolumeRestrictions", "NodeVolumeLimits"};
  static constexpr std::string_view kInlineJudges[] = {"NodeVolumeLimits"};
  switch (kind) {
    case PodVolume::Kind::kClaim:
    case PodVolume::Kind::kEphemeral:
      return kClaimJudges;
    case PodVolume::Kind::kInTreeDisk:
      return kDiskJudges;
    case PodVolume::Kind::kCsiInline:
      break;
  }
  return kInlineJudges;
}

std::string describe(const PodVolume& volume) {
  switch (volume.kind) {
    case PodVolume::Kind::kClaim:
      return "the volume claim \"" + volume.name + "\"";
    case PodVolume::Kind::kEphemeral:
      return "the ephemeral volume \"" + volume.name + "\"";
    case PodVolume::Kind::kInTreeDisk:
      return "a volume of kind " + volume.name;
    case PodVolume::Kind::kCsiInline:
      break;
  }
  return "an inline CSI volume (" + volume.name + ")";
}

std::string refusal(std::string_view plugin, const std::string& what) {
  return "plugin \"" + std::string(plugin) + "\" is not supported yet: the pod uses " + what;
}

std::optional<std::string> volume_reason(const Pod& pod, const Profile& profile) {
  for (const PodVolume& volume : pod.rare().volumes) {
    for (const std::string_view plugin : judges_of(volume.kind)) {
      if (enabled_anywhere(profile, plugin)) return refusal(plugin, describe(volume));
    }
  }
  return std::nullopt;
}

bool has_terms(const std::optional<PodAffinity>& affinity) {
  return affinity && !(affinity->required.empty() && affinity->preferred.empty());
}

std::optional<std::string> topology_reason(const PodSpec& spec, const Profile& profile) {
  if (!spec.topology_spread_constraints.empty() && enabled_anywhere(profile, "PodTopologySpread")) {
    return refusal("PodTopologySpread", "topologySpreadConstraints");
  }
  if (has_terms(spec.pod_affinity) && enabled_anywhere(profile, "InterPodAffinity")) {
    return refusal("InterPodAffinity", "podAffinity");
  }
  if (has_terms(spec.pod_anti_affinity) && enabled_anywhere(profile, "InterPodAffinity")) {
    return refusal("InterPodAffinity", "podAntiAffinity");
  }
  return std::nullopt;
}

/// Filter plugins that read what their PreFilter left, with the text of the failure when the profile runs only the
/// first: kube-scheduler starts with such a profile and fails its pods. Seen on the genuine plugins of v1.35.4.
std::optional<std::string> missing_filter_state(const Profile& profile) {
  for (const EnabledPlugin& filter : profile.at(ExtensionPoint::kFilter)) {
    if (profile.enables(ExtensionPoint::kPreFilter, filter.name)) continue;
    if (filter.name == "NodePorts")
      return "running \"NodePorts\" filter plugin: reading \"PreFilterNodePorts\" from cycleState: not found";
    if (filter.name == "NodeResourcesFit")
      return "running \"NodeResourcesFit\" filter plugin: error reading \"PreFilterNodeResourcesFit\" from cycleState: "
             "not found";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> missing_score_state(const Profile& profile) {
  constexpr std::string_view kPlugin = "TaintToleration";
  if (!profile.enables(ExtensionPoint::kScore, kPlugin) || profile.enables(ExtensionPoint::kPreScore, kPlugin))
    return std::nullopt;
  return "plugin \"TaintToleration\" failed with: failed to read \"PreScoreTaintToleration\" from cycleState: not "
         "found";
}

std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile) {
  if (std::optional<std::string> reason = missing_filter_state(profile)) return reason;
  if (std::optional<std::string> reason = volume_reason(pod, profile)) return reason;
  if (std::optional<std::string> reason = topology_reason(*pod.spec, profile)) return reason;
  const std::vector<std::string>& claims = pod.rare().resource_claims;
  if (!claims.empty() && enabled_anywhere(profile, "DynamicResources")) {
    return refusal("DynamicResources", "the resource claim \"" + claims.front() + "\"");
  }
  return std::nullopt;
}

}  // namespace berth
