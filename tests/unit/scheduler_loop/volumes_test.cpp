// SPDX-License-Identifier: Apache-2.0
// Pods whose volumes decide where they run, and events of storage objects.

#include <gtest/gtest.h>

#include "tests/support/faulty_client.h"
#include "tests/support/storage_text.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

class LoopVolumesTest : public testing::Test, protected LoopFixture {
 protected:
  /// Lines of tests/support/storage_text.h; replaces an object that is there.
  void put(const std::string& text) {
    std::visit(
        [this]<class T>(const T& object) {
          const auto shared = std::make_shared<const T>(object);
          CreateOptions as_written;
          as_written.keeps_status = true;
          if (!store.create(shared, as_written).is_success()) {
            ASSERT_TRUE(store.update(shared).is_success());
          }
        },
        read_storage_object(split_words(text)).value());
  }
  VolumeClaim claim(const std::string& name) const { return *store.get<VolumeClaim>(key(name))->object; }
};

TEST_F(LoopVolumesTest, APodWaitsForItsClaimAndForNoOther) {
  open();
  add_nodes("n cpu=4");
  add_pods("p claim=c");
  advance_s(1);
  EXPECT_EQ(condition_of("p"),
            "Unschedulable: 0/1 nodes are available: persistentvolumeclaim \"c\" not found. not found")
      << "PostFilter of DynamicResources finds no state of its PreFilter";
  put("volume-claim other");
  advance_s(20);
  EXPECT_EQ(attempts.size(), 1U) << "the claim is another pod's";
  put("persistent-volume v");
  put("volume-claim c bound=v");
  settle();
  EXPECT_EQ(node_of("p"), "n");
}

TEST_F(LoopVolumesTest, AVolumeThatMovesToTheZoneOfTheNodesHelps) {
  open();
  add_nodes("n zone=a");
  put("persistent-volume v zone=b");
  put("volume-claim c bound=v");
  add_pods("p claim=c");
  advance_s(5);
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  put("persistent-volume v zone=a");
  settle();
  EXPECT_EQ(node_of("p"), "n");
}

TEST_F(LoopVolumesTest, ClaimsThatWaitAreBoundInTheStoreWithTheirPod) {
  put("storage-class local waits provisioner=kubernetes.io/no-provisioner");
  put("storage-class made waits provisioner=p.example.com");
  put("persistent-volume v class=local size=1Gi modes=RWO need=host:In:n2");
  put("volume-claim c class=local size=1Gi");
  put("volume-claim d class=made size=1Gi");
  add_nodes("n1 label:host=n1");
  add_nodes("n2 label:host=n2");
  open();
  add_pods("p claim=c claim=d");
  settle();
  EXPECT_EQ(node_of("p"), "n2");
  EXPECT_EQ(claim("c").volume_name, "v");
  EXPECT_TRUE(claim("d").is_bound());
  EXPECT_EQ(claim("d").selected_node, "n2");
  EXPECT_EQ(store.count<PersistentVolume>(), 2U);
  put("volume-claim e class=local size=1Gi");
  add_pods("q claim=e");
  settle();
  EXPECT_EQ(node_of("q"), "") << "the volume is taken";
}

TEST_F(LoopVolumesTest, AClaimThatCannotBeBoundReturnsThePod) {
  put("storage-class local waits provisioner=kubernetes.io/no-provisioner");
  put("persistent-volume v class=local size=1Gi modes=RWO");
  put("volume-claim c class=local size=1Gi");
  add_nodes("n");
  bool refuses = true;
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (std::holds_alternative<VolumeDecisionsPtr>(call.request) && std::exchange(refuses, false))
      fault.refusal = {StoreReason::kConflict, "the object has been modified"};
    return fault;
  });
  open(client);
  add_pods("p claim=c");
  settle();
  EXPECT_EQ(condition_of("p"),
            "SchedulerError: running PreBind plugin \"VolumeBinding\": binding volumes: the object has been modified");
  EXPECT_TRUE(claim("c").volume_name.empty());
  advance_s(10);
  EXPECT_EQ(node_of("p"), "n");
  EXPECT_TRUE(claim("c").is_bound());
}

TEST_F(LoopVolumesTest, AListTellsOfStorageObjectsThatAWatchMissed) {
  StoreOptions short_memory;
  short_memory.watch_history_limit = 2;
  LoopFixture test(short_memory);
  test.open();
  test.add_nodes("n");
  test.add_pods("p claim=c");
  test.settle();
  for (const char* const text : {"persistent-volume v", "volume-claim c bound=v", "csi-node n", "csi-driver d"})
    std::visit([&]<class T>(const T& object) { test.store.create(std::make_shared<const T>(object)); },
               read_storage_object(split_words(text)).value());
  test.settle();
  test.advance_s(2);
  EXPECT_EQ(test.node_of("p"), "n");
}

}  // namespace
}  // namespace berth::test
