// SPDX-License-Identifier: Apache-2.0
#include "host/store/deletion.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

using Events = std::vector<std::string>;

class Deletion : public testing::Test {
 protected:
  StoreResult<Pod> remove(const std::string& name, const DeleteOptions& options = {}) {
    return test_.store.remove<Pod>(test_.key(name), options);
  }
  const RareMeta& meta(const std::string& name) { return test_.pod(name)->meta.rare(); }
  StoreFixture test_;
};

TEST_F(Deletion, OfAPodOnANodeWaitsForItsGracePeriod) {
  test_.create(test_.make_bound_pod("p"));
  const StoredPodPtr stored = remove("p").stored;
  ASSERT_NE(stored, nullptr);
  EXPECT_TRUE(stored->object->terminating);
  EXPECT_EQ(stored->meta.rare().deletion_grace_s, 30) << "terminationGracePeriodSeconds";
  EXPECT_EQ(stored->meta.rare().deletion_time_us, 130'000'000);
  EXPECT_EQ(stored->meta.generation, 2);
}

TEST_F(Deletion, TakesTheGracePeriodOfTheRequest) {
  test_.create(test_.make_bound_pod("p"));
  remove("p", {.grace_period_s = 5});
  EXPECT_EQ(meta("p").deletion_grace_s, 5);
}

TEST_F(Deletion, ReadsANegativeGracePeriodAsOneSecond) {
  test_.create(test_.make_bound_pod("p"));
  remove("p", {.grace_period_s = -7});
  EXPECT_EQ(meta("p").deletion_grace_s, 1);
}

TEST_F(Deletion, AGracePeriodBeyondAllTimesIsCapped) {
  test_.create(test_.make_bound_pod("p"));
  remove("p", {.grace_period_s = INT64_MAX});
  EXPECT_GT(meta("p").deletion_time_us, INT64_MAX / 10);
  remove("p", {.grace_period_s = 10});
  EXPECT_EQ(meta("p").deletion_time_us, 110'000'000);
}

TEST_F(Deletion, OfAnUnboundPodIsAtOnceInTwoWrites) {
  test_.create(test_.make_pod("p"));
  Watch watch = test_.store.watch(1).watch;
  EXPECT_EQ(remove("p").stored, nullptr);
  EXPECT_EQ(test_.pod("p"), nullptr);
  const std::vector<WatchEvent> events = watch.poll().events;
  EXPECT_EQ(pod_events(events), (Events{"Modified p", "Deleted p"})) << "marked, then removed";
  EXPECT_TRUE(events[1].get<Pod>()->before->object->terminating);
}

TEST_F(Deletion, OfAFinishedPodIsAtOnce) {
  test_.create(test_.make_bound_pod("p"));
  test_.store.update_status(test_.key("p"), {.phase = PodPhase::kSucceeded});
  remove("p");
  EXPECT_EQ(test_.pod("p"), nullptr);
}

TEST_F(Deletion, WithoutGraceIsAtOnce) {
  test_.create(test_.make_bound_pod("p"));
  remove("p", {.grace_period_s = 0});
  EXPECT_EQ(test_.pod("p"), nullptr);
}

TEST_F(Deletion, ASecondRequestMayOnlyShorten) {
  test_.create(test_.make_bound_pod("p"));
  remove("p");
  test_.advance_s(2);
  const StoredPodPtr before = test_.pod("p");
  EXPECT_EQ(remove("p", {.grace_period_s = 60}).stored, before);
  EXPECT_EQ(remove("p").stored, before);
  remove("p", {.grace_period_s = 10});
  EXPECT_EQ(meta("p").deletion_time_us, 110'000'000) << "counted from the first request";
  EXPECT_EQ(test_.pod("p")->meta.generation, 2) << "raised once";
}

TEST_F(Deletion, AShorterPeriodThatIsOverLeavesTheKubeletASecond) {
  test_.create(test_.make_bound_pod("p"));
  remove("p");
  test_.advance_s(20);
  remove("p", {.grace_period_s = 10});
  EXPECT_EQ(meta("p").deletion_time_us, 120'000'000);
  EXPECT_EQ(meta("p").deletion_grace_s, 1);
}

TEST_F(Deletion, ASecondRequestWithoutGraceRemoves) {
  test_.create(test_.make_bound_pod("p"));
  remove("p");
  remove("p", {.grace_period_s = 0});
  EXPECT_EQ(test_.pod("p"), nullptr);
}

TEST_F(Deletion, WaitsForFinalizers) {
  test_.create(test_.make_pod("p"), {.finalizers = {"a", "b"}});
  EXPECT_NE(remove("p").stored, nullptr);
  EXPECT_TRUE(test_.update("p", [](Pod&) {}, {.finalizers = {{"b"}}}).is_success());
  EXPECT_NE(test_.pod("p"), nullptr);
  EXPECT_EQ(test_.update("p", [](Pod&) {}, {.finalizers = {{}}}).stored, nullptr);
  EXPECT_EQ(test_.pod("p"), nullptr);
}

TEST_F(Deletion, OfAnObjectThatWaitsForFinalizersIsNoSecondWrite) {
  test_.store.create<Node>(test_.node("n"), {.finalizers = {"a"}});
  test_.store.remove<Node>({.namespace_ = {}, .name = "n"});
  EXPECT_EQ(test_.store.resource_version(), 2U);
  test_.advance_s(1);
  EXPECT_TRUE(test_.store.remove<Node>({.namespace_ = {}, .name = "n"}).is_success());
  EXPECT_EQ(test_.store.resource_version(), 2U);
}

TEST_F(Deletion, NoFinalizerIsAddedLater) {
  test_.create(test_.make_pod("p"), {.finalizers = {"a"}});
  remove("p");
  EXPECT_EQ(test_.update("p", [](Pod&) {}, {.finalizers = {{"a", "c"}}}).status.message,
            "Pod \"p\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is "
            "being deleted, found new finalizers []string{\"c\"}");
}

TEST_F(Deletion, APodWithFinalizersStaysThroughItsGracePeriod) {
  test_.create(test_.make_bound_pod("p"), {.finalizers = {"a"}});
  remove("p");
  test_.update("p", [](Pod&) {}, {.finalizers = {{}}});
  EXPECT_NE(test_.pod("p"), nullptr) << "the kubelet has not ended it";
  remove("p", {.grace_period_s = 0});
  EXPECT_EQ(test_.pod("p"), nullptr);
}

TEST_F(Deletion, ChecksUidAndVersion) {
  const auto pod = test_.make_pod("p");
  pod->stored_uid = "u1";
  test_.create(pod);
  EXPECT_EQ(remove("p", {.uid = "u2"}).status.message,
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition (u2) does not match the UID in "
            "record (u1). The object might have been deleted and then recreated");
  EXPECT_EQ(remove("p", {.resource_version = 7}).status.message,
            "Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition (7) does not match "
            "the ResourceVersion in record (1). The object might have been modified");
  EXPECT_TRUE(remove("p", {.uid = "u1", .resource_version = 1}).is_success());
}

TEST_F(Deletion, OfAMissingObjectIsNotFound) { EXPECT_EQ(remove("p").status.reason, StoreReason::kNotFound); }

TEST_F(Deletion, OfANodeIsAtOnceInOneWriteAndLeavesItsPods) {
  test_.add_node("n1");
  test_.create(test_.make_bound_pod("p"));
  test_.store.remove<Node>({.namespace_ = {}, .name = "n1"});
  EXPECT_EQ(test_.store.resource_version(), 3U);
  EXPECT_EQ(test_.store.count<Node>(), 0U);
  EXPECT_NE(test_.pod("p"), nullptr);
}

class NamespaceDeletion : public Deletion {
 protected:
  NamespaceDeletion() { test_.store.create(test_.name_space("default")); }
  bool exists() { return test_.store.get<Namespace>({.namespace_ = {}, .name = "default"}) != nullptr; }
  StoreStatus remove_namespace() { return test_.store.remove<Namespace>({.namespace_ = {}, .name = "default"}).status; }
};

TEST_F(NamespaceDeletion, OfAnEmptyOneIsAtOnce) {
  remove_namespace();
  EXPECT_FALSE(exists());
}

TEST_F(NamespaceDeletion, TakesWhatIsInItAlong) {
  test_.create(test_.make_pod("p"));
  test_.store.create(test_.service("s"));
  test_.store.create(test_.service("s", "other"));
  remove_namespace();
  EXPECT_FALSE(exists());
  EXPECT_EQ(test_.store.count<Pod>(), 0U);
  EXPECT_EQ(test_.store.count<Service>(), 1U);
}

TEST_F(NamespaceDeletion, WaitsForPodsThatTerminate) {
  test_.create(test_.make_bound_pod("p"));
  remove_namespace();
  EXPECT_TRUE(exists());
  EXPECT_TRUE(test_.pod("p")->object->terminating);
  EXPECT_EQ(test_.create(test_.make_pod("q")).status.message,
            "pods \"q\" is forbidden: unable to create new content in namespace default because it is being "
            "terminated");
  remove("p", {.grace_period_s = 0});
  EXPECT_FALSE(exists());
}

TEST_F(NamespaceDeletion, WaitsForItsFinalizersAndItsContent) {
  test_.store.update(test_.name_space("default"), {.finalizers = {{"f"}}});
  test_.create(test_.make_bound_pod("p"));
  remove_namespace();
  test_.store.update(test_.name_space("default"), {.finalizers = {{}}});
  EXPECT_TRUE(exists());
  remove("p", {.grace_period_s = 0});
  EXPECT_FALSE(exists());
}

}  // namespace
}  // namespace berth::test
