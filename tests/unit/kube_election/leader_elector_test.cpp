// SPDX-License-Identifier: Apache-2.0
#include "host/kube/election/leader_elector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/unit/kube_election/lease_server.h"

namespace berth {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kWallStart = 1'767'225'600 * kSecond;  // 2026-01-01T00:00:00Z
using State = LeaderElector::State;

class LeaderElectorTest : public testing::Test {
 protected:
  LeaderElector make(const std::string& identity) {
    return LeaderElector({.settings = {}, .identity = identity}, clock, [this] { return wall_us; }, 1);
  }
  /// Answers all that can be sent now.
  void answer_all(LeaderElector& elector) {
    while (auto next = elector.next_request()) {
      methods.push_back(next->request.method);
      last = next->request;
      elector.on_response(next->id, server.answer(next->request));
    }
  }
  /// Lets time pass in steps of 100 ms and answers.
  void run(LeaderElector& elector, std::int64_t duration_us) {
    for (std::int64_t passed = 0; passed < duration_us; passed += kSecond / 10) {
      answer_all(elector);
      pass(kSecond / 10);
    }
    answer_all(elector);
  }
  void pass(std::int64_t duration_us) {
    clock.advance_by(duration_us);
    wall_us += duration_us;
  }
  /// Lets every request fail without an answer until `duration_us` has passed.
  void run_without_server(LeaderElector& elector, std::int64_t duration_us) {
    for (std::int64_t passed = 0; passed < duration_us; passed += kSecond / 10) {
      while (auto next = elector.next_request()) elector.on_response(next->id, {.problem = "connection refused"});
      pass(kSecond / 10);
    }
  }
  bool has_message(LeaderElector& elector, const std::string& part) {
    const std::vector<std::string> messages = elector.take_messages();
    return std::any_of(messages.begin(), messages.end(),
                       [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }

  LeaseServer server;
  VirtualClock clock{50 * kSecond};
  std::int64_t wall_us = kWallStart;
  std::vector<std::string> methods;
  HttpRequest last;
};

TEST_F(LeaderElectorTest, CreatesALeaseThatIsMissing) {
  LeaderElector elector = make("a");
  EXPECT_FALSE(elector.may_write());
  EXPECT_EQ(elector.master_status(), 0);
  const auto get = elector.next_request();
  ASSERT_TRUE(get);
  EXPECT_EQ(get->request.timeout_us, 5 * kSecond);
  EXPECT_FALSE(elector.next_request());
  elector.on_response(get->id, server.answer(get->request));
  const auto create = elector.next_request();
  ASSERT_TRUE(create);
  EXPECT_EQ(create->request.body,
            R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"kube-scheduler",)"
            R"("namespace":"kube-system"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,)"
            R"("acquireTime":"2026-01-01T00:00:00.000000Z","renewTime":"2026-01-01T00:00:00.000000Z",)"
            R"("leaseTransitions":0}})");
  elector.on_response(create->id, server.answer(create->request));
  EXPECT_EQ(elector.state(), State::kLeading);
  EXPECT_EQ(elector.master_status(), 1);
  EXPECT_TRUE(elector.may_write());
  EXPECT_TRUE(has_message(elector, "new leader elected: a"));
}

TEST_F(LeaderElectorTest, RecordsTheEventsOfLeaderElection) {
  LeaderElector elector = make("host_1");
  answer_all(elector);
  std::vector<HttpRequest> events = elector.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].path, "/api/v1/namespaces/kube-system/events");
  const nlohmann::json event = nlohmann::json::parse(events[0].body);
  EXPECT_EQ(event["message"], "host_1 became leader");
  EXPECT_EQ(event["reason"], "LeaderElection");
  EXPECT_EQ(event["type"], "Normal");
  EXPECT_EQ(event["metadata"]["name"], "kube-scheduler.18867251edfa0000");
  EXPECT_EQ(event["source"], (nlohmann::json{{"component", "default-scheduler"}}));
  EXPECT_EQ(event["firstTimestamp"], "2026-01-01T00:00:00Z");
  EXPECT_EQ(event["count"], 1);
  EXPECT_EQ(event["involvedObject"]["kind"], "Lease");
  EXPECT_EQ(event["involvedObject"]["apiVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(event["involvedObject"]["uid"], "lease-uid");
  elector.stop();
  answer_all(elector);
  events = elector.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(nlohmann::json::parse(events[0].body)["message"], "host_1 stopped leading");
}

TEST_F(LeaderElectorTest, WaitsForALeaseOfAnotherByItsSecondsOnTheOwnClock) {
  server.put("b", 7, 3);
  LeaderElector elector = make("a");
  run(elector, 7 * kSecond);  // the lease's renewTime is long ago, which does not matter
  EXPECT_EQ(elector.state(), State::kStandby);
  EXPECT_EQ(elector.leader(), "b");
  EXPECT_TRUE(has_message(elector, "new leader elected: b"));
  run(elector, 4'500'000);  // retried within 2.2 times retryPeriod
  EXPECT_EQ(elector.state(), State::kLeading);
  EXPECT_EQ(server.holder(), "a");
  EXPECT_EQ(server.lease()["spec"]["leaseTransitions"], 4);
  EXPECT_EQ(server.lease()["metadata"]["uid"], "lease-uid");
}

TEST_F(LeaderElectorTest, ALeaseThatIsRenewedIsNeverTaken) {
  server.put("b", 7, 3);
  LeaderElector elector = make("a");
  for (int i = 0; i < 20; ++i) {
    run(elector, 3 * kSecond);
    server.edit([&](nlohmann::json& lease) { lease["spec"]["renewTime"] = "renewal " + std::to_string(i); });
  }
  EXPECT_EQ(elector.state(), State::kStandby);
  EXPECT_EQ(std::count(methods.begin(), methods.end(), "PUT"), 0);
}

TEST_F(LeaderElectorTest, TakesAReleasedLeaseAtOnce) {
  server.put("", 1, 3);
  LeaderElector elector = make("a");
  answer_all(elector);
  EXPECT_EQ(elector.state(), State::kLeading);
  EXPECT_EQ(server.lease()["spec"]["leaseTransitions"], 4);
  EXPECT_EQ(server.lease()["spec"]["acquireTime"], "2026-01-01T00:00:00.000000Z");
}

TEST_F(LeaderElectorTest, RetriesOfAStandbyAreJittered) {
  server.put("b", 600, 0);
  LeaderElector elector = make("a");
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  std::int64_t longest = 0;
  for (int i = 0; i < 100; ++i) {
    answer_all(elector);
    const std::int64_t wait_us = elector.next_wake_us() - clock.now_us();
    shortest = std::min(shortest, wait_us);
    longest = std::max(longest, wait_us);
    pass(wait_us);
  }
  EXPECT_GE(shortest, 2 * kSecond);
  EXPECT_LT(shortest, 2'200'000);
  EXPECT_LE(longest, 4'400'000);
  EXPECT_GT(longest, 4'200'000);
}

TEST_F(LeaderElectorTest, RenewsWithoutReading) {
  LeaderElector elector = make("a");
  answer_all(elector);
  methods.clear();
  run(elector, 20 * kSecond);
  EXPECT_EQ(methods, std::vector<std::string>(10, "PUT"));
  EXPECT_EQ(server.lease()["spec"]["renewTime"], "2026-01-01T00:00:20.000000Z");
  EXPECT_EQ(server.lease()["spec"]["acquireTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(server.lease()["spec"]["leaseTransitions"], 0);
  EXPECT_EQ(elector.slow_path_count(), 0);
}

TEST_F(LeaderElectorTest, ReadsAgainAfterAConflict) {
  LeaderElector elector = make("a");
  answer_all(elector);
  server.edit([](nlohmann::json& lease) { lease["metadata"]["labels"]["team"] = "x"; });
  methods.clear();
  run(elector, 2 * kSecond);
  EXPECT_EQ(methods, (std::vector<std::string>{"PUT", "GET", "PUT"}));
  EXPECT_EQ(elector.state(), State::kLeading);
  EXPECT_EQ(elector.slow_path_count(), 1);
  EXPECT_EQ(server.lease()["metadata"]["labels"]["team"], "x");
  EXPECT_EQ(server.lease()["spec"]["leaseTransitions"], 0);
}

TEST_F(LeaderElectorTest, AcquisitionWhoseAnswerWasLostIsFoundAgain) {
  server.put("", 1, 0);
  LeaderElector elector = make("a");
  const auto get = elector.next_request();
  elector.on_response(get->id, server.answer(get->request));
  const auto put = elector.next_request();
  server.answer(put->request);
  elector.on_response(put->id, {.problem = "connection reset"});
  EXPECT_FALSE(elector.may_write());
  run(elector, 5 * kSecond);
  EXPECT_EQ(elector.state(), State::kLeading);
  EXPECT_EQ(server.lease()["spec"]["leaseTransitions"], 1);
}

TEST_F(LeaderElectorTest, StopsWritingAtRenewDeadlineAndIsLostAtTheEndOfTheRound) {
  LeaderElector elector = make("a");
  run(elector, kSecond);
  // Renewed last at 0 s; the next round begins 2 s later and lasts 10 s.
  run_without_server(elector, 8'900'000);
  EXPECT_TRUE(elector.may_write());
  run_without_server(elector, 100'000);
  EXPECT_FALSE(elector.may_write());
  EXPECT_EQ(elector.state(), State::kLeading);
  run_without_server(elector, 2'100'000);
  EXPECT_EQ(elector.state(), State::kLost);
  EXPECT_EQ(elector.master_status(), 0);
  EXPECT_TRUE(has_message(elector, "not renewed within renewDeadline"));
  EXPECT_TRUE(elector.is_done());
}

TEST_F(LeaderElectorTest, ARenewalWithinTheRoundSavesTheLeader) {
  LeaderElector elector = make("a");
  run(elector, kSecond);
  run_without_server(elector, 9 * kSecond);
  EXPECT_FALSE(elector.may_write());
  run(elector, kSecond);
  EXPECT_TRUE(elector.may_write());
  EXPECT_EQ(elector.state(), State::kLeading);
}

TEST_F(LeaderElectorTest, AnAnswerAfterTheLossChangesNothing) {
  LeaderElector elector = make("a");
  run(elector, 100'000);
  pass(2 * kSecond);
  const auto slow = elector.next_request();
  ASSERT_TRUE(slow);
  EXPECT_EQ(elector.next_wake_us(), clock.now_us() + 10 * kSecond - 100'000);
  pass(10 * kSecond);
  const auto release = elector.next_request();
  EXPECT_EQ(elector.state(), State::kLost);
  ASSERT_TRUE(release);
  elector.on_response(slow->id, server.answer(slow->request));
  EXPECT_EQ(elector.state(), State::kLost);
  EXPECT_FALSE(elector.may_write());
  elector.on_response(release->id, server.answer(release->request));
  answer_all(elector);
  EXPECT_EQ(server.holder(), "");
  EXPECT_TRUE(elector.is_done());
}

TEST_F(LeaderElectorTest, AnotherHolderIsALossAtOnceAndKeepsItsLease) {
  LeaderElector elector = make("a");
  answer_all(elector);
  server.edit([](nlohmann::json& lease) { lease["spec"]["holderIdentity"] = "b"; });
  run(elector, 2 * kSecond);
  EXPECT_EQ(elector.state(), State::kLost);
  EXPECT_TRUE(elector.is_done());
  EXPECT_EQ(server.holder(), "b");
}

TEST_F(LeaderElectorTest, ReleasesTheLeaseWhenStopped) {
  server.put("", 1, 5);
  LeaderElector elector = make("a");
  run(elector, 3 * kSecond);
  elector.stop();
  EXPECT_FALSE(elector.may_write());
  EXPECT_EQ(elector.state(), State::kStopped);
  EXPECT_FALSE(elector.is_done());
  answer_all(elector);
  EXPECT_TRUE(elector.is_done());
  const nlohmann::json& spec = server.lease()["spec"];
  EXPECT_EQ(spec["holderIdentity"], "");
  EXPECT_EQ(spec["leaseDurationSeconds"], 1);
  EXPECT_EQ(spec["leaseTransitions"], 6);
  EXPECT_EQ(elector.next_wake_us(), std::numeric_limits<std::int64_t>::max());
}

TEST_F(LeaderElectorTest, AStandbyStopsAtOnce) {
  server.put("b", 15, 0);
  LeaderElector elector = make("a");
  answer_all(elector);
  elector.stop();
  EXPECT_TRUE(elector.is_done());
  EXPECT_FALSE(elector.next_request());
  EXPECT_TRUE(elector.take_events().empty());
}

TEST_F(LeaderElectorTest, AnAcquisitionUnderWayWhenStoppedIsReleased) {
  server.put("", 1, 0);
  LeaderElector elector = make("a");
  const auto get = elector.next_request();
  elector.on_response(get->id, server.answer(get->request));
  const auto put = elector.next_request();
  elector.stop();
  EXPECT_FALSE(elector.is_done());
  elector.on_response(put->id, server.answer(put->request));
  EXPECT_EQ(server.holder(), "a");
  EXPECT_EQ(elector.state(), State::kStopped);
  answer_all(elector);
  EXPECT_EQ(server.holder(), "");
  EXPECT_TRUE(elector.is_done());
}

TEST_F(LeaderElectorTest, AReleaseThatGetsNoAnswerEnds) {
  LeaderElector elector = make("a");
  answer_all(elector);
  elector.stop();
  ASSERT_TRUE(elector.next_request());
  pass(10 * kSecond);
  EXPECT_EQ(elector.next_wake_us(), clock.now_us());
  EXPECT_FALSE(elector.next_request());
  EXPECT_TRUE(elector.is_done());
}

TEST_F(LeaderElectorTest, JumpsOfTheTimeOfDayChangeNothing) {
  LeaderElector elector = make("a");
  run(elector, 4 * kSecond);
  for (const std::int64_t jump : {3600 * kSecond, -7200 * kSecond}) {
    wall_us += jump;
    run(elector, 4 * kSecond);
    EXPECT_TRUE(elector.may_write());
    EXPECT_EQ(elector.state(), State::kLeading);
  }
  EXPECT_EQ(server.lease()["spec"]["renewTime"], "2025-12-31T23:00:12.000000Z");
  LeaderElector standby = make("b");
  for (const std::int64_t jump : {3600 * kSecond, -7200 * kSecond}) {
    wall_us += jump;
    for (int i = 0; i < 20; ++i) {
      run(elector, kSecond);
      answer_all(standby);
    }
    EXPECT_EQ(standby.state(), State::kStandby);
  }
}

TEST_F(LeaderElectorTest, AnswersThatAreNoLeaseAreFailures) {
  for (const std::string& body : std::vector<std::string>{"", "{", "[]", "{}", "{\"metadata\": 3}",
                                                          "{\"metadata\": {\"resourceVersion\": \"1\"}, \"spec\": []}",
                                                          "{\"kind\": \"Status\", \"metadata\": {}}"}) {
    LeaderElector elector = make("a");
    const auto get = elector.next_request();
    elector.on_response(get->id, {.status = 200, .body = body});
    EXPECT_EQ(elector.state(), State::kStandby) << body;
    EXPECT_FALSE(elector.next_request()) << body;
    EXPECT_TRUE(has_message(elector, "the answer is no Lease"));
  }
}

TEST_F(LeaderElectorTest, IsUnhealthyOnlyAsALeaderThatDoesNotRenew) {
  LeaderElector elector = make("a");
  pass(100 * kSecond);
  EXPECT_EQ(elector.health_problem(), "");
  answer_all(elector);
  pass(35 * kSecond);
  EXPECT_EQ(elector.health_problem(), "");
  pass(1);
  EXPECT_EQ(elector.health_problem(), "failed election to renew leadership on lease kube-scheduler");
}

TEST_F(LeaderElectorTest, WritesStopBeforeTheSecondsThatTheLeaseSays) {
  ElectionOptions options = {.settings = {}, .identity = "a"};
  options.settings.lease_duration_us = 15'900'000;
  options.settings.renew_deadline_us = 15'800'000;
  LeaderElector elector(options, clock, [this] { return wall_us; }, 1);
  answer_all(elector);
  pass(15 * kSecond - 1);
  EXPECT_TRUE(elector.may_write());
  pass(1);
  EXPECT_FALSE(elector.may_write());
}

TEST(ElectionIdentity, IsTheHostAndARandomUuid) {
  const std::string one = make_election_identity();
  const std::string other = make_election_identity();
  EXPECT_NE(one, other);
  const std::string uuid = one.substr(one.rfind('_') + 1);
  ASSERT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
}

}  // namespace
}  // namespace berth
