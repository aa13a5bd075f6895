// SPDX-License-Identifier: Apache-2.0
// Volumes, claims and what belongs to them.

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class StorageObjectsTest : public testing::Test, protected StoreFixture {
 protected:
  template <class T>
  StoreResult<T> put(const T& object, const CreateOptions& options = {}) {
    return store.create(std::make_shared<const T>(object), options);
  }
  template <class T>
  StoreResult<T> replace(const T& object, const UpdateOptions& options = {}) {
    return store.update(std::make_shared<const T>(object), options);
  }
  static PersistentVolume volume(const std::string& name) {
    PersistentVolume volume;
    volume.name = name;
    volume.class_name = "s";
    return volume;
  }
  static VolumeClaim claim(const std::string& name) {
    VolumeClaim claim;
    claim.name = name;
    claim.namespace_ = "default";
    claim.class_name = "s";
    return claim;
  }
  PersistentVolume volume_now(const std::string& name) const {
    return *store.get<PersistentVolume>({{}, name})->object;
  }
  VolumeClaim claim_now(const std::string& name) const { return *store.get<VolumeClaim>(key(name))->object; }
};

TEST_F(StorageObjectsTest, AreCreatedWithTheStatusThatControllersGiveThem) {
  VolumeClaim lost = claim("c");
  lost.is_lost = true;
  EXPECT_FALSE(put(lost).stored->object->is_lost);
  EXPECT_FALSE(claim_now("c").uid.empty());
  EXPECT_TRUE(put(volume("free")).stored->object->is_available);
  PersistentVolume taken = volume("taken");
  taken.claim_ref = ObjectName{"default", "c", ""};
  EXPECT_FALSE(put(taken).stored->object->is_available);
  CreateOptions as_dumped;
  as_dumped.keeps_status = true;
  EXPECT_FALSE(put(volume("failed"), as_dumped).stored->object->is_available);
}

TEST_F(StorageObjectsTest, WhatTheApiServerForbidsToChangeStays) {
  PersistentVolume disk = volume("v");
  disk.source.kind = VolumeSource::Kind::kCsi;
  put(disk);
  disk.labels = LabelMap({{"a", "b"}});
  EXPECT_TRUE(replace(disk).is_success());
  disk.source.id = "other";
  EXPECT_EQ(replace(disk).status.reason, StoreReason::kInvalid);
  put(claim("c"));
  VolumeClaim other = claim("c");
  other.class_name = "t";
  EXPECT_EQ(replace(other).status.reason, StoreReason::kInvalid);
  VolumeClaim bound = claim("c");
  bound.volume_name = "v";
  bound.is_bind_completed = true;
  EXPECT_TRUE(replace(bound).is_success());
  bound.volume_name = "w";
  EXPECT_EQ(replace(bound).status.reason, StoreReason::kInvalid) << "once";
  StorageClass waits{"s", "p", StorageClass::BindingMode::kWaitForFirstConsumer, {}};
  put(waits);
  waits.allowed_topologies.emplace_back();
  EXPECT_TRUE(replace(waits).is_success());
  waits.binding_mode = StorageClass::BindingMode::kImmediate;
  EXPECT_EQ(replace(waits).status.reason, StoreReason::kInvalid);
  CsiStorageCapacity capacity;
  capacity.name = "k";
  capacity.namespace_ = "default";
  put(capacity);
  capacity.capacity = Quantity();
  EXPECT_TRUE(replace(capacity).is_success());
  capacity.class_name = "s";
  EXPECT_EQ(replace(capacity).status.reason, StoreReason::kInvalid);
  put(VolumeAttachment{"a", "driver", "n", {}});
  EXPECT_EQ(replace(VolumeAttachment{"a", "driver", "m", {}}).status.reason, StoreReason::kInvalid);
}

TEST_F(StorageObjectsTest, AClaimWithAFinalizerTerminatesFirst) {
  CreateOptions protected_claim;
  protected_claim.finalizers = {"kubernetes.io/pvc-protection"};
  put(claim("c"), protected_claim);
  EXPECT_TRUE(store.remove<VolumeClaim>(key("c")).is_success());
  EXPECT_TRUE(claim_now("c").terminating);
  UpdateOptions without;
  without.finalizers.emplace();
  EXPECT_TRUE(replace(claim_now("c"), without).is_success());
  EXPECT_EQ(store.count<VolumeClaim>(), 0U);
}

TEST_F(StorageObjectsTest, ANamespaceTakesItsClaimsAlong) {
  store.create<Namespace>(std::make_shared<const Namespace>(Namespace{"default", {}}));
  put(claim("c"));
  put(volume("v"));
  store.remove<Namespace>({{}, "default"});
  EXPECT_EQ(store.count<VolumeClaim>(), 0U);
  EXPECT_EQ(store.count<Namespace>(), 0U);
  EXPECT_EQ(store.count<PersistentVolume>(), 1U);
}

TEST_F(StorageObjectsTest, DecisionsBindClaimsToVolumesOldAndNew) {
  StorageClass zoned{"s", "kubernetes.io/aws-ebs", StorageClass::BindingMode::kWaitForFirstConsumer, {}};
  zoned.allowed_topologies.push_back({{{"zone", {"a", "b"}}}});
  put(zoned);
  put(volume("v"));
  put(claim("c"));
  put(claim("d"));
  const VolumeDecisions decisions{"n1", {{"default/c", "v"}}, {{"default/d", "s"}, {"default/d", "s"}}};
  EXPECT_TRUE(store.bind_volumes(decisions).is_success());
  EXPECT_EQ(claim_now("c").volume_name, "v");
  EXPECT_TRUE(claim_now("c").is_bound());
  EXPECT_EQ(volume_now("v").claim_ref->uid, claim_now("c").uid);
  EXPECT_FALSE(volume_now("v").is_available);
  EXPECT_EQ(claim_now("d").selected_node, "n1");
  const PersistentVolume made = volume_now(claim_now("d").volume_name);
  EXPECT_EQ(made.claim_ref->name, "d");
  EXPECT_EQ(made.source.driver, "ebs.csi.aws.com");
  ASSERT_TRUE(made.node_affinity.has_value());
  EXPECT_EQ(made.node_affinity->front().match_expressions.front().values, (std::vector<std::string>{"a", "b"}));
}

TEST_F(StorageObjectsTest, ANewVolumeIsReachedWhereTheNodeIs) {
  const auto node = std::make_shared<Node>();
  node->name = "n1";
  node->labels = LabelMap({{"zone", "b"}, {"host", "h1"}});
  store.create(NodePtr(node));
  StorageClass zoned{"s", "csi.example.com", StorageClass::BindingMode::kWaitForFirstConsumer, {}};
  zoned.allowed_topologies = {{{{"zone", {"x"}}}}, {{{"zone", {"a", "b"}}}}};
  put(zoned);
  put(claim("by-class"));
  ASSERT_TRUE(store.bind_volumes({"n1", {}, {{"default/by-class", "s"}}}).is_success());
  const std::vector<NodeSelectorTerm> in_b = {{{{"zone", SelectorOperator::kIn, {"b"}}}, {}}};
  EXPECT_EQ(volume_now(claim_now("by-class").volume_name).node_affinity, in_b);
  put(CsiNode{"n1", {{"csi.other.com", {}, {"zone"}}, {"csi.example.com", {}, {"host", "rack"}}}, {}});
  put(claim("by-driver"));
  ASSERT_TRUE(store.bind_volumes({"n1", {}, {{"default/by-driver", "s"}}}).is_success());
  const std::vector<NodeSelectorTerm> on_h1 = {{{{"host", SelectorOperator::kIn, {"h1"}}}, {}}};
  EXPECT_EQ(volume_now(claim_now("by-driver").volume_name).node_affinity, on_h1);
  put(StorageClass{"everywhere", "csi.third.com", StorageClass::BindingMode::kWaitForFirstConsumer, {}});
  put(claim("anywhere"));
  ASSERT_TRUE(store.bind_volumes({"n1", {}, {{"default/anywhere", "everywhere"}}}).is_success());
  EXPECT_FALSE(volume_now(claim_now("anywhere").volume_name).node_affinity.has_value());
}

TEST_F(StorageObjectsTest, AProvisionerFailsUntilItIsMended) {
  put(StorageClass{"s", "p", StorageClass::BindingMode::kWaitForFirstConsumer, {}});
  put(volume("v"));
  put(claim("c"));
  put(claim("d"));
  store.set_provisioner_fails("p", true);
  const std::uint64_t version = store.resource_version();
  const StoreStatus status = store.bind_volumes({"n1", {{"default/c", "v"}}, {{"default/d", "s"}}});
  EXPECT_EQ(status.reason, StoreReason::kInternalError);
  EXPECT_EQ(status.message, "provisioning failed for PVC \"d\"");
  EXPECT_EQ(store.resource_version(), version);
  EXPECT_TRUE(store.bind_volumes({"n1", {{"default/c", "v"}}, {}}).is_success()) << "nothing is to be made";
  store.set_provisioner_fails("p", false);
  EXPECT_TRUE(store.bind_volumes({"n1", {}, {{"default/d", "s"}}}).is_success());
}

TEST_F(StorageObjectsTest, DecisionsThatCannotBeKeptChangeNothing) {
  put(StorageClass{"s", "p", StorageClass::BindingMode::kWaitForFirstConsumer, {}});
  PersistentVolume taken = volume("taken");
  taken.claim_ref = ObjectName{"default", "other", ""};
  put(taken);
  put(volume("v"));
  put(claim("c"));
  put(claim("d"));
  const std::uint64_t version = store.resource_version();
  const auto reason = [&](const VolumeDecisions& decisions) { return store.bind_volumes(decisions).reason; };
  EXPECT_EQ(reason({"n1", {{"default/c", "v"}, {"default/d", "taken"}}, {}}), StoreReason::kConflict);
  EXPECT_EQ(reason({"n1", {{"default/c", "v"}, {"default/gone", "v"}}, {}}), StoreReason::kNotFound);
  EXPECT_EQ(reason({"n1", {{"default/c", "gone"}}, {}}), StoreReason::kNotFound);
  EXPECT_EQ(reason({"n1", {{"default/c", "v"}}, {{"default/d", "gone"}}}), StoreReason::kNotFound);
  EXPECT_EQ(store.resource_version(), version);
  EXPECT_EQ(reason({"n1", {{"default/c", "v"}}, {}}), StoreReason::kSuccess);
  EXPECT_EQ(reason({"n1", {{"default/c", "v"}}, {}}), StoreReason::kConflict) << "bound already";
}

}  // namespace
}  // namespace berth::test
