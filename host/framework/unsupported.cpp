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
      {"VolumeRestrictions", "cannot read \"PreFilterVolumeRestrictions\" from cycleState"},
      {"VolumeBinding", "not found"},
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

std::optional<std::string> missing_score_state(const Profile& profile, const FeatureGates& gates) {
  struct Reader {
    std::string_view plugin;
    std::string_view verb;
  };
  static constexpr Reader kReaders[] = {{"TaintToleration", "failed to read"},
                                        {"PodTopologySpread", "error reading"},
                                        {"InterPodAffinity", "failed to read"}};
  // With the gate, both points of VolumeBinding read what its PreFilter wrote.
  const std::string_view kBinding = "VolumeBinding";
  const bool misses_volumes =
      gates.enabled("StorageCapacityScoring") && !profile.enables(ExtensionPoint::kPreFilter, kBinding);
  if (misses_volumes && profile.enables(ExtensionPoint::kPreScore, kBinding))
    return "running PreScore plugin \"VolumeBinding\": not found";
  for (const EnabledPlugin& score : profile.at(ExtensionPoint::kScore)) {
    if (misses_volumes && score.name == kBinding)
      return "running Score plugins: plugin \"VolumeBinding\" failed with: not found";
    for (const Reader& reader : kReaders) {
      if (score.name != reader.plugin || profile.enables(ExtensionPoint::kPreScore, reader.plugin)) continue;
      return "running Score plugins: plugin \"" + score.name + "\" failed with: " + std::string(reader.verb) +
             " \"PreScore" + score.name + "\" from cycleState: not found";
    }
  }
  return std::nullopt;
}

std::optional<UnsupportedUse> unsupported_use(const Pod& pod, const Profile& profile, const HostPlugins& hosted) {
  const std::vector<std::string>& claims = pod.rare().resource_claims;
  if (!claims.empty() && is_missing(profile, "DynamicResources", hosted))
    return UnsupportedUse{
        "DynamicResources", "spec.resourceClaims",
        "plugin \"DynamicResources\" is not supported yet: the pod uses the resource claim \"" + claims.front() + "\""};
  return std::nullopt;
}

std::optional<std::string> unsupported_reason(const Pod& pod, const Profile& profile, const HostPlugins& hosted) {
  std::optional<UnsupportedUse> use = unsupported_use(pod, profile, hosted);
  if (!use) return std::nullopt;
  return std::move(use->text);
}

}  // namespace berth
