// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/kube/http/http_client.h"
#include "host/kube/http/http_meter.h"
#include "host/kube/http/io_loop.h"
#include "host/kube/http/server_access.h"
#include "host/kube/http/timers.h"

namespace berth {

struct CurlClientOptions {
  ServerAccess access;
  std::string user_agent;
  std::int64_t connect_timeout_us = 10'000'000;  ///< TCP and TLS together
  /// A stream that brings nothing for so long is over: a watch gets a bookmark each minute. 0: never
  std::int64_t silent_stream_us = 150'000'000;
  /// false: each request that is under way has a connection of its own. For many streams that last: whatever comes on a
  /// connection costs libcurl a look at every request on it.
  bool shares_connections = true;
  HttpMeter* meter = nullptr;  ///< null: nobody is told; outlives the client
};

/// Requests through libcurl on one thread, over HTTP/2 where the server has it: connections are kept and shared by
/// requests.
class CurlClient : public HttpClient, public Timers {
 public:
  /// With a thread of its own. @throws std::runtime_error where libcurl or the thread cannot be started
  explicit CurlClient(CurlClientOptions options);
  /// On the thread that runs `loop`, which outlives the client. Made and destroyed by that thread, or while none runs
  /// it.
  /// @throws std::runtime_error where libcurl cannot be started
  CurlClient(CurlClientOptions options, IoLoop& loop);
  ~CurlClient() override;
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  void start(HttpRequest request, Done done) override;
  StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) override;
  void close_stream(StreamId id) override;
  void after(std::int64_t delay_us, std::function<void()> work) override;
  /// Requests and streams that are under way. On the thread that runs the loop.
  std::size_t running_count() const;

 private:
  struct State;
  class Thread;
  std::unique_ptr<IoLoop> own_loop_;  ///< null: another's
  std::unique_ptr<State> state_;
  std::unique_ptr<Thread> thread_;  ///< likewise
};

}  // namespace berth
