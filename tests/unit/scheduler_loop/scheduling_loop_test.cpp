// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/loop/scheduling_loop.h"

#include <gtest/gtest.h>

#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

using Lines = LoopFixture::Lines;

class SchedulingLoopTest : public testing::Test, public LoopFixture {};

TEST_F(SchedulingLoopTest, PodsAreBoundByPriorityAndTheirEventsSayWhere) {
  add_nodes("a cpu=2");
  add_pods("low cpu=1");
  add_pods("high cpu=1 priority=5");
  open();
  settle();
  EXPECT_EQ(bound, (Lines{"high on a", "low on a"}));
  EXPECT_EQ(events.front(), "Scheduled high: Successfully assigned default/high to a");
  EXPECT_EQ(node_of("low"), "a");
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
  EXPECT_EQ(scheduler->next_wake_us(), ApiClient::kNeverUs);
}

TEST_F(SchedulingLoopTest, PodsOfOtherSchedulersAreLeftAlone) {
  add_nodes("a cpu=2");
  const std::shared_ptr<Pod> pod = copy_of(*make_pods({"pod", "p", "cpu=1"}).front());
  PodSpec spec = *pod->spec;
  spec.scheduler_name = "other";
  pod->spec = std::make_shared<const PodSpec>(spec);
  store.create<Pod>(pod);
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
}

TEST_F(SchedulingLoopTest, APodWithoutANodeSaysWhyAndComesWithTheNodeThatItNeeds) {
  add_nodes("a cpu=1");
  add_pods("p cpu=2");
  open();
  settle();
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  EXPECT_EQ(condition_of("p"),
            "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 "
            "nodes are available: 1 "
            "Preemption is not helpful for scheduling.");
  EXPECT_EQ(scheduler->next_wake_us(), 130'000'000) << "for the leftovers, since no pod backs off";
  settle();
  EXPECT_EQ(attempts.size(), 1U) << "its own condition is no reason to try it again";
  add_nodes("b cpu=1");
  settle();
  EXPECT_EQ(attempts.size(), 1U) << "a node that is too small either";
  add_nodes("c cpu=2");
  settle();
  EXPECT_EQ(bound, Lines{"p on c"}) << "with an empty queue nobody waits for backoff";
}

TEST_F(SchedulingLoopTest, APodThatFailsHasNoNomination) {
  add_nodes("a cpu=1");
  add_pods("p*3 cpu=2");
  open();
  settle();
  EXPECT_EQ(queue().sizes().unschedulable, 3U);
  EXPECT_EQ(queue().nominator().size(), 0U);
}

TEST_F(SchedulingLoopTest, WithoutEarlyPopsTheBackoffIsWaitedFor) {
  set_gates("SchedulerPopFromBackoffQ=false");
  add_nodes("a cpu=1");
  add_pods("p cpu=2");
  open();
  settle();
  add_nodes("b cpu=2");
  settle();
  EXPECT_TRUE(bound.empty());
  advance_s(2);
  EXPECT_EQ(bound, Lines{"p on b"});
}

TEST_F(SchedulingLoopTest, WithoutNodesTheErrorBackoffCounts) {
  add_pods("p cpu=1");
  open();
  settle();
  EXPECT_EQ(condition_of("p"), "Unschedulable: no nodes available to schedule pods");
  EXPECT_EQ(queue().sizes().backoff, 1U);
  add_nodes("a cpu=1");
  settle();
  EXPECT_TRUE(bound.empty()) << "only its backoff counts for such a pod";
  advance_s(2);
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, APodThatLeavesMakesRoomForAnotherOne) {
  add_nodes("a cpu=1");
  add_pods("first cpu=1");
  open();
  settle();
  add_pods("second cpu=1");
  settle();
  EXPECT_EQ(attempts, (Lines{"first scheduled", "second unschedulable"}));
  remove_pod("first");
  advance_s(29);
  EXPECT_EQ(node_of("second"), "") << "the first one has 30 s to end";
  advance_s(2);
  EXPECT_EQ(node_of("second"), "a");
}

TEST_F(SchedulingLoopTest, AGatedPodWaitsForItsGates) {
  add_nodes("a cpu=1");
  add_pods("p cpu=1 gate=g");
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
  EXPECT_EQ(queue().sizes().gated, 1U);
  update_pod("p", [](Pod& pod) { pod.rare_fields = nullptr; });
  settle();
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, APodThatIsBeingDeletedIsSkippedWithAWarning) {
  add_nodes("a cpu=1");
  CreateOptions with_finalizer;
  with_finalizer.finalizers = {"example.com/keep"};
  store.create<Pod>(make_pods({"pod", "p", "cpu=1"}).front(), with_finalizer);
  remove_pod("p");
  open();
  settle();
  EXPECT_TRUE(attempts.empty());
  EXPECT_EQ(events, Lines{"FailedScheduling p: skip schedule deleting pod: default/p"});
}

TEST_F(SchedulingLoopTest, PodsBoundBySomebodyElseTakeRoom) {
  add_nodes("a cpu=1");
  add_pods("theirs cpu=1");
  add_pods("ours cpu=1");
  open();
  store.bind({.namespace_ = "default", .name = "theirs", .node_name = "a"});
  settle();
  EXPECT_EQ(attempts, Lines{"ours unschedulable"});
}

TEST_F(SchedulingLoopTest, NodesThatGoTakeTheirRoomAlong) {
  add_nodes("a cpu=4");
  add_nodes("b cpu=1");
  open();
  remove_node("a");
  add_pods("p cpu=2");
  settle();
  EXPECT_EQ(attempts, Lines{"p unschedulable"});
  add_nodes("a cpu=4");
  settle();
  EXPECT_EQ(bound, Lines{"p on a"});
}

TEST_F(SchedulingLoopTest, AFailureInTheMiddleOfABatchLeavesTheOthersTheirNodes) {
  add_nodes("a cpu=2");
  add_nodes("b cpu=2");
  add_pods("p*3 cpu=1");
  add_pods("large cpu=3");
  add_pods("q cpu=1");
  open();
  settle();
  EXPECT_EQ(bound.size(), 4U);
  EXPECT_EQ(node_of("large"), "");
  EXPECT_NE(node_of("q"), "");
}

TEST_F(SchedulingLoopTest, DefaultSpreadingFollowsServices) {
  add_nodes("a*4 cpu=8 host zone=z");
  ClusterObjects objects;
  test::add_service({"service", "s", "select:app=web"}, objects);
  open();
  store.create<Service>(std::make_shared<const Service>(objects.services.front()));
  add_pods("p*4 cpu=1 label:app=web");
  settle();
  std::vector<std::string> nodes;
  nodes.reserve(4);
  for (int i = 0; i < 4; ++i) nodes.push_back(node_of("p" + std::to_string(i)));
  std::sort(nodes.begin(), nodes.end());
  EXPECT_EQ(nodes, (Lines{"a0", "a1", "a2", "a3"}));
}

TEST_F(SchedulingLoopTest, NoMorePodsAreDecidedThanMayBeUnbound) {
  struct SilentClient : ApiClient {
    void start(std::uint64_t, const ApiCall&) override {}
    std::vector<ApiAnswer> take_answers() override { return {}; }
  } client;
  options.unbound_pods_max = 3;
  add_nodes("a cpu=64");
  add_pods("p*10 cpu=1");
  open(client);
  scheduler->run();
  EXPECT_EQ(scheduler->loop().unbound_count(), 3U);
  EXPECT_TRUE(scheduler->loop().is_paused());
  EXPECT_EQ(pauses, std::vector<std::size_t>{3});
}

TEST_F(SchedulingLoopTest, APauseIsToldOnceUntilHalfOfThePodsAreBound) {
  std::size_t answers_due = 0;
  struct SlowClient : ApiClient {
    SlowClient(ObjectStore& watched, const std::size_t& made_due) : inner(watched), due(made_due) {}
    void start(std::uint64_t id, const ApiCall& call) override { waiting.emplace_back(id, call); }
    std::vector<ApiAnswer> take_answers() override {
      for (; made < due && made < waiting.size(); ++made) inner.start(waiting[made].first, waiting[made].second);
      return inner.take_answers();
    }
    StoreClient inner;
    const std::size_t& due;
    std::vector<std::pair<std::uint64_t, ApiCall>> waiting;
    std::size_t made = 0;
  } client(store, answers_due);
  options.unbound_pods_max = 4;
  add_nodes("a cpu=64");
  add_pods("p*8 cpu=1");
  open(client);
  for (answers_due = 0; answers_due < 4; ++answers_due) scheduler->run();
  EXPECT_EQ(pauses.size(), 1U) << "one more pod is tried for each that is bound, which is the same pause";
  answers_due = 6;
  scheduler->run();
  EXPECT_FALSE(scheduler->loop().is_paused());
  add_pods("q*4 cpu=1");
  scheduler->run();
  EXPECT_EQ(pauses.size(), 2U);
}

TEST_F(SchedulingLoopTest, AConditionNamesTheGenerationThatWasTried) {
  const auto observed = [this] { return pod("p")->find_condition("PodScheduled")->observed_generation; };
  add_nodes("a cpu=1");
  add_pods("p cpu=2 gate=g");
  open();
  settle();
  update_pod("p", [](Pod& pod) { pod.rare_fields = nullptr; });
  settle();
  EXPECT_EQ(pod("p")->meta.generation, 2);
  EXPECT_EQ(observed(), 2);
  add_pods("q cpu=2");
  settle();
  EXPECT_EQ(pod("q")->find_condition("PodScheduled")->observed_generation, 1);
}

}  // namespace
}  // namespace berth::test
