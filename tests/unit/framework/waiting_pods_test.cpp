// SPDX-License-Identifier: Apache-2.0
// Waiting on Permit: docs/behaviour/scheduler-core.md 3.10.

#include "host/framework/waiting_pods.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

class WaitingPodsTest : public testing::Test {
 protected:
  VirtualClock clock;
  WaitingPods waiting{clock};
  PodPtr pod = plain_pod("p");
  std::string uid = pod->uid();
};

TEST_F(WaitingPodsTest, TheSpecificationsExampleEndsAtThirtySeconds) {
  waiting.add(pod, {{"P1", 10 * kSecondUs}, {"P2", 30 * kSecondUs}});
  EXPECT_EQ(waiting.next_deadline_us(), 10 * kSecondUs);
  clock.advance_to(4 * kSecondUs);
  EXPECT_TRUE(waiting.allow(uid, "P1"));
  clock.advance_to(12 * kSecondUs);
  EXPECT_EQ(waiting.decision(uid), std::nullopt) << "the timer of P1 is gone";
  EXPECT_EQ(waiting.next_deadline_us(), 30 * kSecondUs);
  clock.advance_to(30 * kSecondUs);
  EXPECT_EQ(waiting.decision(uid),
            (Status{StatusCode::kUnschedulable, "P2", {"rejected due to timeout after waiting 30s at plugin P2"}}));
  EXPECT_EQ(waiting.next_deadline_us(), std::nullopt);
}

TEST_F(WaitingPodsTest, ThePodContinuesWhenTheLastPluginAllows) {
  waiting.add(pod, {{"P1", kSecondUs}, {"P2", kSecondUs}});
  EXPECT_TRUE(waiting.allow(uid, "P2"));
  EXPECT_EQ(waiting.pending_plugins(uid), std::vector<std::string>{"P1"});
  EXPECT_EQ(waiting.decision(uid), std::nullopt);
  EXPECT_TRUE(waiting.allow(uid, "P1"));
  EXPECT_EQ(waiting.decision(uid), Status{});
}

TEST_F(WaitingPodsTest, ARejectionNamesItsPlugin) {
  waiting.add(pod, {{"P1", kSecondUs}});
  EXPECT_TRUE(waiting.reject(uid, "Other", "preempted"));
  EXPECT_EQ(waiting.decision(uid), (Status{StatusCode::kUnschedulable, "Other", {"preempted"}}));
}

TEST_F(WaitingPodsTest, TheFirstDecisionWins) {
  waiting.add(pod, {{"P1", kSecondUs}});
  ASSERT_TRUE(waiting.reject(uid, "P1", "no"));
  EXPECT_FALSE(waiting.allow(uid, "P1"));
  EXPECT_FALSE(waiting.reject(uid, "P1", "never"));
  clock.advance_to(2 * kSecondUs);
  EXPECT_EQ(waiting.decision(uid)->reasons, std::vector<std::string>{"no"});
}

TEST_F(WaitingPodsTest, AnAllowAfterTheDeadlineIsIgnored) {
  waiting.add(pod, {{"P1", kSecondUs}});
  clock.advance_to(kSecondUs);
  EXPECT_FALSE(waiting.allow(uid, "P1"));
  EXPECT_EQ(waiting.decision(uid)->code, StatusCode::kUnschedulable);
}

TEST_F(WaitingPodsTest, TheEarliestOfSeveralDueTimersRejects) {
  waiting.add(pod, {{"P1", 20 * kSecondUs}, {"P2", 1'500'000}});
  clock.advance_to(60 * kSecondUs);
  EXPECT_EQ(waiting.decision(uid)->reasons,
            std::vector<std::string>{"rejected due to timeout after waiting 1.5s at plugin P2"});
}

TEST_F(WaitingPodsTest, UnknownPodsAndPluginsAreIgnored) {
  EXPECT_FALSE(waiting.allow(uid, "P1"));
  EXPECT_FALSE(waiting.reject(uid, "P1", "no"));
  EXPECT_EQ(waiting.decision(uid), Status{});
  EXPECT_EQ(waiting.wait(uid), Status{});
  waiting.add(pod, {{"P1", kSecondUs}});
  EXPECT_FALSE(waiting.allow(uid, "Stranger"));
  EXPECT_EQ(waiting.decision(uid), std::nullopt);
  EXPECT_EQ(waiting.pods(), std::vector<PodPtr>{pod});
  waiting.remove(uid);
  EXPECT_FALSE(waiting.is_waiting(uid));
}

TEST(WaitingPodsWait, BlocksUntilAnotherThreadDecides) {
  WaitingPods waiting;
  const PodPtr pod = plain_pod("p");
  waiting.add(pod, {{"P1", INT64_MAX}});
  std::thread other([&] { waiting.allow(pod->uid(), "P1"); });
  EXPECT_EQ(waiting.wait(pod->uid()), Status{});
  other.join();
  EXPECT_FALSE(waiting.is_waiting(pod->uid()));
}

TEST(WaitingPodsWait, EndsWhenATimerFires) {
  WaitingPods waiting;
  const PodPtr pod = plain_pod("p");
  waiting.add(pod, {{"P1", 1'000}});
  EXPECT_EQ(waiting.wait(pod->uid()).message(), "rejected due to timeout after waiting 1ms at plugin P1");
}

TEST_F(WaitingPodsTest, WhoIsDecidedOrWokenIsListedOnceInOrder) {
  const PodPtr late = plain_pod("late");
  waiting.add(pod, {{"P1", 10 * kSecondUs}});
  waiting.add(late, {{"P1", 5 * kSecondUs}});
  EXPECT_FALSE(waiting.has_ready());
  waiting.wake("other");
  EXPECT_TRUE(waiting.allow(uid, "P1"));
  clock.advance_to(6 * kSecondUs);
  EXPECT_TRUE(waiting.has_ready());
  EXPECT_EQ(waiting.take_ready(), (std::vector<std::string>{"other", uid, late->uid()}));
  EXPECT_FALSE(waiting.has_ready());
  EXPECT_TRUE(waiting.take_ready().empty());
}

TEST_F(WaitingPodsTest, APodThatIsAddedAgainHasItsNewTimersOnly) {
  waiting.add(pod, {{"P1", kSecondUs}});
  waiting.add(pod, {{"P2", 5 * kSecondUs}});
  EXPECT_EQ(waiting.next_deadline_us(), 5 * kSecondUs);
  waiting.remove(uid);
  EXPECT_EQ(waiting.next_deadline_us(), std::nullopt);
}

}  // namespace
}  // namespace berth
