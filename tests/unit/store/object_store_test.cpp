// SPDX-License-Identifier: Apache-2.0
#include "host/store/object_store.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

using Names = std::vector<std::string>;

PodDisruptionBudget budget_of_two() {
  PodDisruptionBudget budget;
  budget.name = "b";
  budget.namespace_ = "default";
  budget.disruptions_allowed = 2;
  return budget;
}

TEST(ObjectStore, ANewPodGetsUidCreationTimeGenerationAndVersion) {
  StoreFixture test;
  test.advance_s(0.5);
  const StoredPodPtr stored = test.create(test.make_pod("p")).stored;
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->object->stored_uid.size(), 36U);
  EXPECT_EQ(stored->object->creation_time_us, 100'000'000) << "whole seconds";
  EXPECT_EQ(stored->meta.generation, 1);
  EXPECT_EQ(stored->meta.resource_version, 1U);
  EXPECT_EQ(test.pod("p"), stored);
}

TEST(ObjectStore, ANewPodKeepsTheUidAndTimeThatItBrings) {
  StoreFixture test;
  const auto pod = test.make_pod("p");
  pod->stored_uid = "u";
  pod->creation_time_us = 7;
  const StoredPodPtr stored = test.create(pod).stored;
  EXPECT_EQ(stored->object->stored_uid, "u");
  EXPECT_EQ(stored->object->creation_time_us, 7);
}

TEST(ObjectStore, ANewPodIsPendingWhateverStatusItBrings) {
  StoreFixture test;
  const auto pod = test.make_bound_pod("p");
  pod->phase = PodPhase::kRunning;
  pod->terminating = true;
  PodRare rare;
  rare.nominated_node_name = "n2";
  pod->rare_fields = std::make_unique<const PodRare>(rare);
  const StoredPodPtr stored = test.create(pod).stored;
  EXPECT_EQ(stored->object->phase, PodPhase::kPending);
  EXPECT_EQ(stored->object->rare().nominated_node_name, "");
  EXPECT_FALSE(stored->object->terminating);
  EXPECT_EQ(stored->object->node_name, "n1") << "spec.nodeName is not status";
}

TEST(ObjectStore, ALoadedPodKeepsItsStatus) {
  StoreFixture test;
  const auto pod = test.make_bound_pod("p");
  pod->phase = PodPhase::kRunning;
  pod->terminating = true;
  const StoredPodPtr stored = test.create(pod, {.keeps_status = true}).stored;
  EXPECT_EQ(stored->object->phase, PodPhase::kRunning);
  ASSERT_NE(stored->find_condition("PodScheduled"), nullptr);
  EXPECT_EQ(stored->find_condition("PodScheduled")->status, ConditionStatus::kTrue);
  EXPECT_EQ(stored->meta.rare().deletion_time_us, 130'000'000) << "30 s of grace, from now on";
}

TEST(ObjectStore, AGatedPodSaysSo) {
  StoreFixture test;
  const StoredPodPtr stored = test.create(test.make_gated_pod("p")).stored;
  const PodCondition* condition = stored->find_condition("PodScheduled");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->status, ConditionStatus::kFalse);
  EXPECT_EQ(condition->reason, "SchedulingGated");
  EXPECT_EQ(condition->message, "Scheduling is blocked due to non-empty scheduling gates");
}

TEST(ObjectStore, ASecondObjectOfTheNameIsRefused) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  const StoreResult<Pod> result = test.create(test.make_pod("p"));
  EXPECT_EQ(result.status.reason, StoreReason::kAlreadyExists);
  EXPECT_EQ(result.status.message, "pods \"p\" already exists");
  EXPECT_EQ(test.store.resource_version(), 1U);
}

TEST(ObjectStore, ANameThatIsBeingDeletedIsRefusedWithThatText) {
  StoreFixture test;
  test.create(test.make_bound_pod("p"));
  test.store.remove<Pod>(test.key("p"));
  EXPECT_EQ(test.create(test.make_pod("p")).status.message, "object is being deleted: pods \"p\" already exists");
}

TEST(ObjectStore, WorkloadsOfOneNameAndDifferentKindsAreDifferentObjects) {
  StoreFixture test;
  Workload workload;
  workload.kind = "ReplicaSet";
  workload.name = "w";
  workload.namespace_ = "default";
  EXPECT_TRUE(test.store.create(std::make_shared<const Workload>(workload)).is_success());
  EXPECT_EQ(test.store.create(std::make_shared<const Workload>(workload)).status.message,
            "replicasets.apps \"w\" already exists");
  workload.kind = "StatefulSet";
  EXPECT_TRUE(test.store.create(std::make_shared<const Workload>(workload)).is_success());
  EXPECT_EQ(test.store.count<Workload>(), 2U);
}

TEST(ObjectStore, GeneratedNamesEndInFiveCharactersOfTheSafeAlphabet) {
  StoreFixture test;
  std::set<std::string> names;
  for (int i = 0; i < 200; ++i) {
    const std::string name = test.create(test.make_pod(""), {.generate_name = "web-"}).stored->object->name;
    EXPECT_EQ(name.size(), 9U);
    EXPECT_EQ(name.substr(0, 4), "web-");
    EXPECT_EQ(name.find_first_not_of("bcdfghjklmnpqrstvwxz2456789", 4), std::string::npos);
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 200U);
}

TEST(ObjectStore, GeneratedNamesAreCutTo63Bytes) {
  StoreFixture test;
  const std::string prefix(70, 'a');
  const std::string name = test.create(test.make_pod(""), {.generate_name = prefix}).stored->object->name;
  EXPECT_EQ(name.size(), 63U);
  EXPECT_EQ(name.substr(0, 58), std::string(58, 'a'));
}

TEST(ObjectStore, EqualSeedsGiveEqualNamesAndUids) {
  const auto first = [](std::uint64_t seed) {
    StoreFixture test({.seed = seed});
    const PodPtr pod = test.create(test.make_pod(""), {.generate_name = "p-"}).stored->object;
    return pod->name + pod->stored_uid;
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

TEST(ObjectStore, AnObjectWithoutNameIsInvalid) {
  StoreFixture test;
  EXPECT_EQ(test.create(test.make_pod("")).status.message,
            "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required");
}

TEST(ObjectStore, AMissingNamespaceIsRefusedWhenThatIsAskedFor) {
  StoreFixture lax;
  EXPECT_TRUE(lax.create(lax.make_pod("p")).is_success());
  StoreFixture strict({.requires_namespaces = true});
  EXPECT_EQ(strict.create(strict.make_pod("p")).status.message, "namespaces \"default\" not found");
  strict.store.create(strict.name_space("default"));
  EXPECT_TRUE(strict.create(strict.make_pod("p")).is_success());
}

TEST(ObjectStore, AnUpdateRaisesTheVersionAndKeepsTheGenerationOfTheSameSpec) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  const StoredPodPtr stored = test.update("p", [](Pod& pod) { pod.labels = {{"a", "b"}}; }).stored;
  EXPECT_EQ(stored->meta.resource_version, 2U);
  EXPECT_EQ(stored->meta.generation, 1);
  EXPECT_EQ(stored->object->labels.find("a"), "b");
}

TEST(ObjectStore, AnUpdateWithoutAChangeWritesNothing) {
  StoreFixture test;
  const StoredPodPtr before = test.create(test.make_pod("p")).stored;
  EXPECT_EQ(test.update("p", [](Pod&) {}).stored, before);
  EXPECT_EQ(test.store.resource_version(), 1U);
}

TEST(ObjectStore, AnUpdateOfAnOldVersionIsAConflict) {
  StoreFixture test;
  test.create(test.make_pod("p"));
  test.update("p", [](Pod& pod) { pod.labels = {{"a", "1"}}; });
  const auto change = [](Pod& pod) { pod.labels = {{"a", "2"}}; };
  const StoreResult<Pod> stale = test.update("p", change, {.resource_version = 1});
  EXPECT_EQ(stale.status.reason, StoreReason::kConflict);
  EXPECT_EQ(stale.status.message,
            "Operation cannot be fulfilled on pods \"p\": the object has been modified; please apply your changes to "
            "the latest version and try again");
  EXPECT_EQ(test.pod("p")->object->labels.find("a"), "1");
  EXPECT_TRUE(test.update("p", change, {.resource_version = 2}).is_success());
}

TEST(ObjectStore, AnUpdateOfAnotherUidIsAConflict) {
  StoreFixture test;
  const auto pod = test.make_pod("p");
  pod->stored_uid = "u1";
  test.create(pod);
  EXPECT_EQ(test.update("p", [](Pod& changed) { changed.stored_uid = "u2"; }).status.message,
            "Operation cannot be fulfilled on pods \"p\": StorageError: invalid object, Code: 4, Key: "
            "/registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
            "precondition: u2, UID in object meta: u1");
}

TEST(ObjectStore, AnUpdateOfAMissingObjectIsNotFound) {
  StoreFixture test;
  EXPECT_EQ(test.store.update(test.node("n")).status.message, "nodes \"n\" not found");
}

TEST(ObjectStore, AnUpdateOfANodeKeepsItsStatusAndTheStatusItsSpec) {
  StoreFixture test;
  Node node = *test.node("n");
  node.allowed_pod_number = 5;
  node.declared = {{0, false, "spec"}, {1, true, "status"}};
  test.store.create(std::make_shared<const Node>(node));
  node.unschedulable = true;
  node.allowed_pod_number = 7;
  node.declared = {{0, false, "new spec"}, {1, true, "new status"}};
  const StoredPtr<Node> updated = test.store.update(std::make_shared<const Node>(node)).stored;
  EXPECT_EQ(updated->object->allowed_pod_number, 5);
  EXPECT_EQ(updated->object->declared, (DeclaredValues{{0, false, "new spec"}, {1, true, "status"}}));
  node.unschedulable = false;
  node.declared[0].value = "other";
  const StoredPtr<Node> stored = test.store.update_status(std::make_shared<const Node>(node)).stored;
  EXPECT_EQ(stored->object->allowed_pod_number, 7);
  EXPECT_TRUE(stored->object->unschedulable);
  EXPECT_EQ(stored->object->declared, (DeclaredValues{{0, false, "new spec"}, {1, true, "new status"}}));
  EXPECT_EQ(stored->meta.generation, 0) << "nodes have none";
}

TEST(ObjectStore, ADisruptionBudgetStartsAtZeroAndIsUpdatedByVersionOnly) {
  StoreFixture test;
  PodDisruptionBudget budget = budget_of_two();
  const auto object = [&] { return std::make_shared<const PodDisruptionBudget>(budget); };
  EXPECT_EQ(test.store.create(object()).stored->object->disruptions_allowed, 0);
  EXPECT_EQ(test.store.update_status(object()).status.message,
            "poddisruptionbudgets.policy \"b\" is invalid: metadata.resourceVersion: Invalid value: 0: must be "
            "specified for an update");
  EXPECT_EQ(test.store.update_status(object(), {.resource_version = 1}).stored->object->disruptions_allowed, 2);
  budget.selector = LabelSelector{};
  const StoredPtr<PodDisruptionBudget> stored = test.store.update(object(), {.resource_version = 2}).stored;
  EXPECT_EQ(stored->meta.generation, 2) << "the selector is spec";
}

TEST(ObjectStore, ALoadedDisruptionBudgetKeepsItsStatus) {
  StoreFixture test;
  const auto budget = std::make_shared<const PodDisruptionBudget>(budget_of_two());
  EXPECT_EQ(test.store.create(budget, {.keeps_status = true}).stored->object->disruptions_allowed, 2);
}

TEST(ObjectStore, AListIsSortedByNamespaceAndName) {
  StoreFixture test;
  for (const char* const name : {"c", "a", "b"}) test.create(test.make_pod(name));
  const auto other = test.make_pod("z");
  other->namespace_ = "another";
  test.create(other);
  const ObjectList<Pod> list = test.store.list<Pod>();
  Names names;
  for (const StoredPodPtr& stored : list.items) names.push_back(stored->object->full_name());
  EXPECT_EQ(names, (Names{"another/z", "default/a", "default/b", "default/c"}));
  EXPECT_EQ(list.resource_version, 4U);
}

TEST(ObjectStore, TheValueOfAPriorityClassNeverChanges) {
  StoreFixture test;
  PriorityClass object;
  object.name = "high";
  object.value = 10;
  test.store.create(std::make_shared<const PriorityClass>(object));
  object.value = 11;
  object.preemption_policy = PreemptionPolicy::kNever;
  EXPECT_EQ(test.store.update(std::make_shared<const PriorityClass>(object)).status.message,
            "PriorityClass.scheduling.k8s.io \"high\" is invalid: [value: Forbidden: may not be changed in an update., "
            "preemptionPolicy: Invalid value: \"Never\": field is immutable]");
}

TEST(StoreOptions, FollowTheGates) {
  FeatureGates gates;
  EXPECT_TRUE(store_options(gates).clears_nomination);
  gates.apply("ClearingNominatedNodeNameAfterBinding=false");
  EXPECT_FALSE(store_options(gates).clears_nomination);
}

}  // namespace
}  // namespace berth::test
