// SPDX-License-Identifier: Apache-2.0
// status, binding and resize.

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

const std::string kBindingConflict = "Operation cannot be fulfilled on pods/binding \"p\": ";

ResourceList amounts(std::int64_t cpu) { return {{"cpu", Quantity{cpu * 1'000'000'000}}}; }

TEST(PodBinding, SetsTheNodeAndTheCondition) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  const StoredPodPtr stored = test.bind("p", "n1").stored;
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->object->node_name, "n1");
  ASSERT_NE(stored->find_condition("PodScheduled"), nullptr);
  EXPECT_EQ(stored->find_condition("PodScheduled")->status, ConditionStatus::kTrue);
  EXPECT_EQ(stored->meta.generation, 1) << "the API server writes past the strategy that raises it";
}

TEST(PodBinding, ClearsTheNominationUnlessTheGateIsOff) {
  for (const bool clears : {true, false}) {
    StoreFixture test({.clears_nomination = clears});
    test.create(test.make_pod("p"));
    test.store.update_status(test.key("p"), {.nominated_node_name = "n2"});
    EXPECT_EQ(test.bind("p").stored->object->rare().nominated_node_name, clears ? "" : "n2");
  }
}

TEST(PodBinding, OfABoundPodIsAConflict) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.bind("p", "n1");
  const StoreResult<Pod> result = test.bind("p", "n1");
  EXPECT_EQ(result.status.reason, StoreReason::kConflict);
  EXPECT_EQ(result.status.message, kBindingConflict + "pod p is already assigned to node \"n1\"");
}

TEST(PodBinding, OfAPodThatIsBeingDeletedIsAConflict) {
  StoreFixture test;
  test.create(test.make_pod("p"), {.finalizers = {"f"}});
  test.store.remove<Pod>(test.key("p"));
  EXPECT_EQ(test.bind("p").status.message, kBindingConflict + "pod p is being deleted, cannot be assigned to a host");
}

TEST(PodBinding, OfAGatedPodIsAConflict) {
  StoreFixture test;
  test.create(test.make_gated_pod("p"));
  EXPECT_EQ(test.bind("p").status.message, kBindingConflict + "pod p has non-empty .spec.schedulingGates");
}

TEST(PodBinding, OfAnotherPodOfTheNameIsAConflict) {
  StoreFixture test;
  const auto pod = test.make_pod("p");
  pod->stored_uid = "new";
  test.create(pod);
  const StoreResult<Pod> result =
      test.store.bind({.namespace_ = "default", .name = "p", .node_name = "n1", .uid = "old"});
  EXPECT_EQ(result.status.reason, StoreReason::kConflict);
  EXPECT_NE(result.status.message.find("Precondition failed: UID in precondition: old, UID in object meta: new"),
            std::string::npos);
  EXPECT_EQ(test.pod("p")->object->node_name, "");
}

TEST(PodBinding, OfNoPodIsNotFoundAndToNoNodeIsRefused) {
  StoreFixture test;
  EXPECT_EQ(test.bind("p").status.message, "pods \"p\" not found");
  EXPECT_EQ(test.bind("p", "").status.message, "target.name: Required value");
}

TEST(PodStatus, APatchChangesWhatItNames) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.store.update_status(test.key("p"), {.nominated_node_name = "n1"});
  test.store.update_status(test.key("p"), {.phase = PodPhase::kRunning, .start_time_us = 2'500'000});
  const StoredPodPtr stored = test.pod("p");
  EXPECT_EQ(stored->object->phase, PodPhase::kRunning);
  EXPECT_EQ(stored->object->start_time_us, 2'000'000) << "whole seconds";
  EXPECT_EQ(stored->object->rare().nominated_node_name, "n1");
  EXPECT_EQ(stored->meta.generation, 1);
}

TEST(PodStatus, APatchWithoutAChangeWritesNothing) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  const PodStatusPatch patch = {.conditions = {{.type = "PodScheduled", .status = ConditionStatus::kFalse}}};
  test.store.update_status(test.key("p"), patch);
  test.advance_s(10);
  EXPECT_TRUE(test.store.update_status(test.key("p"), patch).is_success());
  EXPECT_EQ(test.store.resource_version(), 2U);
}

TEST(PodStatus, TheTransitionTimeOfAConditionFollowsItsStatus) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  const auto set = [&](ConditionStatus status, const std::string& message) {
    PodCondition condition{.type = "PodScheduled", .status = status};
    condition.message = message;
    test.store.update_status(test.key("p"), {.conditions = {condition}});
    return test.pod("p")->find_condition("PodScheduled")->last_transition_time_us;
  };
  EXPECT_EQ(set(ConditionStatus::kFalse, "a"), 100'000'000);
  test.advance_s(10);
  EXPECT_EQ(set(ConditionStatus::kFalse, "b"), 100'000'000);
  EXPECT_EQ(set(ConditionStatus::kTrue, "c"), 110'000'000);
  EXPECT_EQ(test.pod("p")->conditions().size(), 1U);
}

TEST(PodStatus, AConditionOfPreemptionIsSeenInTheModel) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.store.update_status(test.key("p"), {.conditions = {{.type = "DisruptionTarget",
                                                           .status = ConditionStatus::kTrue,
                                                           .reason = "PreemptionByScheduler"}}});
  EXPECT_TRUE(test.pod("p")->object->rare().preempted);
}

TEST(PodStatus, ABoundPodGetsNoNomination) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.bind("p");
  EXPECT_EQ(test.store.update_status(test.key("p"), {.nominated_node_name = "n2"}).status.message,
            "Pod \"p\" is invalid: status.nominatedNodeName: Forbidden: may not be set on pods that are already bound "
            "to a node");
}

TEST(PodStatus, AnOldVersionAndAnotherUidAreConflicts) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.bind("p");
  const auto reason = [&](const PodStatusPatch& patch) {
    return test.store.update_status(test.key("p"), patch).status.reason;
  };
  EXPECT_EQ(reason({.phase = PodPhase::kRunning, .resource_version = 1}), StoreReason::kConflict);
  EXPECT_EQ(reason({.phase = PodPhase::kRunning, .uid = "other"}), StoreReason::kConflict);
  EXPECT_EQ(test.pod("p")->object->phase, PodPhase::kPending);
}

class PodResize : public testing::Test {
 protected:
  PodResize() {
    PodSpec spec;
    spec.containers.emplace_back();
    spec.containers.back().name = "c";
    spec.containers.back().requests = amounts(1);
    test_.create(test_.make_pod("p", spec));
  }
  StoreStatus resize(const std::string& container, const ResourceList& requests, const ResourceList& limits = {}) {
    const ContainerResize change{container, requests, limits};
    return test_.store.resize(test_.key("p"), std::span(&change, 1)).status;
  }
  StoreFixture test_;
};

TEST_F(PodResize, ChangesRequestsAndRaisesTheGeneration) {
  EXPECT_TRUE(resize("c", amounts(3)).is_success());
  EXPECT_EQ(test_.pod("p")->object->spec->containers[0].requests, amounts(3));
  EXPECT_EQ(test_.pod("p")->meta.generation, 2);
}

TEST_F(PodResize, ToTheSameAmountsIsNoWrite) {
  EXPECT_TRUE(resize("c", amounts(1)).is_success());
  EXPECT_EQ(test_.store.resource_version(), 1U);
}

TEST_F(PodResize, MayNotRemoveAnAmount) {
  EXPECT_EQ(resize("c", {}).message,
            "Pod \"p\" is invalid: [spec: Invalid value: Pod QOS Class may not change as a result of resizing, "
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed]");
}

TEST_F(PodResize, MayNotChangeOtherResources) {
  EXPECT_EQ(resize("c", {{"cpu", Quantity{1'000'000'000}}, {"example.com/gpu", Quantity{1'000'000'000}}}).message,
            "Pod \"p\" is invalid: spec: Forbidden: only cpu and memory resources are mutable");
}

TEST_F(PodResize, MayNotChangeTheQosClass) {
  const ResourceList both = {{"cpu", Quantity{1'000'000'000}}, {"memory", Quantity{1'000'000'000}}};
  EXPECT_EQ(resize("c", both, both).message,
            "Pod \"p\" is invalid: spec: Invalid value: Pod QOS Class may not change as a result of resizing");
}

TEST_F(PodResize, OfAnUnknownContainerIsInvalid) {
  EXPECT_EQ(resize("d", amounts(2)).message, "Pod \"p\" is invalid: spec.containers: Not found: \"d\"");
}

}  // namespace
}  // namespace berth::test
