// SPDX-License-Identifier: Apache-2.0
#include "plugins/claim_users.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "host/objects/volumes.h"

namespace berth {
namespace {

Pod pod_with(const char* name, std::vector<PodVolume> volumes) {
  Pod pod;
  pod.name = name;
  pod.namespace_ = "default";
  PodRare rare;
  rare.volumes = std::move(volumes);
  pod.rare_fields = std::make_unique<const PodRare>(std::move(rare));
  return pod;
}

Pod pod_with_claim(const char* name, const char* claim) { return pod_with(name, {{PodVolume::Kind::kClaim, claim}}); }

TEST(ClaimUsers, TheSecondUserOfAClaimConcernsTheFirst) {
  ClaimUsers users;
  EXPECT_FALSE(users.add(pod_with_claim("p", "c")));
  EXPECT_FALSE(users.add(pod_with_claim("p", "c"))) << "known already";
  EXPECT_TRUE(users.is_alone("default", "c"));
  EXPECT_TRUE(users.add(pod_with_claim("q", "c")));
  EXPECT_FALSE(users.is_alone("default", "c"));
  EXPECT_FALSE(users.add(pod_with_claim("r", "c"))) << "nobody was alone";
  EXPECT_EQ(users.of("default/c").size(), 3U);
}

TEST(ClaimUsers, AClaimIsAloneAgainWhenOthersGo) {
  ClaimUsers users;
  users.add(pod_with_claim("p", "c"));
  users.add(pod_with_claim("q", "c"));
  users.remove(pod_with_claim("q", "c"));
  EXPECT_TRUE(users.is_alone("default", "c"));
  users.remove(pod_with_claim("p", "c"));
  EXPECT_TRUE(users.of("default/c").empty());
}

TEST(ClaimUsers, AnEphemeralVolumeIsAClaimOfThePod) {
  ClaimUsers users;
  users.add(pod_with("p", {{PodVolume::Kind::kEphemeral, "scratch"}}));
  EXPECT_EQ(users.of("default/p-scratch").size(), 1U);
}

TEST(ClaimUsers, ADiskThatMigratesMayBeTheVolumeOfAClaim) {
  auto migrated = std::make_shared<MigratedVolume>();
  migrated->driver = "ebs.csi.aws.com";
  migrated->handle = "vol-1";
  auto disk = std::make_shared<InlineDisk>();
  disk->migrated = migrated;
  ClaimUsers users;
  EXPECT_TRUE(users.add(pod_with("p", {{PodVolume::Kind::kInTreeDisk, "awsElasticBlockStore", disk}})));
  EXPECT_TRUE(users.has_disk("ebs.csi.aws.com", "vol-1"));
  EXPECT_FALSE(users.has_disk("ebs.csi.aws.com", "vol-2"));
}

}  // namespace
}  // namespace berth
