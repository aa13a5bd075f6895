// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 1.12.

#include "host/queue/nominator.h"

#include <gtest/gtest.h>

#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

std::vector<std::string> names_on(const Nominator& nominator, const std::string& node) {
  std::vector<std::string> names;
  for (const PodPtr& pod : nominator.pods_on(node)) names.push_back(pod->name);
  return names;
}

TEST(Nominator, TakesTheGivenNodeOrThatOfTheStatus) {
  Nominator nominator;
  nominator.add(pod_of("a nominated=n1"), std::nullopt);
  nominator.add(pod_of("b nominated=n1"), "n2");
  nominator.add(pod_of("c"), std::nullopt);
  nominator.add(pod_of("d"), "");
  EXPECT_EQ(names_on(nominator, "n1"), std::vector<std::string>{"a"});
  EXPECT_EQ(names_on(nominator, "n2"), std::vector<std::string>{"b"});
  EXPECT_EQ(nominator.size(), 2U) << "a node without a name is no nomination";
  nominator.add(pod_of("a nominated=n1"), "n3");
  EXPECT_TRUE(names_on(nominator, "n1").empty());
}

TEST(Nominator, KeepsWhatOnlyItKnowsAndFollowsTheStatusOtherwise) {
  Nominator nominator;
  const PodPtr pod = pod_of("a");
  const PodPtr named = pod_of("a nominated=n2");
  nominator.add(pod, "n1");
  nominator.update(*pod, pod_of("a label:x=y"));
  EXPECT_EQ(nominator.node_of(*pod), "n1");
  nominator.update(*pod, named);
  EXPECT_EQ(nominator.node_of(*pod), "n2");
  nominator.update(*named, pod);
  EXPECT_EQ(nominator.node_of(*pod), std::nullopt);
}

// What upstream's entry under the empty name leads to, without the entry.
TEST(Nominator, AClearedNominationComesBackOnlyWithAStatusThatNamesTheNode) {
  Nominator nominator;
  const PodPtr named = pod_of("a nominated=n1");
  const PodPtr silent = pod_of("a");
  nominator.add(named, std::nullopt);
  nominator.add(named, "");
  EXPECT_EQ(nominator.node_of(*named), std::nullopt);
  nominator.update(*silent, silent);
  EXPECT_EQ(nominator.node_of(*named), std::nullopt);
  nominator.update(*named, silent);
  EXPECT_EQ(nominator.node_of(*named), std::nullopt);
  nominator.add(named, "");
  nominator.update(*named, named);
  EXPECT_EQ(nominator.node_of(*named), "n1");
}

TEST(Nominator, PodsOfANodeKeepTheirOrderWhenOthersLeave) {
  Nominator nominator;
  for (const char* const pod : {"a", "b", "c", "d"}) nominator.add(pod_of(pod), "n");
  nominator.remove(*pod_of("b"));
  nominator.update(*pod_of("a"), pod_of("a label:x=y"));
  EXPECT_EQ(names_on(nominator, "n"), (std::vector<std::string>{"c", "d", "a"}));
}

TEST(Nominator, DoesNotStoreAPodThatIsGoneOrBound) {
  const PodPtr bound = pod_of("bound on=n");
  Nominator nominator([&](std::string_view, std::string_view name) { return name == "bound" ? bound : nullptr; });
  nominator.add(pod_of("bound"), "n1");
  nominator.add(pod_of("gone"), "n1");
  EXPECT_EQ(nominator.size(), 0U);
}

TEST(Nominator, TheQueueFindsTheNewestVersionOrMakesAStub) {
  QueueFixture test;
  const PodPtr pod = test.add("a nominated=n1 priority=3 cpu=1");
  const auto only = [&] { return test.queue().nominated_pods("n1").at(0); };
  EXPECT_EQ(only(), pod);
  test.pop();
  EXPECT_EQ(only()->name, "a");
  EXPECT_EQ(only()->priority, 0) << "a pod in flight is a stub";
  test.fail("a", {"NodeAffinity"});
  EXPECT_EQ(only(), pod);
  test.queue().remove(*pod);
  EXPECT_TRUE(test.queue().nominated_pods("n1").empty());
}

TEST(Nominator, OnlyAddAndAGeneralUpdateRegisterThePodsOwnNomination) {
  QueueFixture test;
  const PodPtr pod = test.add("a cpu=1");
  test.queue().nominator().add(pod, "n1");
  test.pop();
  test.fail("a", {"NodeResourcesFit"});
  test.queue().move_on_event({EventResource::kAssignedPod, EventAction::kDelete}, {.old_pod = pod_of("v on=n")});
  EXPECT_EQ(test.queue().nominator().node_of(*pod), "n1");
}

}  // namespace
}  // namespace berth::test
