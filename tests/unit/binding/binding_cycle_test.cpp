// SPDX-License-Identifier: Apache-2.0
// From assume to PostBind and back: docs/behaviour/scheduler-core.md 5.1 to 5.4.

#include "host/binding/binding_cycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "host/binding/default_binder.h"
#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

using Point = ExtensionPoint;
using Names = std::vector<std::string>;

constexpr std::int64_t kSecondUs = 1'000'000;

class BindingCycleTest : public testing::Test {
 protected:
  BindingCycleTest() {
    hooks.delete_nomination = [this](const Pod&) { calls.push_back("delete_nomination"); };
    hooks.nominate = [this](const Pod&, std::string_view node) { calls.push_back("nominate " + std::string(node)); };
    hooks.done = [this](const Pod&) { calls.push_back("done"); };
    hooks.activate = [this](const PodsToActivate& pods) { calls.push_back("activate " + pods.begin()->first); };
    scripted.registry().add("DefaultBinder", default_binder_factory(binder));
    scripted.profile().plugins[static_cast<std::size_t>(Point::kBind)].push_back({"DefaultBinder", 0});
  }

  void add(const std::string& name, Script script) {
    scripted.add(name, {Point::kReserve, Point::kPermit, Point::kPreBind, Point::kPostBind}, std::move(script));
  }
  BindingCycle& start() {
    framework.emplace(scripted.build());
    cycle.emplace(BindingCycle::Parts{*framework, cache, waiting, hooks}, pod, "n0", CycleState());
    return *cycle;
  }
  void expect_released(const BindingOutcome& outcome) {
    EXPECT_TRUE(outcome.forgot_pod);
    EXPECT_EQ(cache.pod_count(), 0U);
    EXPECT_EQ(calls.back(), "A.unreserve");
    EXPECT_FALSE(waiting.is_waiting(pod->uid()));
    EXPECT_TRUE(binder.bindings().empty());
    EXPECT_THROW(cycle->proceed(PermitWait::kPoll), std::logic_error);
  }
  static Script failing(std::function<Status(const PodOnNode&)> Script::* member, StatusCode code) {
    Script script;
    script.*member = [code](const PodOnNode&) { return status_of(code, "why"); };
    return script;
  }
  static Script permitting(StatusCode code, std::int64_t timeout_us = 0) {
    Script script;
    script.permit = [=](const PodOnNode&) { return PermitAnswer{status_of(code, "why"), timeout_us}; };
    return script;
  }

  VirtualClock clock;
  WaitingPods waiting{clock};
  ClusterCache cache;
  InMemoryBinder binder;
  BindingHooks hooks;
  Calls calls;
  ScriptedProfile scripted{calls};
  PodPtr pod = plain_pod("p");
  std::optional<Framework> framework;
  std::optional<BindingCycle> cycle;
};

TEST_F(BindingCycleTest, ASuccessfulCycleCallsEveryPointInOrder) {
  Script script;
  script.reserve = [](const PodOnNode& placed) {
    placed.state->write(kPodsToActivate, {{"default/other", nullptr}});
    return Status{};
  };
  add("A", script);
  start();
  EXPECT_EQ(cycle->reserve().result, BindingResult::kReserved);
  EXPECT_TRUE(cache.is_assumed(pod->uid()));
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kBound);
  EXPECT_EQ(outcome.stage, BindingStage::kBound);
  EXPECT_EQ(calls, (Calls{"delete_nomination", "A.reserve", "A.permit", "activate default/other", "A.pre_flight",
                          "nominate n0", "done", "A.pre_bind", "A.post_bind"}));
  EXPECT_EQ(binder.bindings(), (std::vector<InMemoryBinder::Binding>{{"default/p", "default/p", "n0"}}));
  EXPECT_TRUE(cache.is_assumed(pod->uid())) << "assumed until the watch confirms it";
}

TEST_F(BindingCycleTest, APodAlreadyInTheCacheIsAnErrorAndStays) {
  add("A", {});
  cache.assume_pod(pod, "n1");
  const BindingOutcome outcome = start().reserve();
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.message, "pod default/p(default/p) is in the cache, so can't be assumed");
  EXPECT_FALSE(outcome.forgot_pod);
  EXPECT_EQ(cache.pod_count(), 1U);
  EXPECT_TRUE(calls.empty());
}

TEST_F(BindingCycleTest, APodThatNamesAnotherNodeIsAnError) {
  Pod bound;
  bound.name = "p";
  bound.node_name = "n9";
  bound.spec = pod->spec;
  pod = std::make_shared<const Pod>(std::move(bound));
  EXPECT_EQ(start().reserve().message,
            "pod default/p(default/p) names node \"n9\", so it can't be assumed on node \"n0\"");
}

TEST_F(BindingCycleTest, AReserveRejectionIsAFitErrorOverOneNode) {
  add("A", failing(&Script::reserve, StatusCode::kUnschedulable));
  const BindingOutcome outcome = start().reserve();
  EXPECT_EQ(outcome.result, BindingResult::kUnschedulable);
  EXPECT_EQ(outcome.stage, BindingStage::kReserve);
  EXPECT_EQ(outcome.message, "0/1 nodes are available: 1 why.");
  EXPECT_EQ(outcome.rejectors, Names{"A"});
  expect_released(outcome);
}

TEST_F(BindingCycleTest, AFailedReserveUnreservesAlsoPluginsThatReservedNothing) {
  add("A", failing(&Script::reserve, StatusCode::kUnschedulable));
  add("B", {});
  start().reserve();
  EXPECT_EQ(calls, (Calls{"delete_nomination", "A.reserve", "B.unreserve", "A.unreserve"}));
}

TEST_F(BindingCycleTest, AReserveErrorHasNoRejector) {
  add("A", failing(&Script::reserve, StatusCode::kError));
  const BindingOutcome outcome = start().reserve();
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.message, "running Reserve plugin \"A\": why");
  EXPECT_TRUE(outcome.rejectors.empty());
  expect_released(outcome);
}

TEST_F(BindingCycleTest, APermitRejectionUnreserves) {
  add("A", permitting(StatusCode::kUnschedulable));
  const BindingOutcome outcome = start().reserve();
  EXPECT_EQ(outcome.stage, BindingStage::kPermit);
  EXPECT_EQ(outcome.message, "0/1 nodes are available: 1 why.");
  EXPECT_EQ(outcome.rejectors, Names{"A"});
  expect_released(outcome);
}

TEST_F(BindingCycleTest, APermitErrorUnreserves) {
  add("A", permitting(StatusCode::kError));
  const BindingOutcome outcome = start().reserve();
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.message, "running Permit plugin \"A\": why");
  expect_released(outcome);
}

TEST_F(BindingCycleTest, AWaitingPodIsBoundWhenAllowed) {
  add("A", permitting(StatusCode::kWait, 10 * kSecondUs));
  EXPECT_EQ(start().reserve().result, BindingResult::kReserved);
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kWaiting);
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kWaiting);
  waiting.allow(pod->uid(), "A");
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kBound);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "A.pre_flight"), 1);
  EXPECT_FALSE(waiting.is_waiting(pod->uid()));
}

TEST_F(BindingCycleTest, AWaitingPodIsNominatedEvenWithoutPreBindWork) {
  Script script = permitting(StatusCode::kWait, 10 * kSecondUs);
  script.pre_flight = [](const PodOnNode&) { return status_of(StatusCode::kSkip); };
  add("A", script);
  start().reserve();
  cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(calls.back(), "nominate n0");
}

TEST_F(BindingCycleTest, NoNominationWithoutWorkOrWaiting) {
  add("A", failing(&Script::pre_flight, StatusCode::kSkip));
  start().reserve();
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kBound);
  EXPECT_EQ(calls, (Calls{"delete_nomination", "A.reserve", "A.permit", "A.pre_flight", "done", "A.post_bind"}));
}

TEST_F(BindingCycleTest, ATimeoutAtPermitIsAFitErrorOfThatPlugin) {
  add("A", permitting(StatusCode::kWait, 10 * kSecondUs));
  start().reserve();
  clock.advance_to(10 * kSecondUs);
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kUnschedulable);
  EXPECT_EQ(outcome.stage, BindingStage::kPermitWait);
  EXPECT_EQ(outcome.message, "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin A.");
  EXPECT_EQ(outcome.rejectors, Names{"A"});
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "done"), 0) << "its events are still recorded";
  expect_released(outcome);
}

TEST_F(BindingCycleTest, ARejectionWhileWaitingNamesItsPlugin) {
  add("A", permitting(StatusCode::kWait, 10 * kSecondUs));
  start().reserve();
  waiting.reject(pod->uid(), "Preemption", "evicted");
  const BindingOutcome outcome = cycle->proceed(PermitWait::kBlock);
  EXPECT_EQ(outcome.rejectors, Names{"Preemption"});
  EXPECT_EQ(outcome.message, "0/1 nodes are available: 1 evicted.");
}

TEST_F(BindingCycleTest, AFailedPreFlightEndsTheWait) {
  Script script = permitting(StatusCode::kWait, 10 * kSecondUs);
  script.pre_flight = [](const PodOnNode&) { return status_of(StatusCode::kUnschedulable, "why"); };
  add("A", script);
  start().reserve();
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.stage, BindingStage::kPreFlight);
  expect_released(outcome);
}

TEST_F(BindingCycleTest, APreBindRejectionIsUnschedulableWithoutRejector) {
  add("A", failing(&Script::pre_bind, StatusCode::kUnschedulable));
  start().reserve();
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kUnschedulable);
  EXPECT_EQ(outcome.stage, BindingStage::kPreBind);
  EXPECT_EQ(outcome.message, "why");
  EXPECT_TRUE(outcome.rejectors.empty());
  expect_released(outcome);
}

TEST_F(BindingCycleTest, APreBindErrorIsASchedulerError) {
  add("A", failing(&Script::pre_bind, StatusCode::kError));
  start().reserve();
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.message, "running PreBind plugin \"A\": why");
  expect_released(outcome);
}

TEST_F(BindingCycleTest, AFailingBinderIsASchedulerError) {
  CallbackBinder refusing([](const Pod&, std::string_view) { return status_of(StatusCode::kError, "conflict"); });
  scripted.registry().add("Refusing", [&](const Profile&, const FrameworkHandle&) {
    Script script;
    script.bind = [&](const PodOnNode& placed) { return refusing.bind(*placed.pod, placed.node_name); };
    return std::make_unique<ScriptedPlugin>("Refusing", script, calls);
  });
  scripted.profile().plugins[static_cast<std::size_t>(Point::kBind)] = {{"Refusing", 0}};
  add("A", {});
  start().reserve();
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.stage, BindingStage::kBind);
  EXPECT_EQ(outcome.message, "running Bind plugin \"Refusing\": conflict");
  expect_released(outcome);
}

TEST_F(BindingCycleTest, WithoutABindPluginNothingIsBound) {
  scripted.profile().plugins[static_cast<std::size_t>(Point::kBind)].clear();
  add("A", {});
  start().reserve();
  const BindingOutcome outcome = cycle->proceed(PermitWait::kPoll);
  EXPECT_EQ(outcome.result, BindingResult::kError);
  expect_released(outcome);
}

TEST_F(BindingCycleTest, CallsOutOfOrderThrow) {
  add("A", {});
  start();
  EXPECT_THROW(cycle->proceed(PermitWait::kPoll), std::logic_error);
  cycle->reserve();
  EXPECT_THROW(cycle->reserve(), std::logic_error);
  cycle->proceed(PermitWait::kBlock);
  EXPECT_THROW(cycle->proceed(PermitWait::kBlock), std::logic_error);
}

TEST_F(BindingCycleTest, APreBindPluginThatWaitsIsAskedAgainAndThoseBeforeItAreNot) {
  Script first;
  first.pre_bind = [](const PodOnNode&) { return Status{}; };
  add("A", first);
  int asked = 0;
  Script second;
  second.pre_bind = [&](const PodOnNode&) { return ++asked < 3 ? status_of(StatusCode::kWait, "") : Status{}; };
  add("B", second);
  start().reserve();
  for (int i = 0; i < 2; ++i) {
    const BindingOutcome waiting_outcome = cycle->proceed(PermitWait::kPoll);
    EXPECT_EQ(waiting_outcome.result, BindingResult::kWaiting);
    EXPECT_EQ(waiting_outcome.stage, BindingStage::kPreBind);
  }
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kBound);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "A.pre_bind"), 1);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "B.pre_bind"), 3);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "done"), 1);
}

/// A Bind plugin whose answer comes later.
class LateBinder : public BindPlugin {
 public:
  std::string_view name() const override { return "LateBinder"; }
  Status bind(const PodOnNode&) override { return status_of(StatusCode::kWait, ""); }
};

class LateBindingTest : public BindingCycleTest {
 protected:
  LateBindingTest() {
    scripted.registry().add("LateBinder",
                            [](const Profile&, const FrameworkHandle&) { return std::make_unique<LateBinder>(); });
    scripted.profile().plugins[static_cast<std::size_t>(Point::kBind)] = {{"LateBinder", 0}};
    add("A", {});
    start().reserve();
  }
};

TEST_F(LateBindingTest, TheAnswerEndsTheCycle) {
  EXPECT_THROW(cycle->finish({}), std::logic_error) << "nothing is under way yet";
  EXPECT_EQ(cycle->proceed(PermitWait::kPoll).result, BindingResult::kBinding);
  EXPECT_FALSE(cycle->can_proceed());
  EXPECT_THROW(cycle->proceed(PermitWait::kPoll), std::logic_error);
  EXPECT_EQ(cycle->finish({}).result, BindingResult::kBound);
  EXPECT_EQ(calls.back(), "A.post_bind");
}

TEST_F(LateBindingTest, ABadAnswerReleasesThePod) {
  cycle->proceed(PermitWait::kPoll);
  const BindingOutcome outcome = cycle->finish(status_of(StatusCode::kError, "conflict"));
  EXPECT_EQ(outcome.result, BindingResult::kError);
  EXPECT_EQ(outcome.stage, BindingStage::kBind);
  expect_released(outcome);
}

}  // namespace
}  // namespace berth
