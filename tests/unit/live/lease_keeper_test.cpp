// SPDX-License-Identifier: Apache-2.0
#include "host/live/lease_keeper.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/scripted_http.h"
#include "tests/unit/live/captured_log.h"

namespace berth {
namespace {

class LeaseKeeperTest : public testing::Test {
 protected:
  LeaseKeeperTest() {
    keeper.start();
    http.advance_us(0);
  }
  static ElectionOptions options() {
    ElectionOptions options;
    options.identity = "me";
    return options;
  }
  static std::string lease(const std::string& holder) {
    return R"({"metadata":{"name":"kube-scheduler","namespace":"kube-system","uid":"l","resourceVersion":"7"},)"
           R"("spec":{"holderIdentity":")" +
           holder + R"(","leaseDurationSeconds":15,"leaseTransitions":0}})";
  }
  /// Answers everything that is open.
  void answer_all(int status, const std::string& body) {
    while (!http.calls.empty()) http.answer(status, body);
  }
  void lead() {
    ASSERT_EQ(http.calls.size(), 1u);
    http.answer(404, R"({"kind":"Status","code":404,"message":"not found"})");
    ASSERT_EQ(http.calls[0].request.method, "POST");
    answer_all(201, lease("me"));
  }

  VirtualClock clock{1'000'000'000};
  ScriptedHttp http{clock};
  CapturedLog captured;
  int changes = 0;
  LeaseKeeper keeper{{http, http, clock, captured.log, [this] { ++changes; }},
                     options(),
                     [] { return std::int64_t{1'700'000'000'000'000}; },
                     1};
};

TEST_F(LeaseKeeperTest, LeadsOnceTheLeaseIsItsOwn) {
  EXPECT_FALSE(keeper.is_leading());
  EXPECT_FALSE(keeper.may_write());
  lead();
  EXPECT_TRUE(keeper.is_leading());
  EXPECT_TRUE(keeper.may_write());
  EXPECT_EQ(changes, 1);
  EXPECT_NE(captured.text().find("successfully acquired lease"), std::string::npos) << captured.text();
}

TEST_F(LeaseKeeperTest, AnEventThatIsRefusedIsNamedInTheLog) {
  http.answer(404, R"({"kind":"Status","code":404,"message":"not found"})");
  http.answer(201, lease("me"));
  ASSERT_FALSE(http.calls.empty());
  EXPECT_NE(http.calls[0].request.path.find("/events"), std::string::npos);
  http.answer(403, R"({"kind":"Status","code":403,"message":"events is forbidden"})");
  EXPECT_NE(captured.text().find("events is forbidden"), std::string::npos) << captured.text();
  EXPECT_TRUE(keeper.is_leading());
}

TEST_F(LeaseKeeperTest, RenewsEveryRetryPeriod) {
  lead();
  for (int i = 0; i < 5; ++i) {
    http.advance_us(2'000'000);
    ASSERT_EQ(http.calls.size(), 1u);
    EXPECT_EQ(http.calls[0].request.method, "PUT");
    answer_all(200, lease("me"));
    EXPECT_TRUE(keeper.is_leading());
  }
  EXPECT_EQ(keeper.health_problem(), "");
}

TEST_F(LeaseKeeperTest, MayNotWriteOnceItCannotRenew) {
  lead();
  for (int i = 0; i < 30 && !keeper.is_lost(); ++i) {
    http.advance_us(1'000'000);
    while (!http.calls.empty()) http.fail(true);
  }
  EXPECT_TRUE(keeper.is_lost());
  EXPECT_FALSE(keeper.is_leading());
  EXPECT_FALSE(keeper.may_write());
  EXPECT_EQ(changes, 2);
}

TEST_F(LeaseKeeperTest, AnotherHolderKeepsItWaiting) {
  for (int i = 0; i < 10; ++i) {
    answer_all(200, lease("other"));
    http.advance_us(1'000'000);
  }
  EXPECT_FALSE(keeper.is_leading());
  EXPECT_FALSE(keeper.is_lost());
}

}  // namespace
}  // namespace berth
