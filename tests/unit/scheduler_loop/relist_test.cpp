// SPDX-License-Identifier: Apache-2.0
// A watch that has expired, and events that contradict the cache.

#include <gtest/gtest.h>

#include "tests/support/faulty_client.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

constexpr std::int64_t kBindingDelayUs = 5'000'000;

/// The store keeps two events for the scheduler.
class RelistTest : public testing::Test, public LoopFixture {
 protected:
  RelistTest() : LoopFixture({.watch_history_limit = 2}) {}
  void relabel(const std::string& name) {
    update_pod(name, [](Pod& pod) { pod.labels = LabelMap({{"seen", "later"}}); });
  }
  SchedulingLoop::CacheSizes sizes() const { return scheduler->loop().cache_sizes(); }
};

TEST_F(RelistTest, ObjectsCreatedWhileTheWatchWasNotReadAreScheduled) {
  open();
  add_nodes("a*3 cpu=1");
  add_pods("p*4 cpu=1");
  settle();
  EXPECT_EQ(bound.size(), 3U);
  EXPECT_EQ(queue().sizes().unschedulable, 1U);
  EXPECT_EQ(sizes().nodes, 3U);
  EXPECT_EQ(sizes().pods, 3U);
  EXPECT_EQ(sizes().assumed_pods, 0U);
}

TEST_F(RelistTest, WhatWentMeanwhileIsForgotten) {
  add_nodes("a*3 cpu=1");
  add_pods("p*3 cpu=1");
  add_pods("big*3 cpu=9");
  open();
  settle();
  for (const char* name : {"p0", "p1", "big0", "big1"}) remove_pod(name, 0);
  remove_node(node_of("p2"));
  settle();
  EXPECT_EQ(queue().sizes().unschedulable, 1U);
  EXPECT_EQ(sizes().nodes, 3U) << "with the ghost of p2";
  EXPECT_EQ(sizes().pods, 1U);
  add_pods("q*2 cpu=1");
  settle();
  EXPECT_EQ(bound.size(), 5U) << "the room of those that are gone is free";
}

TEST_F(RelistTest, AnEventThatWasLostWakesThePodsThatItConcerns) {
  add_nodes("a cpu=1");
  add_pods("old cpu=1");
  open();
  settle();
  add_pods("p cpu=1");
  settle();
  ASSERT_EQ(node_of("p"), "");
  remove_pod("old", 0);
  for (int i = 0; i < 5; ++i) add_pods("other" + std::to_string(i) + " cpu=9");
  advance_s(3);
  EXPECT_EQ(node_of("p"), "a");
}

TEST_F(RelistTest, AssumedPodsKeepTheirRoom) {
  FaultyClient client(store, [](const ApiCall& call) {
    CallFault fault;
    if (std::holds_alternative<PodBinding>(call.request)) fault.delay_us = kBindingDelayUs;
    return fault;
  });
  add_nodes("a cpu=2");
  add_pods("p cpu=1");
  open(client);
  settle();
  ASSERT_EQ(scheduler->loop().unbound_count(), 1U);
  for (int i = 0; i < 5; ++i) add_pods("q" + std::to_string(i) + " cpu=1");
  settle();
  EXPECT_EQ(sizes().assumed_pods, 2U) << "p, and the one q for which there is room";
  advance_s(12);
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(bound.size(), 2U);
  EXPECT_EQ(sizes().assumed_pods, 0U);
}

TEST_F(RelistTest, AnAssumedPodThatWentMeanwhileGivesItsRoomBack) {
  FaultyClient client(store, [](const ApiCall& call) {
    CallFault fault;
    if (std::holds_alternative<PodBinding>(call.request)) fault.delay_us = kBindingDelayUs;
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  remove_pod("p", 0);
  for (int i = 0; i < 5; ++i) add_pods("q" + std::to_string(i) + " cpu=1");
  settle();
  EXPECT_EQ(sizes().pods, 1U);
  EXPECT_EQ(attempts, (Lines{"p scheduled", "q0 scheduled", "q1 unschedulable", "q2 unschedulable", "q3 unschedulable",
                             "q4 unschedulable"}));
  advance_s(12);
  EXPECT_EQ(node_of("q0"), "a");
}

TEST_F(RelistTest, APodThatCameAgainUnderItsNameIsAnotherOne) {
  add_nodes("a cpu=1");
  add_pods("p cpu=9");
  open();
  settle();
  remove_pod("p", 0);
  for (int i = 0; i < 3; ++i) add_pods("other" + std::to_string(i) + " cpu=9");
  add_pods("p cpu=1");
  settle();
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(queue().sizes().unschedulable, 3U);
}

TEST_F(RelistTest, OtherObjectsAreReadAgainToo) {
  add_nodes("a cpu=4 zone=1");
  open();
  for (const char* name : {"x", "y", "z"})
    store.create<Namespace>(std::make_shared<const Namespace>(Namespace{name, {}}));
  settle();
  for (const char* name : {"x", "y", "z"}) store.remove<Namespace>(ObjectKey{{}, name});
  add_pods("p cpu=1");
  settle();
  EXPECT_EQ(node_of("p"), "a");
}

/// A loop whose events the test writes.
class MismatchTest : public testing::Test, public LoopFixture {
 protected:
  void on_mismatch(std::string_view text) override { mismatches.emplace_back(text); }
  Lines mismatches;
};

TEST_F(MismatchTest, APodThatChangesItsNodeIsTakenAsTheEventHasItAndLoudly) {
  add_nodes("a cpu=1");
  add_nodes("b cpu=1");
  add_pods("p on=a cpu=1");
  StoreClient client(store);
  SchedulingLoop loop(store.list_all(), options, clock, client, *this);
  const StoredPodPtr before = pod("p");
  const std::shared_ptr<Pod> moved = copy_of(*before->object);
  moved->node_name = "b";
  auto after = std::make_shared<StoredPod>(*before);
  after->object = moved;
  WatchEvent event;
  event.change = ObjectChange<Pod>{before, after};
  loop.take({&event, 1});
  EXPECT_EQ(mismatches, Lines{"pod default/p is on node b by an event, and on node a in the scheduler's cache"});
  EXPECT_EQ(loop.cache_sizes().pods, 1U);
  add_pods("q cpu=1");
  event.change = ObjectChange<Pod>{nullptr, pod("q")};
  loop.take({&event, 1});
  loop.run(10);
  EXPECT_EQ(node_of("q"), "a") << "where p was; cache and engine agree";
}

}  // namespace
}  // namespace berth::test
