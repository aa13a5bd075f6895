// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host/kube/http/http_client.h"

namespace berth::test {

/// Answers each request at once with the next scripted answer; without one, as a server that cannot be reached.
class ScriptedClient : public HttpClient {
 public:
  void answer(int status, std::string body) { answers_.push_back({.status = status, .body = std::move(body)}); }

  void start(HttpRequest request, Done done) override {
    HttpResponse response{.status = 0, .body = {}, .retry_after_s = {}, .problem = "connection refused"};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests.push_back(std::move(request));
      if (!answers_.empty()) {
        response = std::move(answers_.front());
        answers_.pop_front();
      }
    }
    done(std::move(response));
  }
  StreamId open_stream(HttpRequest, std::shared_ptr<HttpStreamReader>) override { return 0; }
  void close_stream(StreamId) override {}

  std::vector<HttpRequest> requests;

 private:
  std::mutex mutex_;
  std::deque<HttpResponse> answers_;
};

}  // namespace berth::test
