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

std::optional<std::string> reason_for_volume(PodVolume::Kind kind, const Profile& profile) {
  Pod pod;
  pod.spec = std::make_shared<const PodSpec>();
  PodRare rare;
  rare.volumes = {{kind, "x"}};
  pod.rare_fields = std::make_unique<const PodRare>(rare);
  return unsupported_reason(pod, profile);
}

TEST(UnsupportedReason, IsAbsentForAnOrdinaryPod) {
  Pod pod;
  pod.spec = std::make_shared<const PodSpec>();
  EXPECT_EQ(unsupported_reason(pod, default_profile()), std::nullopt);
}

TEST(UnsupportedReason, NamesAPluginForTheKindOfVolume) {
  EXPECT_EQ(reason_for_volume(PodVolume::Kind::kClaim, default_profile()),
            "plugin \"VolumeBinding\" is not supported yet: the pod uses the volume claim \"x\"");
  EXPECT_EQ(reason_for_volume(PodVolume::Kind::kEphemeral, without({"VolumeBinding"})),
            "plugin \"VolumeRestrictions\" is not supported yet: the pod uses the ephemeral volume \"x\"");
  EXPECT_EQ(reason_for_volume(PodVolume::Kind::kInTreeDisk, default_profile()),
            "plugin \"VolumeRestrictions\" is not supported yet: the pod uses a volume of kind x");
  EXPECT_EQ(reason_for_volume(PodVolume::Kind::kCsiInline, default_profile()),
            "plugin \"NodeVolumeLimits\" is not supported yet: the pod uses an inline CSI volume (x)");
}

TEST(UnsupportedReason, IsAbsentWhenNoPluginIsEnabled) {
  EXPECT_EQ(reason_for_volume(PodVolume::Kind::kInTreeDisk, without({"VolumeRestrictions", "NodeVolumeLimits"})),
            std::nullopt);
}

}  // namespace
}  // namespace berth
