// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 1: the worked examples, and each operation.

#include "host/queue/scheduling_queue.h"

#include <gtest/gtest.h>

#include "host/objects/errors.h"
#include "tests/unit/queue/queue_fixture.h"

namespace berth::test {
namespace {

constexpr ClusterEvent kNodeAdd{EventResource::kNode, EventAction::kAdd};
constexpr ClusterEvent kPodDelete{EventResource::kAssignedPod, EventAction::kDelete};

TEST(SchedulingQueue, PopsByPriorityThenByTime) {
  QueueFixture test;
  test.add("late priority=1");
  test.clock.advance_by(1);
  test.add("low");
  test.add("high priority=2");
  test.add("later priority=1");
  EXPECT_EQ(test.pop(), "high");
  EXPECT_EQ(test.pop(), "late");
  EXPECT_EQ(test.pop(), "later");
  EXPECT_EQ(test.pop(), "low");
  EXPECT_EQ(test.pop(), "");
  EXPECT_EQ(test.queue().scheduling_cycle(), 4U);
}

TEST(SchedulingQueue, APodThatFailedGoesBehindThoseThatCameMeanwhile) {
  QueueFixture test;
  test.add("first");
  test.pop();
  test.run_until(101);
  test.add("second");
  test.fail("first", {});
  test.queue().activate(std::vector{test.popped.at("first").pod});
  EXPECT_EQ(test.pop(), "second");
  EXPECT_EQ(test.pop(), "first");
  EXPECT_EQ(test.popped.at("first").attempts, 2U);
}

// The example of 1.4: three failures in one second with a backoff of one second.
TEST(SchedulingQueue, FailuresOfOneSecondLeaveTheBackoffTogetherInQueueOrder) {
  QueueFixture test;
  for (const char* name : {"a", "b", "c priority=7", "busy"}) test.add(name);
  for (int i = 0; i < 4; ++i) test.pop();
  test.fail("a", {"NodeName"});
  test.run_until(100.3);
  test.fail("b", {"NodeName"});
  test.run_until(100.99);
  test.fail("c", {"NodeName"});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  EXPECT_EQ(test.queue().sizes(), (SchedulingQueue::Sizes{0, 3, 0, 0}));
  test.run_until(101.99);
  EXPECT_EQ(test.queue().sizes().backoff, 3U);
  test.run_until(102);
  EXPECT_EQ(test.queue().sizes(), (SchedulingQueue::Sizes{3, 0, 0, 0}));
  EXPECT_EQ(test.pop(), "c");
  EXPECT_EQ(test.pop(), "a");
  EXPECT_EQ(test.pop(), "b");
}

// The example of 1.8: what a pod missed is what happened behind its marker.
TEST(SchedulingQueue, AReturningPodReplaysTheEventsOfItsAttempt) {
  QueueFixture test;
  test.add("a priority=1 select:disk=ssd");
  test.add("b cpu=1");
  const InFlight& in_flight = test.queue().in_flight();
  EXPECT_EQ(test.pop(), "a");
  test.router().node_changed(node_of("n1 cpu=1"), node_of("n1 cpu=2"));  // e1
  EXPECT_EQ(in_flight.event_count(), 1U);
  EXPECT_EQ(test.pop(), "b");
  test.router().pod_changed(pod_of("old on=n2 cpu=1"), nullptr);  // e2
  EXPECT_EQ(in_flight.event_count(), 2U);
  test.fail("b", {"NodeResourcesFit"});
  EXPECT_EQ(test.place_of("b"), "backoff");
  EXPECT_EQ(in_flight.event_count(), 2U) << "a has to look at them yet";
  test.fail("a", {"NodeAffinity"});
  EXPECT_EQ(test.place_of("a"), "unschedulable");
  EXPECT_EQ(in_flight.event_count(), 0U);
  EXPECT_EQ(in_flight.pod_count(), 0U);
}

TEST(SchedulingQueue, EventsThatNoPluginRegisteredAreNotKept) {
  QueueFixture test;
  test.add("a");
  test.pop();
  test.queue().move_on_event({EventResource::kNode, EventAction::kUpdateNodeCondition}, {.new_node = node_of("n")});
  EXPECT_EQ(test.queue().in_flight().event_count(), 0U);
}

TEST(SchedulingQueue, AnErrorIsTriedAgainAfterItsBackoffOnly) {
  QueueFixture test;
  test.add("a");
  test.pop();
  test.fail("a", {});
  EXPECT_EQ(test.place_of("a"), "backoff");
  EXPECT_EQ(test.pop(), "") << "errors are never popped early";
  test.run_until(102);
  EXPECT_EQ(test.pop(), "a");
}

TEST(SchedulingQueue, AnIdleSchedulerPopsFromTheBackoff) {
  QueueFixture test;
  test.add_failed("a", {"NodeName"});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  EXPECT_EQ(test.place_of("a"), "backoff");
  EXPECT_EQ(test.pop(), "a");
  EXPECT_EQ(test.queue().counts().incoming().at({"active", "PopFromBackoffQ"}), 1U);
}

TEST(SchedulingQueue, WithoutTheGateNothingLeavesTheBackoffEarly) {
  QueueFixture test("SchedulerPopFromBackoffQ=false");
  test.run_until(100.5);
  test.add_failed("a", {"NodeName"});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  EXPECT_EQ(test.pop(), "");
  test.run_until(101.9);
  EXPECT_EQ(test.pop(), "") << "backs off until 101.5, and is looked at on 101 and 102";
  test.run_until(102);
  EXPECT_EQ(test.pop(), "a");
}

TEST(SchedulingQueue, TheBackoffGrowsWithFailuresAndErrorsCountApart) {
  QueueFixture test;
  const PodPtr pod = test.add("a");
  const auto waits = [&](const PluginNames& plugins) {
    test.queue().activate(std::vector{pod});
    test.pop();
    const std::int64_t failed_us = test.clock.now_us();
    test.fail("a", plugins);
    test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
    while (test.place_of("a") != "active") test.run_until(static_cast<double>(test.clock.now_us()) / 1e6 + 1);
    return (test.clock.now_us() - failed_us) / 1'000'000;
  };
  const PluginNames rejected = {"NodeName"};
  std::vector<std::int64_t> seconds;
  for (const PluginNames& plugins : {rejected, rejected, rejected, PluginNames(), PluginNames(), rejected, rejected})
    seconds.push_back(waits(plugins));
  EXPECT_EQ(seconds, (std::vector<std::int64_t>{2, 3, 5, 2, 3, 9, 11})) << "one second more than the backoff";
}

TEST(Backoff, DoublesUpToTheMaximumWithoutOverflow) {
  constexpr Backoff backoff;
  std::vector<std::int64_t> seconds;
  for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 64U, 65U, 200U, UINT32_MAX})
    seconds.push_back(backoff.duration_us(count) / 1'000'000);
  EXPECT_EQ(seconds, (std::vector<std::int64_t>{1, 2, 4, 8, 10, 10, 10, 10, 10}));
  constexpr Backoff none{1'000'000, 0, true};
  EXPECT_FALSE(none.is_backing_off(none.expiry_us(5'000'000, 3), 5'000'000));
  EXPECT_EQ(backoff.expiry_us(100'300'000, 1), 101'000'000);
  EXPECT_TRUE(backoff.is_backing_off(101'000'000, 101'999'999));
  EXPECT_FALSE(backoff.is_backing_off(101'000'000, 102'000'000));
  EXPECT_EQ(backoff.window_us(-1), -1'000'000);
}

TEST(SchedulingQueue, APendingPluginThatQueuesSkipsTheBackoff) {
  QueueFixture test;
  test.add_failed("waits", {}, {"NodeName"});
  test.add_failed("fails", {"NodeName"});
  test.add_failed("both cpu=9", {"NodeName"}, {"NodeResourcesFit"});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n cpu=1")});
  EXPECT_EQ(test.place_of("waits"), "active");
  EXPECT_EQ(test.place_of("fails"), "backoff");
  EXPECT_EQ(test.place_of("both"), "backoff") << "the plugin that waits says skip";
}

TEST(SchedulingQueue, APendingPluginWinsInReplayEvenLater) {
  QueueFixture test;
  test.add("a cpu=2");
  test.pop();
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("small cpu=1")});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("large cpu=4")});
  test.fail("a", {"NodeName"}, {"NodeResourcesFit"});
  EXPECT_EQ(test.place_of("a"), "active");
}

TEST(SchedulingQueue, AGatedPodStaysOutUntilItsGatesAreGone) {
  QueueFixture test;
  const PodPtr gated = test.add("a gate=x gate=y");
  EXPECT_EQ(test.queue().sizes(), (SchedulingQueue::Sizes{0, 0, 0, 1}));
  EXPECT_EQ(test.queue().unschedulable_by_plugin().at({"SchedulingGates", "default-scheduler"}), 1U);
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  const PodPtr half = pod_of("a gate=y");
  test.queue().update(gated, half);
  EXPECT_EQ(test.queue().sizes().gated, 1U);
  test.run_until(1000);
  EXPECT_EQ(test.queue().sizes().gated, 1U) << "leftovers leave gated pods alone";
  test.queue().update(half, pod_of("a"));
  EXPECT_EQ(test.pop(), "a");
  EXPECT_TRUE(test.queue().unschedulable_by_plugin().empty());
  EXPECT_EQ(test.popped.at("a").initial_attempt_us, 1'000'000'000) << "waiting behind a gate does not count";
}

TEST(SchedulingQueue, ActivateDoesNotOpenAGate) {
  QueueFixture test;
  const PodPtr pod = test.add("a gate=x");
  test.queue().activate(std::vector{pod});
  EXPECT_EQ(test.queue().sizes().gated, 1U);
}

TEST(SchedulingQueue, APodWhosePreemptionRunsIsGatedUntilAPodGoesAndItEnds) {
  QueueFixture test;
  const PodPtr pod = test.add("a cpu=1");
  test.pop();
  test.plugins().running_preemptions().begin(*pod);
  test.fail("a", {"NodeResourcesFit"});
  EXPECT_EQ(test.place_of("a"), "unschedulable");
  const PodPtr victim = pod_of("victim on=n cpu=1");
  test.queue().move_on_event(kPodDelete, {.old_pod = victim});
  EXPECT_EQ(test.queue().sizes().gated, 1U);
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n cpu=4")});
  EXPECT_EQ(test.queue().sizes().gated, 1U) << "the gating plugin did not register it";
  test.plugins().running_preemptions().end(*pod);
  test.queue().move_on_event(kPodDelete, {.old_pod = victim});
  EXPECT_EQ(test.place_of("a"), "backoff");
}

TEST(SchedulingQueue, WithoutAsynchronousPreemptionItsPluginGetsNoEvents) {
  QueueFixture test("SchedulerAsyncPreemption=false");
  const PodPtr pod = test.add("a cpu=1");
  test.pop();
  test.plugins().running_preemptions().begin(*pod);
  test.fail("a", {"NodeResourcesFit"});
  test.queue().move_on_event(kPodDelete, {.old_pod = pod_of("v on=n cpu=1")});
  test.plugins().running_preemptions().end(*pod);
  test.queue().move_on_event(kPodDelete, {.old_pod = pod_of("v on=n cpu=1")});
  EXPECT_EQ(test.queue().sizes().gated, 1U);
}

TEST(SchedulingQueue, LeftoversAreMovedOnceTheyAreOlderThanTheLimit) {
  QueueFixture test;
  test.run_until(101);
  test.add_failed("a", {"NodeAffinity"});
  test.run_until(401);
  EXPECT_EQ(test.place_of("a"), "unschedulable") << "looked at on 400: 299 s";
  test.run_until(429.9);
  EXPECT_EQ(test.place_of("a"), "unschedulable");
  test.run_until(430);
  EXPECT_EQ(test.place_of("a"), "active");
  EXPECT_EQ(test.queue().counts().incoming().at({"active", "UnschedulableTimeout"}), 1U);
  EXPECT_EQ(test.pop(), "a");
  EXPECT_TRUE(test.popped.at("a").was_flushed);
  test.fail("a", {"NodeAffinity"});
  test.queue().activate(std::vector{test.popped.at("a").pod});
  test.pop();
  EXPECT_FALSE(test.popped.at("a").was_flushed);
}

TEST(SchedulingQueue, ALeftoverFlushReachesPodsInFlight) {
  QueueFixture test;
  test.add("a priority=1");
  test.add("old");
  test.pop();
  test.pop();
  test.fail("old", {"NodeAffinity"});
  test.run_until(430);
  test.fail("a", {"NodeAffinity"});
  EXPECT_EQ(test.place_of("a"), "backoff");
}

TEST(SchedulingQueue, ActivateIgnoresTheBackoffAndReachesPodsInFlight) {
  QueueFixture test;
  const PodPtr error = test.add_failed("error", {});
  const PodPtr rejected = test.add_failed("rejected", {"NodeAffinity"});
  const PodPtr flying = test.add("flying");
  const PodPtr other = test.add("other");
  test.pop();
  test.pop();
  test.queue().activate(std::vector{error, rejected, flying, pod_of("unknown")});
  EXPECT_EQ(test.queue().sizes().active, 2U);
  test.fail("flying", {"NodeAffinity"});
  EXPECT_EQ(test.place_of("flying"), "backoff");
  test.fail("other", {"NodeAffinity"});
  EXPECT_EQ(test.place_of("other"), "unschedulable") << "the event was for another pod";
}

TEST(SchedulingQueue, AnUpdateReplacesThePodWhereItIs) {
  QueueFixture test;
  const PodPtr active = test.add("active");
  test.queue().update(active, pod_of("active priority=5 label:a=b"));
  test.add("second priority=3");
  EXPECT_EQ(test.pop(), "active");
  EXPECT_EQ(test.popped.at("active").pod->priority, 5);
  const PodPtr waits = test.add_failed("waits cpu=4", {"NodeResourcesFit"});
  const PodPtr labelled = pod_of("waits cpu=4 label:a=b");
  test.queue().update(waits, labelled);
  EXPECT_EQ(test.place_of("waits"), "unschedulable");
  EXPECT_EQ(test.queue().find(*waits)->pod, labelled);
  test.queue().update(labelled, pod_of("waits cpu=2 label:a=b"));
  EXPECT_EQ(test.place_of("waits"), "backoff");
  test.queue().update(pod_of("unknown"), pod_of("unknown label:a=b"));
  EXPECT_EQ(test.place_of("unknown"), "active");
  EXPECT_EQ(test.queue().counts().incoming().at({"active", "UnschedulablePodUpdate"}), 1U);
}

TEST(SchedulingQueue, AnUpdateInFlightCountsOnTheReturn) {
  QueueFixture test;
  const PodPtr pod = test.add("a cpu=4");
  test.pop();
  const PodPtr smaller = pod_of("a cpu=2");
  test.queue().update(pod, smaller);
  test.popped.at("a").pod = smaller;
  test.fail("a", {"NodeResourcesFit"});
  EXPECT_EQ(test.place_of("a"), "backoff");
}

TEST(SchedulingQueue, ADeletedPodIsNowhere) {
  QueueFixture test;
  std::vector<PodPtr> pods = {test.add_failed("rejected", {"NodeAffinity"}), test.add_failed("error", {}),
                              test.add("gated gate=x"), test.add("active")};
  for (const PodPtr& pod : pods) test.queue().remove(*pod);
  EXPECT_EQ(test.queue().sizes(), SchedulingQueue::Sizes());
  EXPECT_EQ(test.pop(), "");
  EXPECT_TRUE(test.queue().unschedulable_by_plugin().empty());
}

TEST(SchedulingQueue, APodThatCameAgainWhileItWasTriedIsKeptOnce) {
  QueueFixture test;
  test.add("a");
  EXPECT_EQ(test.pop(), "a");
  auto again = copy_of(*pod_of("a"));
  again->stored_uid = "2";
  test.queue().add(again);
  EXPECT_FALSE(test.fail("a", {"NodeName"}));
  EXPECT_EQ(test.queue().in_flight().pod_count(), 0U);
  EXPECT_EQ(test.pop(), "a");
  EXPECT_EQ(test.popped.at("a").pod->stored_uid, "2");
}

TEST(SchedulingQueue, APodThatIsInFlightAlreadyIsDropped) {
  QueueFixture test;
  const PodPtr pod = test.add("a");
  test.pop();
  test.queue().add(pod);
  test.add("b");
  EXPECT_EQ(test.pop(), "b");
  EXPECT_EQ(test.pop(), "");
}

TEST(SchedulingQueue, AfterDoneAFailureIsTriedAgainAfterTheBackoff) {
  QueueFixture test;
  test.add("a");
  test.pop();
  test.queue().done("default/a");
  test.queue().done("default/a");
  test.fail("a", {"VolumeBinding"});
  EXPECT_EQ(test.place_of("a"), "backoff") << "nobody knows what it missed";
}

TEST(SchedulingQueue, APluginThatIsNotKnownIsWokenByTheFlushOnly) {
  QueueFixture test;
  test.add_failed("a", {""});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n cpu=4")});
  test.queue().move_on_event(kPodDelete, {.old_pod = pod_of("v on=n")});
  EXPECT_EQ(test.place_of("a"), "unschedulable");
  test.run_until(450);
  EXPECT_EQ(test.place_of("a"), "active");
}

TEST(SchedulingQueue, AnEventMayConcernLowPrioritiesOnlyAndLeaveOutAPod) {
  QueueFixture test;
  test.add_failed("low cpu=1", {"NodeResourcesFit"});
  test.add_failed("same cpu=1 priority=5", {"NodeResourcesFit"});
  test.add_failed("high cpu=1 priority=6", {"NodeResourcesFit"});
  const PodPtr except = test.add_failed("except cpu=1", {"NodeResourcesFit"});
  test.queue().move_on_event(kPodDelete, {.old_pod = pod_of("v nominated=n priority=5")},
                             {.priority_max = 5, .except = except});
  EXPECT_EQ(test.place_of("low"), "backoff");
  EXPECT_EQ(test.place_of("same"), "backoff");
  EXPECT_EQ(test.place_of("high"), "unschedulable");
  EXPECT_EQ(test.place_of("except"), "unschedulable");
}

TEST(SchedulingQueue, PodsOfAnotherProfileAreTriedAgainAfterTheBackoff) {
  QueueFixture test;
  auto spec = std::make_shared<PodSpec>(*pod_of("a")->spec);
  spec->scheduler_name = "other";
  auto pod = copy_of(*pod_of("a"));
  pod->spec = spec;
  test.queue().add(pod);
  test.pop();
  test.fail("a", {"NodeAffinity"});
  EXPECT_EQ(test.place_of("a"), "unschedulable");
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  EXPECT_EQ(test.place_of("a"), "backoff");
}

TEST(SchedulingQueue, CountsWhatEntersEachQueue) {
  QueueFixture test;
  test.add_failed("a", {"NodeName"});
  test.queue().move_on_event(kNodeAdd, {.new_node = node_of("n")});
  test.run_until(102);
  EXPECT_EQ(test.queue().counts().incoming(), (std::map<std::pair<std::string, std::string>, std::uint64_t>{
                                                  {{"active", "UnschedulablePodAdd"}, 1},
                                                  {{"active", "BackoffComplete"}, 1},
                                                  {{"backoff", "NodeAdd"}, 1},
                                                  {{"unschedulable", "ScheduleAttemptFailure"}, 1}}));
}

TEST(QueueOptions, FollowTheConfigurationAndRefuseGangScheduling) {
  SchedulerConfig config = default_scheduler_config(FeatureGates());
  config.pod_max_backoff_seconds = 3;
  EXPECT_EQ(queue_options(config).max_backoff_us, 3'000'000);
  EXPECT_TRUE(queue_options(config).pops_from_backoff);
  config.gates.apply("GenericWorkload=true");
  try {
    queue_options(config);
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().location, "GenericWorkload");
  }
}

}  // namespace
}  // namespace berth::test
