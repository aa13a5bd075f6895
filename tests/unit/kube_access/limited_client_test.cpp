// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/limited_client.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace berth {
namespace {

/// Answers at once; timers run when the test says so.
class FakeClient : public HttpClient, public Timers {
 public:
  explicit FakeClient(VirtualClock& clock) : clock_(clock) {}
  void start(HttpRequest request, Done done) override {
    sent.push_back(request.path);
    done({.status = 200});
  }
  StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> /*reader*/) override {
    sent.push_back(request.path);
    return 7;
  }
  void close_stream(StreamId id) override { closed = id; }
  void after(std::int64_t delay_us, std::function<void()> work) override {
    timers.emplace(clock_.now_us() + delay_us, std::move(work));
  }
  void pass(std::int64_t duration_us) {
    clock_.advance_by(duration_us);
    while (!timers.empty() && timers.begin()->first <= clock_.now_us()) {
      const auto work = std::move(timers.begin()->second);
      timers.erase(timers.begin());
      work();
    }
  }

  std::vector<std::string> sent;
  StreamId closed = 0;
  std::multimap<std::int64_t, std::function<void()>> timers;

 private:
  VirtualClock& clock_;
};

class LimitedClientTest : public testing::Test {
 protected:
  void start(LimitedClient& limited, const std::string& path) {
    limited.start({.path = path}, [this](HttpResponse response) { answers.push_back(std::move(response)); });
  }
  VirtualClock clock{1'000'000};
  FakeClient client{clock};
  std::vector<HttpResponse> answers;
};

TEST_F(LimitedClientTest, RequestsWaitForTheirTokenInOrder) {
  LimitedClient limited({client, client, clock, std::make_shared<SharedTokenBucket>(10, 2, clock)});
  for (const char* path : {"/a", "/b", "/c", "/d"}) start(limited, path);
  EXPECT_EQ(client.sent, (std::vector<std::string>{"/a", "/b"}));
  client.pass(99'999);
  EXPECT_EQ(client.sent.size(), 2u);
  client.pass(1);
  EXPECT_EQ(client.sent.back(), "/c");
  client.pass(100'000);
  EXPECT_EQ(client.sent.back(), "/d");
  EXPECT_EQ(answers.size(), 4u);
}

TEST_F(LimitedClientTest, ClientsShareABucket) {
  const auto bucket = std::make_shared<SharedTokenBucket>(10, 1, clock);
  LimitedClient one({client, client, clock, bucket});
  LimitedClient other({client, client, clock, bucket});
  start(one, "/a");
  start(other, "/b");
  EXPECT_EQ(client.sent.size(), 1u);
  client.pass(100'000);
  EXPECT_EQ(client.sent.size(), 2u);
}

TEST_F(LimitedClientTest, StreamsDoNotWait) {
  LimitedClient limited({client, client, clock, std::make_shared<SharedTokenBucket>(1, 1, clock)});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limited.open_stream({.path = "/w"}, nullptr), 7u);
  EXPECT_EQ(client.sent.size(), 3u);
  limited.close_stream(7);
  EXPECT_EQ(client.closed, 7u);
}

TEST_F(LimitedClientTest, NoRequestStartsThatMayNot) {
  bool is_leader = true;
  LimitedClient limited(
      {client, client, clock, std::make_shared<SharedTokenBucket>(10, 1, clock), [&] { return is_leader; }});
  start(limited, "/a");
  start(limited, "/b");
  is_leader = false;  // while the second waits for its token
  client.pass(1'000'000);
  start(limited, "/c");
  EXPECT_EQ(answers.size(), 2u);  // the answer never comes within the call
  client.pass(0);
  EXPECT_EQ(client.sent, std::vector<std::string>{"/a"});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[1].was_not_sent);
  EXPECT_EQ(answers[2].status, 0);
}

TEST_F(LimitedClientTest, WithoutABucketNothingWaits) {
  LimitedClient limited({client, client, clock});
  for (int i = 0; i < 100; ++i) start(limited, "/a");
  EXPECT_EQ(client.sent.size(), 100u);
}

}  // namespace
}  // namespace berth
