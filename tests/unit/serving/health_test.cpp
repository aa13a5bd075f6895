// SPDX-License-Identifier: Apache-2.0
#include "host/serving/health.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace berth::test {
namespace {

/// The checks of a kube-scheduler v1.35.4 without an API server; the answers below are what it gave.
class HealthTest : public testing::Test {
 protected:
  HealthTest() {
    const auto well = [] { return std::string(); };
    routes_ = health_routes(
        "/readyz",
        {{"leaderElection", well}, {"shutdown", well}, {"sched-handler-sync", [this] { return sync_problem_; }}},
        results_, [this](const std::string& text) { logged_ += text + "\n"; });
  }

  ServedAnswer ask(const std::string& path, std::multimap<std::string, std::string> query = {}) {
    for (const Route& route : routes_)
      if (route.path == path) return route.handler({"GET", path, std::move(query), "", {}});
    throw std::out_of_range(path);
  }

  std::string sync_problem_ = "handlers are not fully synchronized";
  HealthResults results_;
  std::string logged_;
  std::vector<Route> routes_;
};

TEST_F(HealthTest, AFailureIsToldInFullWithoutItsReason) {
  for (const auto& query : {std::multimap<std::string, std::string>{}, {{"verbose", ""}}}) {
    const ServedAnswer answer = ask("/readyz", query);
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.body,
              "[+]leaderElection ok\n[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\n"
              "readyz check failed\n");
  }
  EXPECT_NE(logged_.find("handlers are not fully synchronized"), std::string::npos);
}

TEST_F(HealthTest, ChecksCanBeExcludedAndUnknownOnesAreWarnedOf) {
  const ServedAnswer answer =
      ask("/readyz", {{"verbose", ""}, {"exclude", "foo"}, {"exclude", "sched-handler-sync"}, {"exclude", "bar"}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body,
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync excluded: ok\n"
            "warn: some health checks cannot be excluded: no matches for \"bar\",\"foo\"\nreadyz check passed\n");
}

TEST_F(HealthTest, WellIsOkAndVerboseOnRequest) {
  sync_problem_.clear();
  EXPECT_EQ(ask("/readyz").body, "ok");
  EXPECT_EQ(ask("/readyz", {{"verbose", "1"}}).body,
            "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n");
}

TEST_F(HealthTest, EachCheckHasItsPathWithTheReason) {
  EXPECT_EQ(ask("/readyz/shutdown").body, "ok");
  EXPECT_EQ(ask("/readyz/sched-handler-sync").status, 500);
  EXPECT_EQ(ask("/readyz/sched-handler-sync").body, "internal server error: handlers are not fully synchronized\n");
}

TEST_F(HealthTest, ResultsAreCountedAsUpstreamCountsThem) {
  ask("/readyz");
  ask("/readyz", {{"exclude", "sched-handler-sync"}});
  ask("/readyz/shutdown");  // not counted
  const auto all = results_.all();
  EXPECT_EQ(all.at({"shutdown", "readyz"}).successes, 2u);
  EXPECT_EQ(all.at({"sched-handler-sync", "readyz"}).errors, 1u);
  EXPECT_FALSE(all.at({"sched-handler-sync", "readyz"}).was_well);
  EXPECT_EQ(all.size(), 3u);
}

TEST_F(HealthTest, WithoutChecksThereIsAPing) {
  routes_ = health_routes("/livez", {}, results_, [](const std::string&) {});
  EXPECT_EQ(ask("/livez", {{"verbose", ""}}).body, "[+]ping ok\nlivez check passed\n");
  EXPECT_EQ(ask("/livez/ping").body, "ok");
}

TEST_F(HealthTest, ACheckThatThrowsHasFailed) {
  routes_ = health_routes("/healthz", {{"x", []() -> std::string { throw std::runtime_error("broken"); }}}, results_,
                          [](const std::string&) {});
  EXPECT_EQ(ask("/healthz").body, "[-]x failed: reason withheld\nhealthz check failed\n");
}

}  // namespace
}  // namespace berth::test
