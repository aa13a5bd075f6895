// SPDX-License-Identifier: Apache-2.0
#include "host/live/explain_route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/live/live_scheduler_fixture.h"

namespace berth {
namespace {

class ExplainRouteTest : public LiveSchedulerTest {
 protected:
  ServedAnswer ask(std::multimap<std::string, std::string> query) {
    if (!route) route.emplace(explain_route(*scheduler));
    ServedRequest request;
    request.method = "GET";
    request.path = "/explain";
    request.query = std::move(query);
    return route->handler(request);
  }
  void open_with_a_refused_pod() {
    open();
    ASSERT_TRUE(has_request("POST /api/v1/namespaces/a/pods/first/binding"));  // the watches are open
    http->send("/api/v1/pods", watch_line("ADDED", pod("second", 4)));
    http->send("/api/v1/pods", watch_line("ADDED", pod("third", 5)));
    ASSERT_TRUE(has_request("PATCH /api/v1/namespaces/a/pods/third/status"));
  }
  std::optional<Route> route;
};

TEST_F(ExplainRouteTest, ARefusedPodHasTheReasonsAndCounts) {
  open_with_a_refused_pod();
  const ServedAnswer answer = ask({{"pod", "a/third"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.content_type, "application/json");
  const nlohmann::json record = nlohmann::json::parse(answer.body);
  EXPECT_EQ(record.at("state"), "Pending");
  EXPECT_EQ(record.at("nodes").at(0).at("reasons").at(0), "Insufficient cpu");
  EXPECT_EQ(record.at("verdicts").at(0).at("plugin"), "NodeResourcesFit");
  EXPECT_EQ(record.at("verdicts").at(0).at("nodes"), 1);
  EXPECT_EQ(record.at("nodesLeftOut"), 0);
  const nlohmann::json counts = nlohmann::json::parse(ask({{"pod", "a/third"}, {"nodes", "0"}}).body);
  EXPECT_TRUE(counts.at("nodes").empty());
  EXPECT_EQ(counts.at("nodesLeftOut"), 1);
  const ServedAnswer text = ask({{"pod", "a/third"}, {"format", "text"}});
  EXPECT_NE(text.body.find("NodeResourcesFit: Insufficient cpu"), std::string::npos) << text.body;
}

TEST_F(ExplainRouteTest, ABoundPodHasScores) {
  open_with_a_refused_pod();
  const ServedAnswer answer = ask({{"pod", "a/first"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const nlohmann::json record = nlohmann::json::parse(answer.body);
  EXPECT_EQ(record.at("state"), "Running");
  EXPECT_EQ(record.at("node"), "n");
  EXPECT_FALSE(record.at("nodes").at(0).at("scores").empty());
}

TEST_F(ExplainRouteTest, WhatCannotBeAnsweredIsRefusedByItsReason) {
  open_with_a_refused_pod();
  EXPECT_EQ(ask({{"pod", "a/nobody"}}).status, 404);
  using Query = std::multimap<std::string, std::string>;
  for (const Query& query :
       {Query{}, Query{{"pod", "third"}}, Query{{"pod", "a/"}}, Query{{"pod", "a/b/c"}},
        Query{{"pod", "a/third"}, {"pod", "a/first"}}, Query{{"pod", "a/third"}, {"nodes", "-1"}},
        Query{{"pod", "a/third"}, {"nodes", "100001"}}, Query{{"pod", "a/third"}, {"format", "yaml"}},
        Query{{"pod", "a/third"}, {"format", "text"}, {"nodes", "1"}}, Query{{"pod", "a/third"}, {"x", "y"}}})
    EXPECT_EQ(ask(query).status, 400);
}

TEST_F(ExplainRouteTest, OnePodIsExplainedAtATime) {
  open_with_a_refused_pod();
  std::promise<void> may_go_on;
  std::promise<void> is_held;
  std::thread holder([&] {
    scheduler->read([&](const SchedulingLoop&) {
      is_held.set_value();
      may_go_on.get_future().wait();
    });
  });
  is_held.get_future().wait();
  ask({});  // makes the route
  const auto ask_aside = [this] {
    return std::async(std::launch::async, [this] { return ask({{"pod", "a/third"}}); });
  };
  std::vector<std::future<ServedAnswer>> asked;
  asked.push_back(ask_aside());
  asked.push_back(ask_aside());
  const auto is_ready = [](std::future<ServedAnswer>& one) {
    return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  EXPECT_TRUE(eventually([&] { return is_ready(asked[0]) || is_ready(asked[1]); }));
  may_go_on.set_value();
  std::vector<int> statuses = {asked[0].get().status, asked[1].get().status};
  std::sort(statuses.begin(), statuses.end());
  EXPECT_EQ(statuses, (std::vector<int>{200, 429}));
  holder.join();
}

TEST_F(ExplainRouteTest, BeforeTheListsAreThereAndAfterTheEndThereIsNoAnswer) {
  open_with_a_refused_pod();
  end();
  EXPECT_EQ(ask({{"pod", "a/third"}}).status, 503);
}

}  // namespace
}  // namespace berth
