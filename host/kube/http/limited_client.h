// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/kube/http/token_bucket.h"

namespace berth {

/// A TokenBucket for several threads and clients.
class SharedTokenBucket {
 public:
  /// As TokenBucket's constructor.
  SharedTokenBucket(double qps, std::int32_t burst, const Clock& clock) : bucket_(qps, burst, clock) {}
  std::int64_t reserve_us() {
    const std::scoped_lock lock(mutex_);
    return bucket_.reserve_us();
  }

 private:
  std::mutex mutex_;
  TokenBucket bucket_;
};

/// A client whose requests wait for their token, in the order of their calls, and start only while they may. Streams do
/// neither: client-go opens its watches at once. The time that a request waits is no part of its timeout. Any thread
/// may call.
class LimitedClient : public HttpClient {
 public:
  struct Parts {
    HttpClient& client;
    Timers& timers;  ///< of the same client
    const Clock& clock;
    std::shared_ptr<SharedTokenBucket> bucket = {};  ///< null: no limit
    /// Whether a request may start now; where it may not, its answer is a problem, and it was not sent. Null: always.
    /// Any thread calls it.
    std::function<bool()> may_start = {};
  };
  /// The client's thread ends before this does.
  explicit LimitedClient(Parts parts) : parts_(std::move(parts)) {}

  void start(HttpRequest request, Done done) override {
    const std::int64_t delay_us = parts_.bucket ? parts_.bucket->reserve_us() - parts_.clock.now_us() : 0;
    if (delay_us <= 0 && may_start()) return parts_.client.start(std::move(request), std::move(done));
    parts_.timers.after(std::max<std::int64_t>(delay_us, 0),
                        [this, request = std::move(request), done = std::move(done)]() mutable {
                          if (may_start()) return parts_.client.start(std::move(request), std::move(done));
                          done({.problem = "this process is not the leader", .was_not_sent = true});
                        });
  }
  StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) override {
    return parts_.client.open_stream(std::move(request), std::move(reader));
  }
  void close_stream(StreamId id) override { parts_.client.close_stream(id); }

 private:
  bool may_start() const { return !parts_.may_start || parts_.may_start(); }

  Parts parts_;
};

}  // namespace berth
