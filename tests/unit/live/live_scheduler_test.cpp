// SPDX-License-Identifier: Apache-2.0
// A scheduler with its threads, and a function in place of the API server.
#include "host/live/live_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/live/live_process.h"
#include "tests/unit/live/live_scheduler_fixture.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST_F(LiveSchedulerTest, BindsWhatTheWatchesTell) {
  open();
  EXPECT_TRUE(has_request("POST /api/v1/namespaces/a/pods/first/binding"));
  http->send("/api/v1/pods", watch_line("ADDED", pod("second", 4)));
  EXPECT_TRUE(has_request("POST /api/v1/namespaces/a/pods/second/binding"));
  EXPECT_TRUE(eventually([this] { return recorded.take().size() == 2; }));
  http->send("/api/v1/pods", watch_line("ADDED", pod("third", 5)));
  EXPECT_TRUE(has_request("PATCH /api/v1/namespaces/a/pods/third/status"));
  EXPECT_EQ(recorded.take().back(), "FailedScheduling third");
  EXPECT_EQ(end(), LiveEnd::kStopped);
}

TEST_F(LiveSchedulerTest, ShowsItsLoopBetweenTwoSteps) {
  open();
  EXPECT_TRUE(eventually([this] { return scheduler->is_synced(); }));
  std::size_t nodes = 0;
  EXPECT_TRUE(scheduler->read([&](const SchedulingLoop& loop) { nodes = loop.cache_sizes().nodes; }));
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(scheduler->contents().of<Node>().size(), 1u);
  end();
  EXPECT_FALSE(scheduler->read([](const SchedulingLoop&) { FAIL(); }));
}

TEST_F(LiveSchedulerTest, DecidesNothingBeforeItLeads) {
  leadership.leads = false;
  open();
  EXPECT_TRUE(eventually([this] { return scheduler->is_synced(); }));
  std::this_thread::sleep_for(50ms);
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(requests.empty());
  }
  leadership.leads = true;
  io.wake();
  EXPECT_TRUE(has_request("POST /api/v1/namespaces/a/pods/first/binding"));
}

TEST_F(LiveSchedulerTest, EndsWithALostLease) {
  open();
  EXPECT_TRUE(eventually([this] { return scheduler->is_synced(); }));
  leadership.leads = false;
  leadership.lost = true;
  io.wake();
  thread.join();
  EXPECT_EQ(result, LiveEnd::kLostLease);
  http.reset();
}

TEST_F(LiveSchedulerTest, NobodyWaitsForALoopThatFailed) {
  LiveOptions options;
  std::promise<void> may_fail;
  options.loop.before_attempts = [ready = may_fail.get_future().share()](std::span<const PodToPlace>, Backend&) {
    ready.wait();
    throw std::runtime_error("the device is lost");
  };
  open(std::move(options));
  EXPECT_TRUE(eventually([this] { return scheduler->is_synced(); }));
  std::thread reader([this] {
    while (scheduler->read([](const SchedulingLoop&) {})) continue;
  });
  std::this_thread::sleep_for(20ms);
  may_fail.set_value();
  thread.join();
  reader.join();
  EXPECT_EQ(problem, "the device is lost");
  http.reset();
}

TEST(LiveProcess, WhatCannotBeMadeEndsItsThreads) {
  for (int i = 0; i < 5; ++i) {
    LiveProcessOptions options;
    options.loop.config = default_scheduler_config(FeatureGates());
    options.loop.config.leader_election.leader_elect = false;
    options.access.master = "http://127.0.0.1:1";  // nobody listens
    options.authentication.client_ca_file = "/nonexistent/ca.crt";
    EXPECT_THROW(run_live_process(std::move(options)), std::runtime_error);
  }
}

}  // namespace
}  // namespace berth
