// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 1.7: labels, matching, and which events a change raises.

#include "host/framework/cluster_event.h"

#include <gtest/gtest.h>

#include "host/queue/change_events.h"
#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

constexpr auto kPod = EventResource::kPod;
constexpr auto kNode = EventResource::kNode;

TEST(ClusterEvent, AGeneralUpdateIsMetByUpdateAndAllOnly) {
  const ClusterEvent update{EventResource::kUnschedulablePod, EventAction::kUpdate};
  EXPECT_FALSE(matches({kPod, EventAction::kUpdatePodLabel}, update));
  EXPECT_TRUE(matches({kPod, EventAction::kUpdate}, update));
  EXPECT_TRUE(matches({kPod, EventAction::kAll}, update));
  EXPECT_TRUE(matches({kPod, EventAction::kUpdate}, {EventResource::kAssignedPod, EventAction::kUpdatePodLabel}));
}

TEST(ClusterEvent, ResourcesHaveToAgree) {
  EXPECT_FALSE(matches({kNode, EventAction::kAdd}, {kPod, EventAction::kAdd}));
  EXPECT_FALSE(matches({EventResource::kAssignedPod, EventAction::kAdd}, {kPod, EventAction::kAdd}));
  EXPECT_TRUE(matches({EventResource::kAny, EventAction::kAdd}, {kNode, EventAction::kAdd}));
  EXPECT_FALSE(matches({EventResource::kAny, EventAction::kAdd}, {kNode, EventAction::kDelete}));
  EXPECT_TRUE(matches(kWildcardEvent, {kNode, EventAction::kDelete}));
  EXPECT_FALSE(matches({kNode, EventAction::kAll}, kWildcardEvent));
}

TEST(ClusterEvent, HasUpstreamsLabels) {
  EXPECT_EQ(to_string(ClusterEvent{kNode, EventAction::kAdd}), "NodeAdd");
  EXPECT_EQ(to_string(ClusterEvent{EventResource::kAssignedPod, EventAction::kUpdatePodScaleDown}),
            "AssignedPodUpdatePodScaleDown");
  EXPECT_EQ(to_string(ClusterEvent{EventResource::kCsiNode, EventAction::kUpdate}), "storage.k8s.io/CSINodeUpdate");
  EXPECT_EQ(EventAction::kUpdate | EventAction::kAdd | EventAction::kDelete, EventAction::kAll + 0);
}

std::vector<std::string> labels_of(const std::vector<ClusterEvent>& events) {
  std::vector<std::string> labels;
  for (const ClusterEvent event : events) labels.push_back(to_string(event));
  return labels;
}
std::vector<std::string> of_node(const std::string& before, const std::string& after, bool features = false) {
  return labels_of(node_change_events(*node_of("n " + before), *node_of("n " + after), features));
}
std::vector<std::string> of_pod(const std::string& before, const std::string& after) {
  return labels_of(pod_change_events(*pod_of("p " + before), *pod_of("p " + after), Release::k1_35));
}
using Labels = std::vector<std::string>;

TEST(ChangeEvents, OfANodeAreOnePerChangedAspectInOrder) {
  EXPECT_EQ(of_node("cpu=1", "cpu=1"), Labels());
  EXPECT_EQ(of_node("unschedulable taint=a:NoSchedule label:x=1 cpu=1", "label:x=2 cpu=2"),
            (Labels{"NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"}));
  EXPECT_EQ(of_node("", "unschedulable"), Labels()) << "a cordon helps nobody";
  EXPECT_EQ(of_node("pods=5", "pods=4"), Labels{"NodeUpdateNodeAllocatable"});
  EXPECT_EQ(of_node("", "feature=A"), Labels());
  EXPECT_EQ(of_node("", "feature=A", true), Labels{"NodeUpdateNodeDeclaredFeature"});
}

TEST(ChangeEvents, OfAPodAreOnePerChangedAspectOrOneUpdate) {
  EXPECT_EQ(of_pod("", "priority=1"), Labels{"UnschedulablePodUpdate"});
  EXPECT_EQ(of_pod("on=n", "on=n priority=1"), Labels{"AssignedPodUpdate"});
  EXPECT_EQ(of_pod("cpu=2 gate=g", "cpu=1 label:a=b tolerate=k"),
            (Labels{"UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdatePodScaleDown",
                    "UnschedulablePodUpdatePodSchedulingGatesEliminated", "UnschedulablePodUpdatePodToleration"}));
  EXPECT_EQ(of_pod("gate=g gate=h", "gate=h"), Labels{"UnschedulablePodUpdate"});
  EXPECT_EQ(of_pod("tolerate=a", "tolerate=b"), Labels{"UnschedulablePodUpdate"}) << "only the number counts";
}

TEST(ChangeEvents, ScaleDownIsAnyRequestThatShrankOrVanished) {
  EXPECT_EQ(of_pod("on=n cpu=1", "on=n cpu=2"), Labels{"AssignedPodUpdate"});
  EXPECT_EQ(of_pod("on=n cpu=1 memory=1Gi", "on=n cpu=2 memory=512Mi"), Labels{"AssignedPodUpdatePodScaleDown"});
  EXPECT_EQ(of_pod("on=n cpu=1 res:x.io/y=0", "on=n cpu=1"), Labels{"AssignedPodUpdatePodScaleDown"});
  EXPECT_EQ(of_pod("on=n overhead:cpu=1", "on=n"), Labels{"AssignedPodUpdatePodScaleDown"});
}

}  // namespace
}  // namespace berth::test
