// SPDX-License-Identifier: Apache-2.0
#include "plugins/volume_binding/free_volumes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace {

using Names = std::vector<std::string>;

class FreeVolumesTest : public testing::Test {
 protected:
  void add_node(const std::string& name, const std::string& zone) {
    auto node = std::make_shared<Node>();
    node->name = name;
    node->labels = LabelMap({{"host", name}, {"zone", zone}});
    cache_.add_node(std::move(node));
    free_.note_nodes();
  }
  void add_volume(const std::string& name, const char* capacity, const std::string& key = "",
                  const std::string& value = "") {
    PersistentVolume volume;
    volume.name = name;
    volume.class_name = "local";
    volume.capacity = *Quantity::parse(capacity);
    volume.access_modes.insert(AccessMode::kReadWriteOnce);
    volume.is_available = true;
    if (!key.empty()) {
      NodeSelectorTerm term;
      term.match_expressions.push_back({key, SelectorOperator::kIn, {value}});
      volume.node_affinity = {std::move(term)};
    }
    cache_.storage().upsert(volume);
  }
  static VolumeClaim claim(const char* request) {
    VolumeClaim claim;
    claim.name = "c";
    claim.namespace_ = "default";
    claim.class_name = "local";
    claim.request = *Quantity::parse(request);
    claim.access_modes.insert(AccessMode::kReadWriteOnce);
    return claim;
  }
  std::string found(const char* request, const char* node, const std::string& taken = "") {
    const PersistentVolume* const volume =
        free_.smallest(claim(request), PodLabelSelector::everything(), *cache_.find_node(node)->node, cache_.storage(),
                       [&](const PersistentVolume* other) { return other->name == taken; });
    return volume == nullptr ? "none" : volume->name;
  }
  /// The claim takes the volume. @return nodes that may answer otherwise
  Names take(const std::string& volume, bool with_others = false) {
    cache_.storage().upsert(claim("1Gi"));
    VolumeDecisions decisions;
    decisions.matches = {{"default/c", volume}};
    cache_.storage().assume("pod-of-" + volume, std::make_shared<const VolumeDecisions>(decisions));
    return free_.take(decisions, cache_, with_others);
  }

  ClusterCache cache_;
  FreeVolumes free_;
};

TEST_F(FreeVolumesTest, TheSmallestThatTheNodeReachesIsFound) {
  add_node("n1", "a");
  add_node("n2", "b");
  add_volume("zone-b", "10Gi", "zone", "b");
  add_volume("host-1", "20Gi", "host", "n1");
  add_volume("zone-a", "20Gi", "zone", "a");
  add_volume("anywhere", "30Gi");
  EXPECT_EQ(found("5Gi", "n1"), "host-1") << "by name among equal ones";
  EXPECT_EQ(found("5Gi", "n1", "host-1"), "zone-a");
  EXPECT_EQ(found("5Gi", "n2"), "zone-b");
  EXPECT_EQ(found("15Gi", "n2"), "anywhere");
  EXPECT_EQ(found("40Gi", "n2"), "none");
}

TEST_F(FreeVolumesTest, OnlyTheLastOfItsKindConcernsNodes) {
  add_node("n1", "a");
  add_node("n2", "a");
  add_node("n3", "b");
  add_volume("small", "10Gi", "zone", "a");
  add_volume("large", "20Gi", "zone", "a");
  add_volume("host-3", "10Gi", "host", "n3");
  EXPECT_EQ(found("1Gi", "n1"), "small");
  EXPECT_EQ(take("small"), Names());
  EXPECT_EQ(found("1Gi", "n1"), "large");
  EXPECT_EQ(take("large"), (Names{"n1", "n2"}));
  EXPECT_EQ(found("1Gi", "n1"), "none");
  EXPECT_EQ(take("host-3"), (Names{"n3"}));
}

TEST_F(FreeVolumesTest, AVolumeOfFewerModesOrLessRoomDoesNotStandIn) {
  add_node("n1", "a");
  add_volume("small", "10Gi", "zone", "a");
  add_volume("large", "20Gi", "zone", "a");
  EXPECT_EQ(found("1Gi", "n1"), "small");
  EXPECT_EQ(take("large"), (Names{"n1"}));
}

TEST_F(FreeVolumesTest, PodsWithSeveralClaimsAreConcernedByEachVolume) {
  add_node("n1", "a");
  add_volume("small", "10Gi", "zone", "a");
  add_volume("large", "20Gi", "zone", "a");
  EXPECT_EQ(found("1Gi", "n1"), "small");
  EXPECT_EQ(take("small", true), (Names{"n1"}));
}

TEST_F(FreeVolumesTest, NodesThatCameLaterAreConcerned) {
  add_node("n1", "a");
  add_volume("small", "10Gi", "zone", "a");
  add_volume("large", "20Gi", "zone", "a");
  EXPECT_EQ(found("1Gi", "n1"), "small");
  EXPECT_EQ(take("small", true), (Names{"n1"}));
  add_node("n2", "a");
  EXPECT_EQ(take("large"), (Names{"n1", "n2"}));
}

TEST_F(FreeVolumesTest, WhatIsAssumedBeforeItIsAskedForIsNotFree) {
  add_node("n1", "a");
  add_volume("small", "10Gi", "zone", "a");
  EXPECT_EQ(take("small"), Names()) << "nothing was read";
  EXPECT_EQ(found("1Gi", "n1"), "none");
}

}  // namespace
}  // namespace berth
