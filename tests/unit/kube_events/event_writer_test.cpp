// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_writer.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/kube/http/limited_client.h"

namespace berth {
namespace {

/// A client and its timers on a virtual clock; the test's thread is the client's.
class FakeClient : public HttpClient, public Timers {
 public:
  explicit FakeClient(VirtualClock& clock) : clock_(clock) {}
  void start(HttpRequest request, Done done) override {
    sent.push_back(request);
    running.emplace_back(std::move(request), std::move(done));
  }
  StreamId open_stream(HttpRequest, std::shared_ptr<HttpStreamReader>) override { return 0; }
  void close_stream(StreamId) override {}
  void after(std::int64_t delay_us, std::function<void()> work) override {
    timers.emplace(clock_.now_us() + delay_us, std::move(work));
  }

  /// Answers all requests and runs what is due, until nothing is.
  void settle() {
    while (!running.empty() || is_due()) {
      if (is_due()) {
        const auto work = std::move(timers.begin()->second);
        timers.erase(timers.begin());
        work();
      } else {
        const auto done = std::move(running.front().second);
        running.pop_front();
        done({.status = 200});
      }
    }
  }
  bool is_due() const { return !timers.empty() && timers.begin()->first <= clock_.now_us(); }

  std::vector<HttpRequest> sent;
  std::deque<std::pair<HttpRequest, Done>> running;
  std::multimap<std::int64_t, std::function<void()>> timers;

 private:
  VirtualClock& clock_;
};

class EventWriterTest : public testing::Test {
 protected:
  void start(EventRecorderOptions options = {}) { start(client, std::move(options)); }
  void start(HttpClient& through, EventRecorderOptions options = {}) {
    writer = std::make_unique<EventWriter>(
        EventWriter::Parts{through, client, clock, [this](const std::string& line) { lines.push_back(line); },
                           [this] { return yields; }},
        std::move(options), [this] { return clock.now_us(); }, 1);
  }
  static PodPtr pod(const std::string& name, const std::string& scheduler = "default-scheduler") {
    auto made = std::make_shared<Pod>();
    made->namespace_ = "ns";
    made->name = name;
    made->stored_uid = "uid-" + name;
    PodSpec spec;
    spec.scheduler_name = scheduler;
    made->spec = std::make_shared<const PodSpec>(std::move(spec));
    return made;
  }
  void bound(const std::string& name) { writer->record({pod(name), false, "Scheduled", "Binding", "to n"}); }

  VirtualClock clock{1'000'000'000};
  FakeClient client{clock};
  std::vector<std::string> lines;
  bool yields = false;
  std::unique_ptr<EventWriter> writer;
};

TEST_F(EventWriterTest, WritesOneAtATimeWhileItYieldsAndAllOfThemAfterwards) {
  start();
  bound("first");
  client.settle();
  yields = true;
  const auto answer_one = [this] {
    const auto done = std::move(client.running.front().second);
    client.running.pop_front();
    done({.status = 201});
  };
  for (const char* const name : {"a", "b", "c", "d", "e"}) bound(name);
  client.timers.extract(client.timers.begin()).mapped()();
  EXPECT_EQ(client.running.size(), 1u);
  answer_one();
  EXPECT_EQ(client.running.size(), 1u);
  yields = false;
  answer_one();
  EXPECT_EQ(client.running.size(), 3u);
  client.settle();
  EXPECT_TRUE(writer->is_written());
}

TEST_F(EventWriterTest, WritesWhatIsRecorded) {
  start();
  bound("a");
  bound("b");
  EXPECT_TRUE(client.sent.empty());  // the client's thread does the work
  EXPECT_EQ(client.timers.size(), 1u);
  client.settle();
  ASSERT_EQ(client.sent.size(), 3u);
  EXPECT_EQ(client.sent[0].path, "/apis/events.k8s.io/v1");
  EXPECT_EQ(writer->counts().written, 2);
  EXPECT_TRUE(writer->is_written());
}

TEST_F(EventWriterTest, AuthorAndRelatedPodOfAPreemptionAreThePreemptors) {
  start();
  writer->record({pod("victim", "other"), false, "Preempted", "Preempting", "x", pod("p", "mine")});
  client.settle();
  const nlohmann::json event = nlohmann::json::parse(client.sent.at(1).body);
  EXPECT_EQ(event["reportingController"], "mine");
  EXPECT_EQ(event["related"]["name"], "p");
  EXPECT_EQ(event["regarding"]["name"], "victim");
}

TEST_F(EventWriterTest, RequestsKeepTheLimitOfTheirClient) {
  LimitedClient limited({client, client, clock, std::make_shared<SharedTokenBucket>(10, 2, clock)});
  start(limited);
  for (int i = 0; i < 6; ++i) bound("p" + std::to_string(i));
  client.settle();
  EXPECT_EQ(client.sent.size(), 2u);  // the discovery is one
  clock.advance_by(99'999);
  client.settle();
  EXPECT_EQ(client.sent.size(), 2u);
  clock.advance_by(1);
  client.settle();
  EXPECT_EQ(client.sent.size(), 3u);
  for (int i = 0; i < 4; ++i) {
    clock.advance_by(100'000);
    client.settle();
  }
  EXPECT_EQ(client.sent.size(), 7u);
  EXPECT_TRUE(writer->is_written());
}

TEST_F(EventWriterTest, NoRequestStartsThatMayNot) {
  bool is_leader = true;
  LimitedClient limited(
      {client, client, clock, std::make_shared<SharedTokenBucket>(10, 2, clock), [&] { return is_leader; }});
  start(limited);
  for (int i = 0; i < 3; ++i) bound("p" + std::to_string(i));
  client.settle();
  EXPECT_EQ(client.sent.size(), 2u);
  is_leader = false;  // while two wait for their token
  clock.advance_by(1'000'000);
  client.settle();
  bound("p3");
  client.settle();
  EXPECT_EQ(client.sent.size(), 2u);
  EXPECT_EQ(writer->counts().written, 1);
}

TEST_F(EventWriterTest, SetsOneTimerForTheNextLook) {
  start();
  for (int i = 0; i < 100; ++i) {
    bound("p" + std::to_string(i));
    client.settle();
  }
  EXPECT_LE(client.timers.size(), 2u);
  EXPECT_EQ(writer->counts().written, 100);
}

TEST_F(EventWriterTest, WhatTheClientsThreadDoesNotTakeIsLimited) {
  start({.waiting_max = 3});
  for (int i = 0; i < 5; ++i) bound("p" + std::to_string(i));
  EXPECT_EQ(writer->counts().dropped_full, 2);
  EXPECT_FALSE(writer->is_written());
  client.settle();
  EXPECT_EQ(writer->counts().written, 3);
  EXPECT_EQ(writer->counts().recorded, 5);
}

}  // namespace
}  // namespace berth
