// SPDX-License-Identifier: Apache-2.0
#pragma once

// An HTTP client without a network, with a thread of its own as a real one has: a function answers calls, and a test
// sends the text of streams.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"

namespace berth {

class AnsweringHttp : public HttpClient, public Timers {
 public:
  /// Both are called on the client's thread.
  struct Script {
    std::function<HttpResponse(const HttpRequest&)> answer;
    /// The first text of a stream.
    std::function<std::string(const HttpRequest&)> begin_stream;
  };
  explicit AnsweringHttp(Script script) : script_(std::move(script)), thread_([this] { run(); }) {}
  ~AnsweringHttp() override {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void start(HttpRequest request, Done done) override {
    post([this, request = std::move(request), done = std::move(done)] { done(script_.answer(request)); });
  }
  StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) override {
    post([this, request = std::move(request), reader = std::move(reader)] {
      streams_[request.path.substr(0, request.path.find('?'))] = reader;
      if (const std::string text = script_.begin_stream(request); !text.empty()) reader->on_bytes(text);
    });
    return 1;
  }
  void close_stream(StreamId id) override { static_cast<void>(id); }
  void after(std::int64_t delay_us, std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    timers_.emplace(Monotonic::now() + std::chrono::microseconds(delay_us), std::move(work));
    changed_.notify_one();
  }
  /// Text of the stream of a path.
  void send(const std::string& path, std::string text) {
    post([this, path, text = std::move(text)] { streams_.at(path)->on_bytes(text); });
  }

 private:
  using Monotonic = std::chrono::steady_clock;

  void post(std::function<void()> work) { after(0, std::move(work)); }
  void run() {
    std::unique_lock lock(mutex_);
    while (!stops_) {
      if (timers_.empty()) {
        changed_.wait(lock);
      } else if (timers_.begin()->first > Monotonic::now()) {
        changed_.wait_until(lock, timers_.begin()->first);
      } else {
        const std::function<void()> work = std::move(timers_.extract(timers_.begin()).mapped());
        lock.unlock();
        work();
        lock.lock();
      }
    }
  }

  Script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Monotonic::time_point, std::function<void()>> timers_;
  bool stops_ = false;
  std::map<std::string, std::shared_ptr<HttpStreamReader>> streams_;  ///< [path]; of the thread alone
  std::thread thread_;
};

}  // namespace berth
