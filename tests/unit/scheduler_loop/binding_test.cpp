// SPDX-License-Identifier: Apache-2.0
// From a decision to a binding, with plugins that wait and an API server that fails:
// docs/behaviour/scheduler-core.md 5.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/faulty_client.h"
#include "tests/unit/scheduler_loop/loop_fixture.h"

namespace berth::test {
namespace {

using Lines = LoopFixture::Lines;

constexpr std::int64_t kSecondUs = 1'000'000;
/// For a pod that might be tried again and again.
constexpr std::size_t kAttemptsMax = 8;

bool is_binding(const ApiCall& call) { return std::holds_alternative<PodBinding>(call.request); }

/// Bindings are made five seconds after they are asked for.
CallFault late_bindings(const ApiCall& call) {
  CallFault fault;
  if (is_binding(call)) fault.delay_us = 5 * kSecondUs;
  return fault;
}

/// Lets pods with the label `wait` wait at one point, or rejects them there.
class WaitingPlugin : public PermitPlugin, public PreBindPlugin, public ReservePlugin {
 public:
  std::string_view name() const override { return "Waiting"; }
  PermitAnswer permit(const PodOnNode& pod) override {
    if (!waits(pod, "permit")) return {};
    return {{StatusCode::kWait, "", {}}, 60 * kSecondUs};
  }
  Status pre_bind_pre_flight(const PodOnNode& pod) override {
    return waits(pod, "prebind") || waits(pod, "refused") ? Status{} : Status{StatusCode::kSkip, "", {}};
  }
  Status pre_bind(const PodOnNode& pod) override {
    if (waits(pod, "refused")) return {StatusCode::kUnschedulable, "", {"no disk"}};
    return is_ready ? Status{} : Status{StatusCode::kWait, "", {}};
  }
  Status reserve(const PodOnNode& pod) override {
    if (waits(pod, "later") && !is_ready) return {StatusCode::kPending, "", {"not yet"}};
    if (waits(pod, "again") && !is_ready) return {StatusCode::kUnschedulable, "", {"not now"}};
    return waits(pod, "no") ? Status{StatusCode::kUnschedulable, "", {"not today"}} : Status{};
  }
  void unreserve(const PodOnNode& pod) noexcept override { unreserved.push_back(pod.pod->name); }

  static bool waits(const PodOnNode& pod, std::string_view where) { return pod.pod->labels.find("wait") == where; }

  bool is_ready = false;
  Lines unreserved;
};

class LoopBindingTest : public testing::Test, public LoopFixture {
 protected:
  /// The plugin joins Reserve, Permit and PreBind of every profile.
  void add_plugin() {
    struct Forward : PermitPlugin, PreBindPlugin, ReservePlugin {
      explicit Forward(WaitingPlugin& plugin) : to(plugin) {}
      std::string_view name() const override { return to.name(); }
      PermitAnswer permit(const PodOnNode& pod) override { return to.permit(pod); }
      Status pre_bind_pre_flight(const PodOnNode& pod) override { return to.pre_bind_pre_flight(pod); }
      Status pre_bind(const PodOnNode& pod) override { return to.pre_bind(pod); }
      Status reserve(const PodOnNode& pod) override { return to.reserve(pod); }
      void unreserve(const PodOnNode& pod) noexcept override { to.unreserve(pod); }
      WaitingPlugin& to;
    };
    options.plugins.add("Waiting", [this](const Profile&, const FrameworkHandle& handle) {
      waiting = handle.waiting_pods;
      return std::make_unique<Forward>(plugin);
    });
    for (Profile& profile : options.config.profiles)
      for (const ExtensionPoint point : {ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPreBind})
        profile.plugins[static_cast<std::size_t>(point)].push_back({"Waiting", 0});
  }

  WaitingPlugin plugin;
  WaitingPods* waiting = nullptr;
};

TEST_F(LoopBindingTest, APodThatWaitsAtPermitIsBoundWhenItIsAllowed) {
  add_plugin();
  add_nodes("a cpu=2");
  add_pods("p cpu=1 label:wait=permit");
  add_pods("q cpu=1");
  open();
  settle();
  EXPECT_EQ(bound, Lines{"q on a"});
  EXPECT_EQ(nominated_node_of("p"), "a") << "what takes time is told to the others";
  waiting->allow(pod("p")->object->uid(), "Waiting");
  settle();
  EXPECT_EQ(bound, (Lines{"q on a", "p on a"}));
}

TEST_F(LoopBindingTest, ATimeoutAtPermitGivesTheRoomBack) {
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=permit");
  open();
  settle();
  add_pods("q cpu=1");
  settle();
  EXPECT_EQ(node_of("q"), "");
  advance_s(61);
  EXPECT_EQ(node_of("q"), "a");
  EXPECT_EQ(plugin.unreserved, Lines{"p"});
}

TEST_F(LoopBindingTest, ARejectionAtReserveTakesBackWhatTheBatchBuiltOnIt) {
  add_plugin();
  add_nodes("a cpu=2");
  add_pods("p cpu=1 label:wait=no");
  add_pods("q cpu=2");
  open();
  settle();
  EXPECT_EQ(events.front(), "FailedScheduling p: 0/1 nodes are available: 1 not today.");
  EXPECT_EQ(node_of("q"), "a") << "the room of p is free for it";
}

TEST_F(LoopBindingTest, APodThatReserveLeftPendingComesBackWithoutBackoff) {
  set_gates("SchedulerPopFromBackoffQ=false");
  add_plugin();
  add_nodes("a cpu=4");
  add_pods("p cpu=1 label:wait=later");
  add_pods("q cpu=1 label:wait=again");
  open();
  settle();
  EXPECT_EQ(node_of("p"), "");
  EXPECT_EQ(node_of("q"), "");
  plugin.is_ready = true;
  add_nodes("b cpu=1");
  settle();
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(node_of("q"), "") << "it backs off";
  advance_s(2);
  EXPECT_EQ(node_of("q"), "a");
}

TEST_F(LoopBindingTest, APodThatIsDeletedAtPermitGivesTheRoomBack) {
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=permit");
  open();
  settle();
  add_pods("q cpu=1");
  settle();
  remove_pod("p");
  settle();
  EXPECT_EQ(node_of("q"), "a");
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
}

TEST_F(LoopBindingTest, PodsThatWaitDoNotBlockOthers) {
  add_plugin();
  options.calls_in_flight_max = 4;
  add_nodes("a*100 cpu=1000 pods=1000");
  add_pods("p*5000 cpu=1m label:wait=permit");
  add_pods("r*5000 cpu=1m label:wait=prebind");
  add_pods("q*1000 cpu=1m");
  open();
  settle();
  EXPECT_EQ(bound.size(), 1000U);
  EXPECT_EQ(scheduler->loop().unbound_count(), 10'000U);
  plugin.is_ready = true;
  for (int i = 0; i < 5000; ++i) {
    waiting->allow("default/p" + std::to_string(i), "Waiting");
    waiting->allow(pod("p" + std::to_string(i))->object->uid(), "Waiting");
    waiting->wake(pod("r" + std::to_string(i))->object->uid());
  }
  settle();
  EXPECT_EQ(bound.size(), 11'000U);
}

TEST_F(LoopBindingTest, ABindingThatIsRefusedIsTriedAgainAfterItsBackoff) {
  int refusals = 2;
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding(call) && refusals-- > 0) fault.refusal = {StoreReason::kInternalError, "etcd is away"};
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  EXPECT_EQ(condition_of("p"), "SchedulerError: running Bind plugin \"DefaultBinder\": etcd is away");
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
  advance_s(10);
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(attempts, (Lines{"p scheduled", "p error", "p scheduled", "p error", "p scheduled"}));
}

TEST_F(LoopBindingTest, TheRoomOfAFailedBindingIsFreeForOthers) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding(call) && call.pod->name == "p") fault.refusal = {StoreReason::kInternalError, "no"};
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("p cpu=1 priority=1");
  add_pods("q cpu=1");
  open(client);
  settle();
  EXPECT_EQ(node_of("q"), "a");
}

TEST_F(LoopBindingTest, ALostAnswerOfADoneBindingDoesNoHarm) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    fault.loses_answer = is_binding(call);
    return fault;
  });
  add_nodes("a cpu=2");
  add_pods("p cpu=1");
  open(client);
  settle();
  EXPECT_EQ(node_of("p"), "a") << "the watch says so";
  advance_s(60);
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
  EXPECT_EQ(queue().sizes(), SchedulingQueue::Sizes());
  add_pods("q cpu=1");
  settle();
  EXPECT_EQ(node_of("q"), "a") << "p counts once";
}

TEST_F(LoopBindingTest, ALostCallIsMadeAgain) {
  int losses = 1;
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    fault.is_lost = is_binding(call) && losses-- > 0;
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  EXPECT_EQ(node_of("p"), "");
  advance_s(60);
  EXPECT_EQ(node_of("p"), "a");
}

TEST_F(LoopBindingTest, AnswersThatComeTwiceCountOnce) {
  FaultyClient client(store, [&](const ApiCall&) {
    CallFault fault;
    fault.is_answered_twice = true;
    fault.answer_us = 1'000;
    return fault;
  });
  add_nodes("a cpu=8");
  add_pods("p*4 cpu=1");
  open(client);
  advance_s(1);
  EXPECT_EQ(bound.size(), 4U);
}

TEST_F(LoopBindingTest, APodThatPreBindRejectsIsUnschedulableAndTakesTheErrorBackoff) {
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=refused");
  open();
  scheduler->run(kAttemptsMax);
  EXPECT_EQ(condition_of("p"), "Unschedulable: no disk");
  EXPECT_EQ(queue().sizes().backoff, 1U);
  add_nodes("b cpu=1");
  scheduler->run(kAttemptsMax);
  ASSERT_EQ(attempts, (Lines{"p scheduled", "p unschedulable"})) << "no event or empty queue ends an error backoff";
  advance_s(2);
  EXPECT_EQ(attempts.size(), 4U);
}

TEST_F(LoopBindingTest, TheNominationOfABindingCycleOutlivesItsFailure) {
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=refused");
  open();
  scheduler->run(kAttemptsMax);
  EXPECT_EQ(nominated_node_of("p"), "a");
  EXPECT_EQ(queue().nominator().node_of(*pod("p")->object), "a");
}

TEST_F(LoopBindingTest, TheNominationOutlivesTheFailureAlsoWhereTheSchedulerHasSeenIt) {
  Lines patches;
  FaultyClient client(store, [&](const ApiCall& call) {
    if (const auto* const patch = std::get_if<PodStatusPatch>(&call.request); patch && patch->nominated_node_name)
      patches.push_back("'" + *patch->nominated_node_name + "'");
    return CallFault();
  });
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=permit");
  open(client);
  settle();
  waiting->reject(pod("p")->object->uid(), "Waiting", "no");
  scheduler->run(0);
  EXPECT_EQ(attempts.back(), "p unschedulable");
  EXPECT_EQ(patches, Lines{"'a'"}) << "the attempt's own pod had no nomination to clear";
  EXPECT_EQ(nominated_node_of("p"), "a");
}

TEST_F(LoopBindingTest, APercentSignOfAMessageStaysInTheEvent) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding(call)) fault.refusal = {StoreReason::kInternalError, "the disk is 100% full: %d %s"};
    return fault;
  });
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  EXPECT_EQ(events, Lines{"FailedScheduling p: running Bind plugin \"DefaultBinder\": the disk is 100% full: %d %s"});
}

TEST_F(LoopBindingTest, SlowBindingsDoNotDelayTheNextDecision) {
  FaultyClient client(store, late_bindings);
  add_nodes("a cpu=2");
  add_pods("p*3 cpu=1");
  open(client);
  settle();
  EXPECT_EQ(attempts, (Lines{"p0 scheduled", "p1 scheduled", "p2 unschedulable"}));
  advance_s(6);
  EXPECT_EQ(bound.size(), 2U);
}

TEST_F(LoopBindingTest, APodThatIsDeletedDuringItsBindingGivesTheRoomBack) {
  FaultyClient client(store, late_bindings);
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  add_pods("q cpu=1");
  settle();
  remove_pod("p");
  advance_s(12);
  EXPECT_EQ(node_of("p"), "gone");
  EXPECT_EQ(node_of("q"), "a");
  EXPECT_EQ(scheduler->loop().unbound_count(), 0U);
}

TEST_F(LoopBindingTest, AFailedBindingOfAPodThatIsGoneSaysSo) {
  FaultyClient client(store, late_bindings);
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  remove_pod("p", 0);
  advance_s(6);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events.front().starts_with("FailedScheduling p: running Bind plugin \"DefaultBinder\": "))
      << events.front();
  EXPECT_EQ(attempts, (Lines{"p scheduled", "p error"}));
  EXPECT_EQ(queue().in_flight().pod_count(), 0U);
}

TEST_F(LoopBindingTest, APodThatIsBoundAlthoughItsBindingFailedIsToldThatItFailed) {
  FaultyClient client(store, [&](const ApiCall& call) {
    CallFault fault;
    if (is_binding(call)) fault.loses_answer = true;
    return fault;
  });
  options.call_timeout_us = 5 * kSecondUs;
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  advance_s(6);
  EXPECT_EQ(node_of("p"), "a");
  EXPECT_EQ(condition_of("p"),
            "SchedulerError: running Bind plugin \"DefaultBinder\": the API server did not answer in time");
  EXPECT_EQ(queue().sizes(), SchedulingQueue::Sizes());
}

TEST_F(LoopBindingTest, ARecreatedPodGetsNothingFromTheBindingOfTheOldOne) {
  FaultyClient client(store, late_bindings);
  add_nodes("a cpu=1");
  add_pods("p cpu=1");
  open(client);
  settle();
  remove_pod("p", 0);
  add_pods("p cpu=9");
  advance_s(6);
  EXPECT_EQ(std::count(attempts.begin(), attempts.end(), "p error"), 1);
  for (const std::string& event : events) EXPECT_TRUE(event.starts_with("FailedScheduling p: 0/1 nodes")) << event;
}

TEST_F(LoopBindingTest, Since136AVictimInPreBindIsGivenUpInMemory) {
  options.config = default_scheduler_config(FeatureGates(parse_release("1.36")));
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=prebind");
  open();
  settle();
  ASSERT_EQ(scheduler->loop().unbound_count(), 1U);
  add_pods("high cpu=1 priority=10");
  advance_s(3);
  EXPECT_EQ(bound, Lines{"high on a"});
  EXPECT_EQ(plugin.unreserved.front(), "p");
  EXPECT_FALSE(pod("p")->object->terminating);
  const std::string failure = "FailedScheduling p: running PreBind plugin \"Waiting\": preempted by DefaultPreemption";
  EXPECT_EQ(std::count(events.begin(), events.end(), failure), 1);
  const std::string note =
      "Preempted p: Preempted by pod " + pod("high")->object->uid() + " on node a (in kube-scheduler memory).";
  EXPECT_EQ(std::count(events.begin(), events.end(), note), 1);
}

class VictimAtPermitTest : public LoopBindingTest, public testing::WithParamInterface<const char*> {};

TEST_P(VictimAtPermitTest, IsRejectedAndSince136AnError) {
  const std::string release = GetParam();
  options.config = default_scheduler_config(FeatureGates(parse_release(release)));
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=permit");
  open();
  settle();
  ASSERT_EQ(scheduler->loop().unbound_count(), 1U);
  add_pods("high cpu=1 priority=10");
  settle();
  EXPECT_FALSE(pod("p")->object->terminating);
  EXPECT_EQ(plugin.unreserved.front(), "p");
  const auto failure = std::find_if(events.begin(), events.end(),
                                    [](const std::string& event) { return event.starts_with("FailedScheduling p"); });
  ASSERT_NE(failure, events.end());
  const bool is_old = release == "1.35";
  EXPECT_EQ(*failure, is_old ? "FailedScheduling p: 0/1 nodes are available: 1 preempted."
                             : "FailedScheduling p: waiting on permit for pod: preempted");
  EXPECT_EQ(std::count(attempts.begin(), attempts.end(), is_old ? "p unschedulable" : "p error"), 1);
}

INSTANTIATE_TEST_SUITE_P(Releases, VictimAtPermitTest, testing::Values("1.35", "1.36"),
                         [](const auto& release) { return "Of" + std::string(release.param).substr(2); });

TEST_F(LoopBindingTest, Before136AVictimInPreBindIsDeleted) {
  add_plugin();
  add_nodes("a cpu=1");
  add_pods("p cpu=1 label:wait=prebind");
  open();
  settle();
  add_pods("high cpu=1 priority=10");
  settle();
  EXPECT_TRUE(node_of("p") == "gone" || pod("p")->object->terminating);
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const std::string& event) { return event.find("memory") != std::string::npos; }),
            0);
}

}  // namespace
}  // namespace berth::test
