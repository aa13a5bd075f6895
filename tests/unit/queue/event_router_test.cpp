// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 1.7: which trigger raises what.

#include "host/queue/event_router.h"

#include <gtest/gtest.h>

#include "tests/support/storage_text.h"
#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

/// A queue with one pod per rejector, and one pod in flight that counts the events.
class EventRouterTest : public testing::Test {
 protected:
  EventRouterTest() {
    test.add("watcher priority=100");
    test.pop();
  }
  /// Labels of the events that were raised since the watcher was popped.
  std::vector<std::string> raised() {
    std::vector<std::string> labels;
    for (const auto& event : test.queue().in_flight().events_since("default/watcher"))
      labels.push_back(to_string(event->event));
    return labels;
  }
  QueueFixture test;
};

using Labels = std::vector<std::string>;

TEST_F(EventRouterTest, NodesComeChangeAndGo) {
  const NodePtr small = node_of("n cpu=1");
  const NodePtr large = node_of("n cpu=2");
  test.router().node_changed(nullptr, small);
  test.router().node_changed(small, large);
  test.router().node_changed(large, large);
  test.router().node_changed(large, nullptr);
  EXPECT_EQ(raised(), (Labels{"NodeAdd", "NodeUpdateNodeAllocatable", "NodeDelete"}));
}

TEST_F(EventRouterTest, APodIsQueuedBoundAndGone) {
  const PodPtr pending = pod_of("p");
  const PodPtr bound = pod_of("p on=n");
  const PodPtr labelled = pod_of("p on=n label:a=b");
  test.router().pod_changed(nullptr, pending);
  EXPECT_EQ(test.place_of("p"), "active");
  test.router().pod_changed(pending, bound);
  EXPECT_EQ(test.place_of("p"), "");
  test.router().pod_changed(bound, labelled);
  test.router().pod_changed(labelled, nullptr);
  EXPECT_EQ(raised(), (Labels{"AssignedPodAdd", "AssignedPodUpdatePodLabel", "AssignedPodDelete"}));
}

TEST_F(EventRouterTest, AFinishedPodIsGone) {
  const PodPtr bound = pod_of("p on=n");
  auto finished = copy_of(*bound);
  finished->phase = PodPhase::kSucceeded;
  test.router().pod_changed(bound, finished);
  test.router().pod_changed(finished, nullptr);
  test.router().pod_changed(nullptr, finished);
  EXPECT_EQ(raised(), Labels{"AssignedPodDelete"});
}

TEST_F(EventRouterTest, PodsOfOtherSchedulersAreIgnored) {
  auto spec = std::make_shared<PodSpec>();
  spec->scheduler_name = "other";
  auto pod = copy_of(*pod_of("p"));
  pod->spec = spec;
  auto labelled = copy_of(*pod);
  labelled->labels = LabelMap{{"a", "b"}};
  test.router().pod_changed(nullptr, pod);
  test.router().pod_changed(pod, labelled);
  test.router().pod_changed(labelled, nullptr);
  EXPECT_EQ(test.queue().sizes(), SchedulingQueue::Sizes());
  EXPECT_TRUE(raised().empty());
}

TEST_F(EventRouterTest, ANominationThatEndsHelpsPodsOfAtMostItsPriority) {
  test.add_failed("low cpu=1", {"NodeResourcesFit"});
  test.add_failed("high cpu=1 priority=9", {"NodeResourcesFit"});
  const PodPtr nominated = test.add("p priority=5 nominated=n");
  const PodPtr moved = pod_of("p priority=5 nominated=m");
  test.router().pod_changed(nominated, moved);
  EXPECT_EQ(test.place_of("low"), "backoff");
  EXPECT_EQ(test.place_of("high"), "unschedulable");
  EXPECT_EQ(test.queue().nominator().node_of(*moved), "m");
  test.router().pod_changed(moved, nullptr);
  EXPECT_EQ(raised(), (Labels{"AssignedPodDelete", "AssignedPodDelete"}));
  test.router().pod_changed(nullptr, pod_of("q"));
  test.router().pod_changed(pod_of("q"), nullptr);
  EXPECT_EQ(raised().size(), 2U) << "without a nomination nothing is freed";
}

TEST_F(EventRouterTest, AnAssumedPodChangesNothingUntilItIsDeleted) {
  const PodPtr pod = pod_of("p cpu=1");
  const PodPtr labelled = pod_of("p cpu=1 label:a=b");
  test.assumed.pods = {pod_of("p cpu=1 on=n")};
  test.router().pod_changed(pod, labelled);
  EXPECT_TRUE(raised().empty());
  EXPECT_EQ(test.queue().sizes(), SchedulingQueue::Sizes());
  auto terminating = copy_of(*labelled);
  terminating->terminating = true;
  test.router().pod_changed(labelled, terminating);
  EXPECT_EQ(raised(), Labels{"AssignedPodDelete"});
  test.router().pod_changed(terminating, nullptr);
  EXPECT_EQ(raised().size(), 2U);
}

TEST_F(EventRouterTest, TakesTheChangesThatAnEngineTakes) {
  NodePtr node = node_of("n cpu=1");
  PodPtr pod = pod_of("p");
  const ObjectsBefore none{[](std::string_view) { return nullptr; }, [](std::string_view) { return nullptr; }};
  const ObjectsBefore both{[&](std::string_view) { return node; }, [&](std::string_view) { return pod; }};
  test.router().route(NodeUpsert(node), none);
  test.router().route(NodeUpsert(node_of("n cpu=2")), both);
  test.router().route(NodeRemoval{"n"}, both);
  test.router().route(PodUpsert{pod}, none);
  test.router().route(NominationUpsert{pod, "n"}, none);
  EXPECT_EQ(test.queue().nominator().node_of(*pod), "n");
  test.router().route(NominationUpsert{pod, ""}, none);
  EXPECT_EQ(test.queue().nominator().node_of(*pod), std::nullopt);
  test.router().route(PodRemoval{"default/p"}, both);
  test.router().route(ServiceRemoval{"default", "s"}, none);
  test.router().route(NamespaceRemoval{"x"}, none);
  EXPECT_EQ(test.place_of("p"), "");
  EXPECT_EQ(raised(), (Labels{"NodeAdd", "NodeUpdateNodeAllocatable", "NodeDelete"}));
}

TEST_F(EventRouterTest, StorageObjectsRaiseTheirOwnEvents) {
  const StorageObject claim = read_storage_object(split_words("volume-claim c")).value();
  const ObjectsBefore none{nullptr, nullptr, [](StorageKind, std::string_view, std::string_view) { return nullptr; }};
  const ObjectsBefore some{nullptr, nullptr, [&](StorageKind kind, std::string_view space, std::string_view name) {
                             EXPECT_EQ(std::string(space) + "/" + std::string(name), "default/c");
                             EXPECT_EQ(kind, StorageKind::kClaim);
                             return std::make_shared<const StorageObject>(claim);
                           }};
  const StorageRemoval removal{StorageKind::kClaim, "default", "c"};
  test.router().route(StorageUpsert{claim}, none);
  test.router().route(StorageUpsert{claim}, some);
  test.router().route(removal, some);
  test.router().route(removal, none);
  EXPECT_EQ(raised(), (Labels{"PersistentVolumeClaimAdd", "PersistentVolumeClaimUpdate"}))
      << "no plugin registered a deletion";
}

}  // namespace
}  // namespace berth::test
