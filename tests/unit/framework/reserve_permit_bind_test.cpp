// SPDX-License-Identifier: Apache-2.0
// The points behind the choice of a node: docs/behaviour/scheduler-core.md 3.9 to 3.11.

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "tests/unit/framework/scripted_plugins.h"

namespace berth {
namespace {

using Point = ExtensionPoint;
using PodCall = std::function<Status(const PodOnNode&)>;

PodCall answering(StatusCode code, const std::string& reason = "") {
  return [=](const PodOnNode&) { return status_of(code, reason); };
}

class PlacedPod : public testing::Test {
 protected:
  void add(const std::string& name, Point point, PodCall Script::* member, PodCall call) {
    Script script;
    script.*member = std::move(call);
    scripted.add(name, {point}, std::move(script));
  }
  void add_permit(const std::string& name, PermitAnswer answer) {
    Script script;
    script.permit = [answer = std::move(answer)](const PodOnNode&) { return answer; };
    scripted.add(name, {Point::kPermit}, std::move(script));
  }
  PodOnNode placed() { return {pod.get(), "n0", &state}; }

  Calls calls;
  ScriptedProfile scripted{calls};
  CycleState state;
  PodPtr pod = plain_pod("p");
};

TEST_F(PlacedPod, ReserveStopsAtTheFirstFailureAndKeepsItsCode) {
  add("A", Point::kReserve, &Script::reserve, answering(StatusCode::kSuccess));
  add("B", Point::kReserve, &Script::reserve, answering(StatusCode::kUnschedulable, "taken"));
  add("C", Point::kReserve, &Script::reserve, answering(StatusCode::kSuccess));
  EXPECT_EQ(scripted.build().run_reserve(placed()), (Status{StatusCode::kUnschedulable, "B", {"taken"}}));
  EXPECT_EQ(calls, (Calls{"A.reserve", "B.reserve"}));
}

TEST_F(PlacedPod, AFailedReserveIsAnError) {
  add("A", Point::kReserve, &Script::reserve, answering(StatusCode::kSkip, "odd"));
  EXPECT_EQ(scripted.build().run_reserve(placed()),
            (Status{StatusCode::kError, "A", {"running Reserve plugin \"A\": odd"}}));
}

TEST_F(PlacedPod, UnreserveCallsEveryPluginInReverseOrder) {
  for (const char* name : {"A", "B", "C"}) scripted.add(name, {Point::kReserve});
  scripted.build().run_unreserve(placed());
  EXPECT_EQ(calls, (Calls{"C.unreserve", "B.unreserve", "A.unreserve"}));
}

TEST_F(PlacedPod, PermitSucceedsWhenEveryPluginSucceeds) {
  add_permit("A", {});
  add_permit("B", {});
  EXPECT_TRUE(scripted.build().run_permit(placed()).status.ok());
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(PlacedPod, PermitWaitIsCappedAtFifteenMinutes) {
  add_permit("A", {status_of(StatusCode::kWait), 10});
  add_permit("B", {status_of(StatusCode::kWait), INT64_MAX});
  add_permit("C", {});
  const PermitOutcome outcome = scripted.build().run_permit(placed());
  EXPECT_EQ(outcome.status.code, StatusCode::kWait);
  ASSERT_EQ(outcome.waits.size(), 2U);
  EXPECT_EQ(outcome.waits[0].plugin, "A");
  EXPECT_EQ(outcome.waits[0].timeout_us, 10);
  EXPECT_EQ(outcome.waits[1].timeout_us, std::int64_t{900'000'000});
  EXPECT_EQ(calls.size(), 3U);
}

TEST_F(PlacedPod, ARejectionStopsPermitEvenAfterAWait) {
  add_permit("A", {status_of(StatusCode::kWait), 10});
  add_permit("B", {status_of(StatusCode::kUnschedulableAndUnresolvable, "no"), 0});
  add_permit("C", {});
  const PermitOutcome outcome = scripted.build().run_permit(placed());
  EXPECT_EQ(outcome.status, (Status{StatusCode::kUnschedulableAndUnresolvable, "B", {"no"}}));
  EXPECT_TRUE(outcome.waits.empty());
  EXPECT_EQ(calls.size(), 2U);
}

TEST_F(PlacedPod, AnyOtherPermitCodeIsAnError) {
  add_permit("A", {status_of(StatusCode::kSkip, "odd"), 0});
  EXPECT_EQ(scripted.build().run_permit(placed()).status,
            (Status{StatusCode::kError, "A", {"running Permit plugin \"A\": odd"}}));
}

TEST_F(PlacedPod, PreFlightSucceedsWhenAnyPluginHasWork) {
  add("A", Point::kPreBind, &Script::pre_flight, answering(StatusCode::kSkip));
  add("B", Point::kPreBind, &Script::pre_flight, answering(StatusCode::kSuccess));
  const Framework framework = scripted.build();
  EXPECT_TRUE(framework.run_pre_bind_pre_flight(placed()).ok());
  EXPECT_TRUE(framework.run_pre_bind(placed()).ok());
  EXPECT_EQ(calls, (Calls{"A.pre_flight", "B.pre_flight", "B.pre_bind"})) << "A has nothing to do";
}

TEST_F(PlacedPod, PreFlightSkipsWhenAllSkipOrNoneIsEnabled) {
  EXPECT_EQ(scripted.build().run_pre_bind_pre_flight(placed()).code, StatusCode::kSkip);
  add("A", Point::kPreBind, &Script::pre_flight, answering(StatusCode::kSkip));
  EXPECT_EQ(scripted.build().run_pre_bind_pre_flight(placed()).code, StatusCode::kSkip);
}

TEST_F(PlacedPod, AnyOtherPreFlightCodeIsAnError) {
  add("A", Point::kPreBind, &Script::pre_flight, answering(StatusCode::kUnschedulable, "no"));
  EXPECT_EQ(scripted.build().run_pre_bind_pre_flight(placed()).code, StatusCode::kError);
}

TEST_F(PlacedPod, PreBindKeepsARejectionAndWrapsOtherErrors) {
  add("A", Point::kPreBind, &Script::pre_bind, answering(StatusCode::kPending, "soon"));
  add("B", Point::kPreBind, &Script::pre_bind, answering(StatusCode::kSuccess));
  EXPECT_EQ(scripted.build().run_pre_bind(placed()), (Status{StatusCode::kPending, "A", {"soon"}}));
  EXPECT_EQ(calls, Calls{"A.pre_bind"});

  ScriptedProfile own(calls);
  Script script;
  script.pre_bind = [](const PodOnNode&) -> Status { throw std::runtime_error("lost"); };
  own.add("A", {Point::kPreBind}, script);
  EXPECT_EQ(own.build().run_pre_bind(placed()),
            (Status{StatusCode::kError, "A", {"running PreBind plugin \"A\": lost"}}));
}

TEST_F(PlacedPod, PreBindPluginsThatAllowItRunBesideEachOtherFrom136On) {
  std::map<std::string, StatusCode> answers = {
      {"A", StatusCode::kWait}, {"B", StatusCode::kSuccess}, {"C", StatusCode::kWait}, {"D", StatusCode::kSuccess}};
  for (const std::string name : {"A", "B", "C", "D"}) {
    Script script;
    script.pre_bind = [&answers, name](const PodOnNode&) { return status_of(answers[name], "x"); };
    script.allows_parallel = name != "D";
    scripted.add(name, {Point::kPreBind}, script);
  }
  Framework one_by_one = scripted.build();
  EXPECT_EQ(one_by_one.run_pre_bind(placed()).plugin, "A");
  EXPECT_EQ(calls, Calls{"A.pre_bind"});
  calls.clear();
  Framework grouped = scripted.build();
  grouped.set_parallel_pre_bind(true);
  EXPECT_EQ(grouped.run_pre_bind(placed()).code, StatusCode::kWait);
  EXPECT_EQ(calls, (Calls{"A.pre_bind", "B.pre_bind", "C.pre_bind"})) << "D comes after them";
  calls.clear();
  answers["A"] = StatusCode::kSuccess;
  EXPECT_EQ(grouped.run_pre_bind(placed()).plugin, "C");
  answers["C"] = StatusCode::kUnschedulable;
  EXPECT_EQ(grouped.run_pre_bind(placed()).plugin, "C");
  answers["C"] = StatusCode::kSuccess;
  EXPECT_TRUE(grouped.run_pre_bind(placed()).ok());
  EXPECT_EQ(calls, (Calls{"A.pre_bind", "C.pre_bind", "C.pre_bind", "C.pre_bind", "D.pre_bind"}));
}

TEST_F(PlacedPod, TheFirstBindPluginThatDoesNotSkipDecides) {
  add("A", Point::kBind, &Script::bind, answering(StatusCode::kSkip));
  add("B", Point::kBind, &Script::bind, answering(StatusCode::kSuccess));
  add("C", Point::kBind, &Script::bind, answering(StatusCode::kError));
  EXPECT_TRUE(scripted.build().run_bind(placed()).ok());
  EXPECT_EQ(calls, (Calls{"A.bind", "B.bind"}));
}

TEST_F(PlacedPod, AFailingBindPluginIsFinal) {
  add("A", Point::kBind, &Script::bind, answering(StatusCode::kError, "conflict"));
  add("B", Point::kBind, &Script::bind, answering(StatusCode::kSuccess));
  EXPECT_EQ(scripted.build().run_bind(placed()),
            (Status{StatusCode::kError, "A", {"running Bind plugin \"A\": conflict"}}));
  EXPECT_EQ(calls, Calls{"A.bind"});
}

TEST_F(PlacedPod, BindSkipsWhenEveryPluginSkips) {
  add("A", Point::kBind, &Script::bind, answering(StatusCode::kSkip));
  EXPECT_EQ(scripted.build().run_bind(placed()).code, StatusCode::kSkip);
}

TEST_F(PlacedPod, PostBindRunsInOrder) {
  scripted.add("A", {Point::kPostBind}).add("B", {Point::kPostBind});
  scripted.build().run_post_bind(placed());
  EXPECT_EQ(calls, (Calls{"A.post_bind", "B.post_bind"}));
}

}  // namespace
}  // namespace berth
