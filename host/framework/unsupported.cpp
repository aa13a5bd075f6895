// SPDX-License-Identifier: Apache-2.0
#include "host/framework/unsupported.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace berth {
namespace {

/// Whether the profile enables a plugin that is not there.
bool is_missing(const Profile& profile, std::string_view plugin, const HostPlugins& hosted) {
  const auto is_it = [&](const auto& host_plugin) { return host_plugin->name() == plugin; };
  if (std::any_of(hosted.begin(), hosted.end(), is_it)) return false;
  for (const std::vector<EnabledPlugin>& point : profile.plugins) {
    for (const EnabledPlugin& enabled : point) {
      if (enabled.name == plugin) return true;
    }
  }
  return false;
}

/// Plugins that concern a volume of this kind, the most likely one first:
/// docs/behaviour/plugins-storage-devices.md 1 and 2.
std::span<const std::string_view> plugins_that_read(PodVolume::Kind kind) {
  static constexpr std::string_view kClaimPlugins[] = {"VolumeBinding", "VolumeRestrictions", "VolumeZone",
                                                       "NodeVolumeLimits"};
  static constexpr std::string_view kDiskPlugins[] = {"VolumeRestrictions", "NodeVolumeLimits"};
  static constexpr std::string_view kInlinePlugins[] = {"NodeVolumeLimits"};
  switch (kind) {
    case PodVolume::Kind::kClaim:
    case PodVolume::Kind::kEphemeral:
      return kClaimPlugins;
    case PodVolume::Kind::kInTreeDisk:
      return kDiskPlugins;
    case PodVolume::Kind::kCsiInline:
      break;
  }
  return kInlinePlugins;
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

std::optional<std::string> volume_reason(const Pod& pod, const Profile& profile, const HostPlugins& hosted) {
  for (const PodVolume& volume : pod.rare().volumes) {
    for (const std::string_view plugin : plugins_that_read(volume.kind)) {
      if (is_missing(profile, plugin, hosted)) return refusal(plugin, describe(volume));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MissingFilterState> missing_filter_state(const Profile& profile, const FeatureGates& gates) {
  struct Reader {
    std::string_view plugin;
    std::string_view text;
  };
  static constexpr Reader kReaders[] = {
      {"NodePorts", "reading \"PreFilterNodePorts\" from cycleState: not found"},
      {"NodeResourcesFit", "error reading \"PreFilterNodeResourcesFit\" from cycleState: not found"},
      {"PodTopologySpread", "reading \"PreFilterPodTopologySpread\" from cycleState: not found"},
      {"InterPodAffinity", "error reading \"PreFilterInterPodAffinity\" from cycleState: not found"},
      {"NodeDeclaredFeatures", "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found"}};
  const std::vector<EnabledPlugin>& filters = profile.at(ExtensionPoint::kFilter);
  for (std::size_t rank = 0; rank < filters.size(); ++rank)
    for (const Reader& reader : kReaders) {
      if (filters[rank].name != reader.plugin || profile.enables(ExtensionPoint::kPreFilter, reader.plugin)) continue;
      if (reader.plugin == "NodeDeclaredFeatures" && !gates.enabled(reader.plugin)) continue;
      return MissingFilterState{rank, reader.plugin,
                                "running \"" + filters[rank].name + "\" filter plugin: " + std::string(reader.text)};
    }
  return std::nullopt;
}

std::optional<std::string> missing_score_state(const Profile& profile) {
  struct Reader {
    std::string_view plugin;
    std::string_view verb;
  };
  static constexpr Reader kReaders[] = {{"TaintToleration", "failed to read"},
                                        {"PodTopologySpread", "error reading"},
                                        {"InterPodAffinity", "failed to read"}};
  for (const EnabledPlugin& score : profile.at(ExtensionPoint::kScore))
    for (const Reader& reader : kReaders) {
      if (score.name != reader.plugin || profile.enables(ExtensionPoint::kPreScore, reader.plugin)) continue;
      return "running Score plugins: plugin \"" + score.name + "\" failed with: " + std::string(reader.verb) +
             " \"PreScore" + score.name + "\" from cycleState: not found";
    }
  return std::nullopt;
}

std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile, const HostPlugins& hosted) {
  if (std::optional<std::string> reason = volume_reason(pod, profile, hosted)) return reason;
  const std::vector<std::string>& claims = pod.rare().resource_claims;
  if (!claims.empty() && is_missing(profile, "DynamicResources", hosted)) {
    return refusal("DynamicResources", "the resource claim \"" + claims.front() + "\"");
  }
  return std::nullopt;
}

}  // namespace berth
