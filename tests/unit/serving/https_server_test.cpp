// SPDX-License-Identifier: Apache-2.0
#include "host/serving/https_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/unit/serving/test_certificates.h"

namespace berth::test {
namespace {

using namespace std::chrono_literals;

/// Lets everyone in and remembers what it saw.
class OpenGuard : public AccessGuard {
 public:
  std::optional<ServedAnswer> check(const RequestIdentity& identity, ServedRequest& request) override {
    const std::lock_guard<std::mutex> lock(mutex);
    has_range = identity.headers.contains("range");
    certificates = identity.certificates.size();
    request.user.name = "someone";
    if (!refuses) return std::nullopt;
    return ServedAnswer{.status = 403, .body = "no"};
  }
  std::mutex mutex;
  bool refuses = false;
  bool has_range = false;
  std::size_t certificates = 0;
};

class HttpsServerTest : public testing::Test {
 protected:
  HttpsServerTest() { options_.address = "127.0.0.1", options_.port = 0; }

  void start() {
    std::vector<Route> routes = {
        {"/hello", [](const ServedRequest& asked) { return ServedAnswer{.body = "hello " + asked.user.name}; }},
        {"/query",
         [](const ServedRequest& asked) {
           return ServedAnswer{.body = std::to_string(asked.query.count("x")) + asked.query.find("y")->second};
         }},
        {"/set", [](const ServedRequest& asked) { return ServedAnswer{.body = asked.method + asked.body}; }, "PUT"},
        {"/large", [](const ServedRequest&) { return ServedAnswer{.body = std::string(8 << 20, 'x')}; }},
        {"/throws", [](const ServedRequest&) -> ServedAnswer { throw std::runtime_error("secret\nsecret"); }},
        {"/wait", [this](const ServedRequest&) {
           ++waiting_;
           while (!goes_on_) std::this_thread::sleep_for(1ms);
           return ServedAnswer{.body = "waited"};
         }}};
    server_ =
        std::make_unique<HttpsServer>(options_, std::move(routes), guard_, clock_, [this](const std::string& text) {
          const std::lock_guard<std::mutex> lock(log_mutex_);
          log_ += text + "\n";
        });
    server_->start();
  }

  std::unique_ptr<httplib::SSLClient> client() const {
    auto made = std::make_unique<httplib::SSLClient>("127.0.0.1", server_->port());
    made->enable_server_certificate_verification(false);
    made->set_read_timeout(20);
    return made;
  }

  int plain_socket() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return socket;
  }

  /// Sends bytes over TLS and returns all that comes back until the server closes.
  std::string raw(const std::string& bytes) const {
    const int socket = plain_socket();
    const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    const SslOwner ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), socket);
    EXPECT_EQ(SSL_connect(ssl.get()), 1);
    SSL_write(ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
    std::string answer;
    char piece[4096];
    for (int count = 0; (count = SSL_read(ssl.get(), piece, sizeof(piece))) > 0;)
      answer.append(piece, static_cast<std::size_t>(count));
    ::close(socket);
    return answer;
  }

  std::string log() {
    const std::lock_guard<std::mutex> lock(log_mutex_);
    return log_;
  }

  void TearDown() override { goes_on_ = true; }

  ServerOptions options_;
  OpenGuard guard_;
  VirtualClock clock_;
  std::mutex log_mutex_;
  std::string log_;
  std::atomic<int> waiting_{0};
  std::atomic<bool> goes_on_{false};
  std::unique_ptr<HttpsServer> server_;
};

TEST_F(HttpsServerTest, AnswersARouteWithTheUserThatTheGuardFound) {
  start();
  const auto answer = client()->Get("/hello");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hello someone");
  EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-cache, private");
  EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(client()->Head("/hello")->status, 200);
  EXPECT_EQ(client()->Get("/query?x=1&x=2&y=a%20b")->body, "2a b");
}

TEST_F(HttpsServerTest, AConnectionTakesSeveralRequests) {
  start();
  const auto kept = client();
  kept->set_keep_alive(true);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(kept->Get("/hello")->status, 200);
}

TEST_F(HttpsServerTest, AnAnswerOfManyMegabytesArrivesWhole) {
  start();
  EXPECT_EQ(client()->Get("/large")->body.size(), std::size_t{8} << 20);
}

TEST_F(HttpsServerTest, PathsAndMethodsWithoutARouteAreRefusedInUpstreamsWords) {
  start();
  EXPECT_EQ(client()->Get("/hello/")->status, 404);
  EXPECT_EQ(client()->Get("/nope")->body, "404 page not found\n");
  EXPECT_EQ(client()->Delete("/hello")->status, 405);
  EXPECT_EQ(client()->Post("/set", "x", "text/plain")->status, 405);
}

TEST_F(HttpsServerTest, TheGuardIsAskedForPathsWithoutARouteToo) {
  start();
  guard_.refuses = true;
  EXPECT_EQ(client()->Get("/nope")->status, 403);
  EXPECT_EQ(client()->Put("/set", "body", "text/plain")->status, 403);
}

TEST_F(HttpsServerTest, ABodyReachesItsRouteUpToTheLimit) {
  options_.limits.body_bytes = 100;
  start();
  EXPECT_EQ(client()->Put("/set", "3", "text/plain")->body, "PUT3");
  EXPECT_EQ(client()->Put("/set", std::string(100, 'x'), "text/plain")->status, 200);
  EXPECT_EQ(client()->Put("/set", std::string(101, 'x'), "text/plain")->status, 413);
}

TEST_F(HttpsServerTest, WhatARouteThrowsIsLoggedQuotedAndNotShown) {
  start();
  const auto answer = client()->Get("/throws");
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(answer->body.find("secret"), std::string::npos);
  EXPECT_NE(log().find("\"secret\\nsecret\""), std::string::npos) << log();
}

TEST_F(HttpsServerTest, HeadsBeyondTheLimitsAreRefused) {
  options_.limits.head_bytes = 4096;
  options_.limits.header_count = 10;
  start();
  EXPECT_TRUE(raw("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 431"));
  std::string many = "GET /hello HTTP/1.1\r\n";
  for (int i = 0; i < 11; ++i) many += "A: b\r\n";
  EXPECT_TRUE(raw(many + "\r\n").starts_with("HTTP/1.1 431"));
}

TEST_F(HttpsServerTest, MalformedHeadsAreRefused) {
  start();
  for (const std::string head :
       {"GET hello HTTP/1.1\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n", "GET /hello HTTP/1.1\r\nnoheader\r\n\r\n",
        "GET /hello HTTP/1.1\r\nA: b\x1b[31m\r\n\r\n", "GET /he\x1bllo HTTP/1.1\r\n\r\n",
        "PUT /set HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "PUT /set HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx", "\r\n\r\n"})
    EXPECT_TRUE(raw(head).starts_with("HTTP/1.1 400")) << head;
}

TEST_F(HttpsServerTest, ABodyThatWasNotReadIsNoSecondRequest) {
  start();
  const std::string second = "GET /hello HTTP/1.1\r\n\r\n";
  const std::string answer =
      raw("GET /nope HTTP/1.1\r\nContent-Length: " + std::to_string(second.size()) + "\r\n\r\n" + second);
  EXPECT_NE(answer.find("404"), std::string::npos);
  EXPECT_EQ(answer.find("hello"), std::string::npos);
}

TEST_F(HttpsServerTest, RangesAreNotLookedAt) {
  start();
  const auto answer = client()->Get("/hello", {{"Range", "bytes=0-1"}});
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "hello someone");
  EXPECT_FALSE(guard_.has_range);
}

TEST_F(HttpsServerTest, ASlowClientIsGivenUp) {
  options_.limits.handshake_us = 200'000;
  options_.limits.read_us = 200'000;
  start();
  EXPECT_TRUE(raw("GET /hello HT").starts_with("HTTP/1.1 408"));
  const int silent = plain_socket();  // no handshake
  char byte = 0;
  EXPECT_LE(::recv(silent, &byte, 1, 0), 0);
  ::close(silent);
  EXPECT_EQ(client()->Get("/hello")->status, 200);
}

TEST_F(HttpsServerTest, ConnectionsBeyondThreadsAndPlacesAreClosed) {
  options_.limits.threads = 1;
  options_.limits.waiting_connections = 1;
  start();
  std::thread first([this] { EXPECT_EQ(client()->Get("/wait")->body, "waited"); });
  while (waiting_ == 0) std::this_thread::sleep_for(1ms);
  std::thread second([this] { EXPECT_EQ(client()->Get("/hello")->status, 200); });
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(client()->Get("/hello"));
  goes_on_ = true;
  first.join();
  second.join();
}

TEST_F(HttpsServerTest, AnIdleConnectionMakesRoomForOneThatWaits) {
  options_.limits.threads = 1;
  start();
  const auto idle = client();
  idle->set_keep_alive(true);
  EXPECT_EQ(idle->Get("/hello")->status, 200);
  const auto from = std::chrono::steady_clock::now();
  EXPECT_EQ(client()->Get("/hello")->status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - from, 3s);
}

TEST_F(HttpsServerTest, StoppingLetsAnAnswerEnd) {
  start();
  std::thread asks([this] { EXPECT_EQ(client()->Get("/wait")->body, "waited"); });
  while (waiting_ == 0) std::this_thread::sleep_for(1ms);
  std::thread stops([this] { server_->stop(); });
  std::this_thread::sleep_for(50ms);
  goes_on_ = true;
  asks.join();
  stops.join();
  EXPECT_FALSE(client()->Get("/hello"));
}

TEST_F(HttpsServerTest, APortThatIsTakenIsAnErrorThatNamesIt) {
  start();
  ServerOptions taken = options_;
  taken.port = server_->port();
  HttpsServer other(taken, {}, guard_, clock_, [](const std::string&) {});
  try {
    other.start();
    FAIL() << "listens on a port that is taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(taken.port)), std::string::npos) << error.what();
  }
}

TEST_F(HttpsServerTest, AClientCertificateReachesTheGuardUnverified) {
  options_.tls.asks_for_client_certificate = true;
  start();
  const TestAuthority authority("clients");
  const TestAuthority::Client someone = authority.client("someone", {});
  httplib::SSLClient with("127.0.0.1", server_->port(), someone.certificate.get(), someone.key.get());
  with.enable_server_certificate_verification(false);
  EXPECT_EQ(with.Get("/hello")->status, 200);
  EXPECT_GE(guard_.certificates, 1u);
  EXPECT_EQ(client()->Get("/hello")->status, 200);
  EXPECT_EQ(guard_.certificates, 0u);
}

}  // namespace
}  // namespace berth::test
