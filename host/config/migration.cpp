// SPDX-License-Identifier: Apache-2.0
#include "host/config/migration.h"

#include <algorithm>
#include <array>

#include "host/config/config_reader.h"

namespace berth {
namespace {

/// A version, and what changed between it and the next one.
struct OldVersion {
  std::string_view name;
  std::string_view changes;
};

/// Newest first: who migrates from a version makes its changes and those of every later one.
constexpr auto kBetaVersions = std::to_array<OldVersion>({
    {"v1beta3", "take out the plugin SelectorSpread, which PodTopologySpread replaces"},
    {"v1beta2",
     "take out healthzBindAddress and metricsBindAddress; the default weights of NodeAffinity and InterPodAffinity "
     "rose "
     "from 1 to 2 and that of TaintToleration from 1 to 3, so set the old ones where they are wanted"},
    {"v1beta1",
     "put scoringStrategy of NodeResourcesFit in place of NodeResourcesLeastAllocated, NodeResourcesMostAllocated and "
     "RequestedToCapacityRatio, NodeAffinity in place of NodeLabel, InterPodAffinity in place of ServiceAffinity, and "
     "taints in place of NodePreferAvoidPods"},
});

}  // namespace

std::string migration_hint(std::string_view api_version) {
  constexpr std::string_view kGroup = "kubescheduler.config.k8s.io/";
  if (!api_version.starts_with(kGroup)) return {};
  const std::string version(api_version.substr(kGroup.size()));
  if (version.starts_with("v1alpha"))
    return version + " has another structure: write the file again with profiles (docs/configuration.md)";
  const auto* at = std::find_if(kBetaVersions.begin(), kBetaVersions.end(),
                                [&](const OldVersion& old) { return old.name == version; });
  if (at == kBetaVersions.end()) return {};
  std::string hint = "to migrate from " + version + ", write apiVersion " + std::string(kSchedulerApiVersion) +
                     " here and in the args of pluginConfig";
  for (const auto* old = kBetaVersions.begin(); old <= at; ++old) hint.append("; ").append(old->changes);
  return hint + "; the other fields are the same";
}

}  // namespace berth
