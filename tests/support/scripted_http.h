// SPDX-License-Identifier: Apache-2.0
#pragma once

// An HTTP client without a network: a test sees each request and answers it when it likes, on its own thread.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"

namespace berth {

class ScriptedHttp : public HttpClient, public Timers {
 public:
  explicit ScriptedHttp(VirtualClock& clock) : clock_(clock) {}

  struct Call {
    HttpRequest request;
    Done done;
  };
  struct Stream {
    HttpRequest request;
    std::shared_ptr<HttpStreamReader> reader;
  };

  void start(HttpRequest request, Done done) override { calls.push_back({std::move(request), std::move(done)}); }
  StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) override {
    streams.emplace(next_id_, Stream{std::move(request), std::move(reader)});
    return next_id_++;
  }
  void close_stream(StreamId id) override { streams.erase(id); }
  void after(std::int64_t delay_us, std::function<void()> work) override {
    timers_.emplace(clock_.now_us() + delay_us, std::move(work));
  }

  /// The oldest call that is open. @throws std::logic_error when there is none
  void answer(int status, std::string body = "{}") {
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    answer(std::move(response));
  }
  void answer(HttpResponse response) {
    if (calls.empty()) throw std::logic_error("no call is open");
    const Call call = std::move(calls.front());
    calls.erase(calls.begin());
    call.done(std::move(response));
  }
  void fail(bool was_not_sent, std::string problem = "the connection is gone") {
    HttpResponse response;
    response.problem = std::move(problem);
    response.was_not_sent = was_not_sent;
    answer(std::move(response));
  }
  /// The only stream that is open.
  Stream& stream() {
    if (streams.size() != 1) throw std::logic_error(std::to_string(streams.size()) + " streams are open");
    return streams.begin()->second;
  }
  /// Bytes of the only stream, which ends where its reader wants no more.
  void bytes(std::string_view text) {
    if (stream().reader->on_bytes(text)) return;
    end_stream(200);
  }
  void end_stream(int status, std::string body = {}) {
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    end_stream(std::move(response));
  }
  void end_stream(HttpResponse response) {
    const std::shared_ptr<HttpStreamReader> reader = stream().reader;
    streams.clear();
    reader->on_end(std::move(response));
  }
  /// Time passes, and timers are called when theirs comes.
  void advance_us(std::int64_t duration_us) {
    const std::int64_t end_us = clock_.now_us() + duration_us;
    while (!timers_.empty() && timers_.begin()->first <= end_us) {
      clock_.advance_to(timers_.begin()->first);
      timers_.extract(timers_.begin()).mapped()();
    }
    clock_.advance_to(end_us);
  }

  std::vector<Call> calls;             ///< open ones, in the order of their start
  std::map<StreamId, Stream> streams;  ///< open ones

 private:
  VirtualClock& clock_;
  StreamId next_id_ = 1;
  std::multimap<std::int64_t, std::function<void()>> timers_;
};

}  // namespace berth
