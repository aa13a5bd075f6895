// SPDX-License-Identifier: Apache-2.0
#include "host/framework/unsupported.h"

#include <gtest/gtest.h>

#include "tests/support/scenario.h"

namespace berth {
namespace {

Profile default_profile() { return default_scheduler_config(FeatureGates()).profiles.front(); }

Profile without(std::vector<std::string> names) {
  Profile profile = default_profile();
  for (std::vector<EnabledPlugin>& point : profile.plugins) {
    std::erase_if(point, [&](const EnabledPlugin& plugin) {
      return std::find(names.begin(), names.end(), plugin.name) != names.end();
    });
  }
  return profile;
}

Pod pod_with(PodRare rare) {
  Pod pod;
  pod.spec = std::make_shared<const PodSpec>();
  pod.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  return pod;
}

Pod pod_with_claim() {
  PodRare rare;
  rare.volumes = {{PodVolume::Kind::kClaim, "x"}};
  return pod_with(std::move(rare));
}

FeatureGates with_gate(std::string_view setting) {
  FeatureGates gates;
  gates.apply(setting);
  return gates;
}

TEST(UnsupportedReason, IsAbsentForAnOrdinaryPodAndForVolumes) {
  EXPECT_EQ(unsupported_reason(pod_with({}), default_profile()), std::nullopt);
  EXPECT_EQ(unsupported_reason(pod_with_claim(), default_profile()), std::nullopt);
}

TEST(UnsupportedReason, NamesThePluginOfResourceClaims) {
  PodRare rare;
  rare.resource_claims = {"gpu"};
  const Pod pod = pod_with(std::move(rare));
  EXPECT_EQ(unsupported_reason(pod, default_profile()),
            "plugin \"DynamicResources\" is not supported yet: the pod uses the resource claim \"gpu\"");
  EXPECT_EQ(unsupported_reason(pod, without({"DynamicResources"})), std::nullopt);
}

TEST(MissingScoreState, NamesVolumeBindingOnlyWithItsGate) {
  Profile profile = default_profile();
  const auto leave_out = [&](ExtensionPoint point) {
    std::erase_if(profile.plugins[static_cast<std::size_t>(point)],
                  [](const EnabledPlugin& plugin) { return plugin.name == "VolumeBinding"; });
  };
  leave_out(ExtensionPoint::kPreFilter);
  EXPECT_EQ(missing_score_state(profile, FeatureGates()), std::nullopt);
  const FeatureGates gates = with_gate("StorageCapacityScoring=true");
  EXPECT_EQ(missing_score_state(default_profile(), gates), std::nullopt);
  EXPECT_EQ(missing_score_state(profile, gates), "running PreScore plugin \"VolumeBinding\": not found");
  leave_out(ExtensionPoint::kPreScore);
  EXPECT_EQ(missing_score_state(profile, gates),
            "running Score plugins: plugin \"VolumeBinding\" failed with: not found");
}

}  // namespace
}  // namespace berth
