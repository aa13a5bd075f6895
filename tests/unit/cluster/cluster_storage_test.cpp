// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/cluster_storage.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "host/cluster/undo_steps.h"

namespace berth {
namespace {

PersistentVolume volume(const char* name, const char* class_name) {
  PersistentVolume volume;
  volume.name = name;
  volume.class_name = class_name;
  volume.source.kind = VolumeSource::Kind::kCsi;
  volume.source.id = std::string("handle-") + name;
  volume.source.driver = "csi.example.com";
  return volume;
}

PersistentVolume claimed(const char* name, const char* claim) {
  PersistentVolume of_claim = volume(name, "fast");
  of_claim.claim_ref = ObjectName{"default", claim, ""};
  return of_claim;
}

VolumeClaim claim(const char* name) {
  VolumeClaim claim;
  claim.name = name;
  claim.namespace_ = "default";
  return claim;
}

std::vector<std::string> unclaimed(const ClusterStorage& storage, const char* class_name) {
  std::vector<std::string> names;
  storage.for_each_unclaimed(class_name, [&](const PersistentVolume& volume) { names.push_back(volume.name); });
  return names;
}

using Names = std::vector<std::string>;

TEST(ClusterStorage, ListsTheUnclaimedVolumesOfAClassByName) {
  ClusterStorage storage;
  for (const PersistentVolume& made : {volume("b", "fast"), volume("a", "fast"), volume("c", "fas"), claimed("d", "x")})
    storage.upsert(made);
  EXPECT_EQ(unclaimed(storage, "fast"), (Names{"a", "b"}));
  EXPECT_EQ(unclaimed(storage, "fas"), (Names{"c"}));
  EXPECT_FALSE(storage.has_unclaimed("slow"));
  storage.upsert(claimed("a", "y"));
  storage.remove(StorageKind::kVolume, "", "b");
  EXPECT_FALSE(storage.has_unclaimed("fast"));
}

TEST(ClusterStorage, KnowsWhichClaimsHaveVolumesOfTheirOwn) {
  ClusterStorage storage;
  storage.upsert(volume("a", "fast"));
  storage.upsert(claim("x"));
  EXPECT_FALSE(storage.is_reserved(claim("x")));
  VolumeDecisions decisions;
  decisions.matches = {{"default/x", "a"}};
  storage.assume("pod", std::make_shared<const VolumeDecisions>(decisions));
  EXPECT_TRUE(storage.is_reserved(claim("x"))) << "as it is assumed";
  storage.forget("pod");
  EXPECT_FALSE(storage.is_reserved(claim("x")));
  storage.upsert(claimed("a", "x"));
  EXPECT_TRUE(storage.is_reserved(claim("x")));
}

TEST(ClusterStorage, ListsTheVolumesOfAClaimOnceEach) {
  ClusterStorage storage;
  storage.upsert(claim("x"));
  storage.upsert(claimed("b", "x"));
  storage.upsert(volume("a", "fast"));
  VolumeDecisions decisions;
  decisions.matches = {{"default/x", "a"}, {"default/x", "b"}};
  storage.assume("pod", std::make_shared<const VolumeDecisions>(decisions));
  Names names;
  storage.for_each_reserved(claim("x"), [&](const PersistentVolume& volume) { names.push_back(volume.name); });
  EXPECT_EQ(names, (Names{"a", "b"}));
}

TEST(ClusterStorage, KnowsSharedHandlesAndTakesItBack) {
  ClusterStorage storage;
  storage.upsert(volume("a", "fast"));
  UndoSteps steps;
  storage.note_changes_in(&steps);
  PersistentVolume same = volume("b", "fast");
  same.source.id = "handle-a";
  storage.upsert(same);
  EXPECT_TRUE(storage.is_shared_handle("csi.example.com", "handle-a"));
  storage.remove(StorageKind::kVolume, "", "a");
  EXPECT_FALSE(storage.is_shared_handle("csi.example.com", "handle-a"));
  steps.undo_all();
  EXPECT_FALSE(storage.is_shared_handle("csi.example.com", "handle-a"));
  EXPECT_EQ(unclaimed(storage, "fast"), (Names{"a"}));
  storage.note_changes_in(nullptr);
  storage.upsert(same);
  EXPECT_TRUE(storage.is_shared_handle("csi.example.com", "handle-a"));
}

TEST(ClusterStorage, SaysWhichPodsAChangeMayConcern) {
  ClusterStorage storage;
  VolumeClaim naming = claim("y");
  naming.volume_name = "a";
  storage.upsert(naming);
  EXPECT_EQ(storage.reach_of(claim("x")).claims, (Names{"default/x"}));
  const StorageReach reach = storage.reach_of(claimed("a", "x"));
  EXPECT_FALSE(reach.is_wide);
  EXPECT_EQ(reach.claims, (Names{"default/x", "default/y"}));
  EXPECT_TRUE(storage.reach_of(volume("a", "fast")).is_wide) << "any claim may take it";
  storage.upsert(claimed("b", "z"));
  EXPECT_FALSE(storage.reach_of(claimed("b", "z")).is_wide);
  PersistentVolume same = claimed("c", "x");
  same.source.id = "handle-b";
  EXPECT_TRUE(storage.reach_of(same).is_wide) << "it counts together with another one";
  EXPECT_TRUE(storage.reach_of(StorageClass()).is_wide);
}

TEST(ClusterStorage, AnAttachedVolumeThatComesConcernsItsNode) {
  ClusterStorage storage;
  VolumeAttachment attachment;
  attachment.name = "attachment";
  attachment.node_name = "n";
  attachment.volume_name = "a";
  storage.upsert(attachment);
  EXPECT_TRUE(storage.reach_of(claimed("a", "x")).is_wide) << "it counts on the node of its attachment";
  EXPECT_FALSE(storage.reach_of(claimed("b", "x")).is_wide);
  storage.upsert(claimed("a", "x"));
  EXPECT_FALSE(storage.reach_of(claimed("a", "x")).is_wide);
  PersistentVolume other = claimed("a", "x");
  other.source.id = "another";
  EXPECT_TRUE(storage.reach_of(other).is_wide);
  storage.remove(StorageKind::kAttachment, "", "attachment");
  EXPECT_FALSE(storage.reach_of(other).is_wide);
}

}  // namespace
}  // namespace berth
