// SPDX-License-Identifier: Apache-2.0
// Against a server of cpp-httplib on this machine.
#include "host/kube/http/curl_client.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/kube/http/url.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

class TestCredentials : public Credentials {
 public:
  ClientIdentity current() override {
    if (is_broken) throw std::runtime_error("the token cannot be read");
    return {.authorization = "Bearer " + std::to_string(reads)};
  }
  void note_unauthorized() override { ++reads; }

  std::atomic<bool> is_broken = false;
  std::atomic<int> reads = 0;
};

/// Collects a stream.
class Collector : public HttpStreamReader {
 public:
  bool on_bytes(std::string_view bytes) override {
    text.append(bytes);
    return text.size() < 100;
  }
  void on_end(HttpResponse response) override { ended.set_value(std::move(response)); }

  std::string text;
  std::promise<HttpResponse> ended;
};

class Meter : public HttpMeter {
 public:
  void on_request(std::string_view host, std::string_view method, int status, double seconds) override {
    const std::lock_guard lock(mutex);
    EXPECT_GE(seconds, 0);
    EXPECT_TRUE(host.starts_with("127.0.0.1:"));
    told.push_back(std::string(method) + " " + std::to_string(status));
  }
  std::mutex mutex;
  std::vector<std::string> told;
};

class CurlClientTest : public testing::Test {
 protected:
  CurlClientTest() {
    server.Get("/hello", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.get_header_value("Authorization") + " " + request.get_param_value("q") + " " +
                               request.get_header_value("Accept"),
                           "text/plain");
    });
    const auto echo = [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.method + " " + request.get_header_value("Content-Type") + " " + request.body, "");
    };
    server.Post("/echo", echo);
    server.Patch("/echo", echo);
    server.Delete("/echo", echo);
    server.Get("/refused", [](const httplib::Request&, httplib::Response& response) {
      response.status = 401;
      response.set_content("who are you", "text/plain");
    });
    server.Get("/busy", [](const httplib::Request&, httplib::Response& response) {
      response.status = 429;
      response.set_header("Retry-After", "7");
    });
    server.Get("/large", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(10'000, 'x'), "text/plain");
    });
    server.Get("/slow", [](const httplib::Request&, httplib::Response& response) {
      std::this_thread::sleep_for(300ms);
      response.set_content("late", "text/plain");
    });
    server.Get("/stream", [](const httplib::Request& request, httplib::Response& response) {
      const bool is_endless = request.has_param("endless");
      response.set_chunked_content_provider("text/plain", [is_endless](std::size_t offset, httplib::DataSink& sink) {
        if (!is_endless && offset > 20) {
          sink.done();
          return true;
        }
        std::this_thread::sleep_for(2ms);
        return sink.write("more", 4);
      });
    });
    server.set_keep_alive_max_count(1);  // a connection that is kept would keep one of few threads
    port = server.bind_to_any_port("127.0.0.1");
    thread = std::thread([this] { server.listen_after_bind(); });
    while (!server.is_running()) std::this_thread::sleep_for(1ms);
  }
  ~CurlClientTest() override {
    client.reset();
    server.stop();
    thread.join();
  }
  void open(CurlClientOptions options = {}) {
    options.access.url = "http://127.0.0.1:" + std::to_string(port);
    options.access.credentials = credentials;
    options.user_agent = "berth-test";
    options.meter = &meter;
    client = std::make_unique<CurlClient>(std::move(options));
  }
  HttpResponse get(std::string path) {
    HttpRequest request;
    request.path = std::move(path);
    return call(*client, std::move(request));
  }

  httplib::Server server;
  int port = 0;
  std::thread thread;
  std::shared_ptr<TestCredentials> credentials = std::make_shared<TestCredentials>();
  Meter meter;
  std::unique_ptr<CurlClient> client;
};

TEST_F(CurlClientTest, GetsWithCredentialsAndQuery) {
  open();
  const HttpResponse response = get("/hello?q=a%20b");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "Bearer 0 a b application/json");
  EXPECT_EQ(meter.told, (std::vector<std::string>{"GET 200"}));
}

TEST_F(CurlClientTest, SendsBodiesWithEachMethod) {
  open();
  for (const std::string method : {"POST", "PATCH", "DELETE"}) {
    HttpRequest request;
    request.method = method;
    request.path = "/echo";
    request.body = std::string("a\0b", 3);
    request.content_type = "application/x";
    EXPECT_EQ(call(*client, std::move(request)).body, method + " application/x " + std::string("a\0b", 3));
  }
}

TEST_F(CurlClientTest, ReadsCredentialsAgainAfterARefusal) {
  open();
  EXPECT_EQ(get("/refused").body, "who are you");
  EXPECT_EQ(get("/hello").body, "Bearer 1  application/json");
  credentials->is_broken = true;
  const HttpResponse response = get("/hello");
  EXPECT_EQ(response.status, 0);
  EXPECT_TRUE(response.was_not_sent);
  EXPECT_EQ(response.problem, "the token cannot be read");
}

TEST_F(CurlClientTest, SaysHowLongTheServerAsksToWait) {
  open();
  EXPECT_EQ(get("/busy").retry_after_s, 7);
  EXPECT_FALSE(get("/hello").retry_after_s);
}

TEST_F(CurlClientTest, EndsAnAnswerThatIsTooLongOrTooLate) {
  open();
  HttpRequest request;
  request.path = "/large";
  request.answer_bytes_max = 9'999;
  const HttpResponse large = call(*client, request);
  EXPECT_EQ(large.status, 0);
  EXPECT_EQ(large.problem, "the answer is longer than 9999 bytes");
  EXPECT_FALSE(large.was_not_sent);
  request.answer_bytes_max = 10'000;
  EXPECT_EQ(call(*client, request).body.size(), 10'000u);
  request.path = "/slow";
  request.timeout_us = 50'000;
  const HttpResponse late = call(*client, request);
  EXPECT_EQ(late.status, 0);
  EXPECT_FALSE(late.was_not_sent);
  EXPECT_NE(late.problem.find("GET 127.0.0.1:"), std::string::npos) << late.problem;
}

TEST_F(CurlClientTest, KnowsARequestThatWasNotSent) {
  open();
  server.stop();
  std::this_thread::sleep_for(50ms);
  const HttpResponse response = get("/hello");
  EXPECT_EQ(response.status, 0);
  EXPECT_TRUE(response.was_not_sent) << response.problem;
}

TEST_F(CurlClientTest, AStreamEndsWithItsServerOrItsReader) {
  open();
  for (const std::string path : {"/stream", "/stream?endless=1"}) {
    const auto collector = std::make_shared<Collector>();
    HttpRequest request;
    request.path = path;
    client->open_stream(request, collector);
    const HttpResponse response = collector->ended.get_future().get();
    EXPECT_EQ(response.status, 200) << response.problem;
    EXPECT_TRUE(collector->text.starts_with("more"));
  }
}

TEST_F(CurlClientTest, AStreamThatIsRefusedBringsTheReason) {
  open();
  const auto collector = std::make_shared<Collector>();
  HttpRequest request;
  request.path = "/refused";
  client->open_stream(request, collector);
  const HttpResponse response = collector->ended.get_future().get();
  EXPECT_EQ(response.status, 401);
  EXPECT_EQ(response.body, "who are you");
  EXPECT_EQ(collector->text, "");
}

TEST_F(CurlClientTest, AClosedStreamTellsNoMore) {
  open();
  const auto collector = std::make_shared<Collector>();
  std::future<HttpResponse> ended = collector->ended.get_future();
  HttpRequest request;
  request.path = "/stream?endless=1";
  const HttpClient::StreamId id = client->open_stream(request, collector);
  client->close_stream(id);
  EXPECT_EQ(get("/hello").status, 200);
  EXPECT_EQ(ended.wait_for(50ms), std::future_status::timeout);
}

TEST_F(CurlClientTest, ManyRequestsRunAtOnce) {
  open();
  std::atomic<int> done = 0;
  std::promise<void> all;
  for (int i = 0; i < 200; ++i) {
    HttpRequest request;
    request.path = "/hello?q=" + std::to_string(i);
    client->start(request, [&, i](const HttpResponse& response) {
      EXPECT_EQ(response.body, "Bearer 0 " + std::to_string(i) + " application/json");
      if (++done == 200) all.set_value();
    });
  }
  all.get_future().get();
}

TEST_F(CurlClientTest, TimersComeInOrderAndLast) {
  open();
  std::vector<int> order;
  std::promise<void> done;
  client->after(30'000, [&] {
    order.push_back(3);
    done.set_value();
  });
  client->after(0, [&] {
    order.push_back(1);
    client->after(5'000, [&] { order.push_back(2); });
  });
  done.get_future().get();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(CurlClientTest, ItsEndEndsWhatIsUnderWay) {
  open();
  std::atomic<bool> was_called = false;
  HttpRequest request;
  request.path = "/slow";
  client->start(request, [&](const HttpResponse&) { was_called = true; });
  client->after(1'000'000'000, [&] { was_called = true; });
  std::this_thread::sleep_for(20ms);
  client.reset();
  EXPECT_FALSE(was_called);
}

TEST_F(CurlClientTest, SeveralClientsRunOnOneLoop) {
  IoLoop loop;
  CurlClientOptions options;
  options.access.url = "http://127.0.0.1:" + std::to_string(port);
  options.access.credentials = credentials;
  CurlClient other(options, loop);
  client = std::make_unique<CurlClient>(options, loop);
  HttpRequest request;
  request.path = "/hello?q=1";
  std::vector<std::string> bodies;
  client->start(request, [&](const HttpResponse& first) {
    bodies.push_back(first.body);
    request.path = "/hello?q=2";
    other.start(request, [&](const HttpResponse& second) { bodies.push_back(second.body); });
  });
  while (bodies.size() < 2) loop.run_once(20'000'000);
  EXPECT_EQ(bodies, (std::vector<std::string>{"Bearer 0 1 application/json", "Bearer 0 2 application/json"}));
  request.path = "/slow";
  client->start(request, [](const HttpResponse&) { ADD_FAILURE() << "of a client that is gone"; });
  loop.run_once(0);
  client.reset();
  loop.run_once(1'000);
}

TEST_F(CurlClientTest, AStreamOfAnotherLoopIsClosedFromItsOwnCallback) {
  IoLoop loop;
  CurlClientOptions options;
  options.access.url = "http://127.0.0.1:" + std::to_string(port);
  options.access.credentials = credentials;
  client = std::make_unique<CurlClient>(options, loop);
  struct Closer : HttpStreamReader {
    bool on_bytes(std::string_view) override {
      ++pieces;
      client->close_stream(id);
      return true;
    }
    void on_end(HttpResponse) override { ADD_FAILURE() << "the stream was closed"; }
    HttpClient* client = nullptr;
    HttpClient::StreamId id = 0;
    int pieces = 0;
  };
  const auto closer = std::make_shared<Closer>();
  closer->client = client.get();
  HttpRequest request;
  request.path = "/stream?endless=1";
  closer->id = client->open_stream(request, closer);
  while (closer->pieces == 0) loop.run_once(20'000'000);
  for (int i = 0; i < 20; ++i) loop.run_once(2'000);
  EXPECT_EQ(closer->pieces, 1);
  client.reset();
}

TEST(UrlEscaped, EncodesAllButPlainBytes) {
  EXPECT_EQ(url_escaped("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(url_escaped("a b/c?&\xff\n"), "a%20b%2Fc%3F%26%FF%0A");
}

}  // namespace
}  // namespace berth
