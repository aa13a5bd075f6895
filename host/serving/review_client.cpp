// SPDX-License-Identifier: Apache-2.0
#include "host/serving/review_client.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "host/serving/foreign_text.h"

namespace berth {
namespace {

constexpr int kTries = 5;
constexpr std::int64_t kLimitUs = 10'000'000;
constexpr std::int64_t kFirstPauseUs = 500'000;

/// webhook.DefaultShouldRetry, without its look at the reason of a Status.
bool may_pass(const HttpResponse& response) {
  return response.status == 0 || response.status == 429 || response.status == 500 || response.status == 504 ||
         response.retry_after_s.has_value();
}

std::string reason_of(const HttpResponse& response) {
  if (response.status == 0) return "the API server did not answer: " + foreign_text(response.problem);
  return fmt::format("the API server answered with status {}: {}", response.status, foreign_text(response.body));
}

class Turn {
 public:
  explicit Turn(std::atomic<std::size_t>& count) : count_(count), number_(++count) {}
  ~Turn() { --count_; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  std::size_t number() const { return number_; }

 private:
  std::atomic<std::size_t>& count_;
  std::size_t number_;
};

}  // namespace

ReviewClient::ReviewClient(HttpClient& client, Sleep sleep) : client_(client), sleep_(std::move(sleep)) {
  if (!sleep_) sleep_ = [](std::int64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); };
}

std::string ReviewClient::post(const std::string& path, const std::string& body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  request.content_type = "application/json";
  return answer(request);
}

std::string ReviewClient::get(const std::string& path) {
  HttpRequest request;
  request.path = path;
  return answer(request);
}

std::string ReviewClient::answer(const HttpRequest& request) {
  const Turn turn(waiting_);
  if (turn.number() > kAtOnce) throw ReviewProblem{"too many reviews wait for the API server"};
  const auto start = std::chrono::steady_clock::now();
  std::int64_t pause_us = kFirstPauseUs;
  for (int tried = 1;; ++tried) {
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    HttpRequest asked = request;
    asked.timeout_us = kLimitUs - passed.count();
    HttpResponse response = call(client_, std::move(asked));
    if (response.is_success()) return std::move(response.body);
    if (!may_pass(response) || tried == kTries || passed.count() + pause_us >= kLimitUs)
      throw ReviewProblem{reason_of(response)};
    sleep_(pause_us);
    pause_us += pause_us / 2;
  }
}

}  // namespace berth
