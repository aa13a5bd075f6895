// SPDX-License-Identifier: Apache-2.0
#pragma once

// A scheduler with its threads, and a function in place of the API server.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/live/live_scheduler.h"
#include "tests/support/answering_http.h"
#include "tests/unit/kube_watch/watch_lines.h"
#include "tests/unit/live/captured_log.h"

namespace berth {

inline std::string pod(const std::string& name, int version, const std::string& node = "") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"(","namespace":"a","uid":"u-)" + name +
         R"(","resourceVersion":")" + std::to_string(version) + R"("},"spec":{"schedulerName":"default-scheduler",)" +
         (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
         R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Pending"}})";
}
inline const std::string kNode =
    R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"2"},"status":{"allocatable":)"
    R"({"cpu":"2","memory":"1Gi","pods":"10"}}})";

class SetLeadership : public Leadership {
 public:
  bool is_leading() const override { return leads; }
  bool is_lost() const override { return lost; }
  std::atomic<bool> leads = true;
  std::atomic<bool> lost = false;
};

class Recorded : public EventSink {
 public:
  void add(const SchedulerEvent& event) override {
    const std::lock_guard lock(mutex);
    reasons.push_back(std::string(event.reason) + " " + event.pod->name);
  }
  void note_contents(const StoreContents&) override {}
  void note_events(std::span<const WatchEvent>) override {}
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex);
    return reasons;
  }
  std::mutex mutex;
  std::vector<std::string> reasons;
};

class LiveSchedulerTest : public testing::Test {
 protected:
  ~LiveSchedulerTest() override {
    if (thread.joinable()) end();
  }
  void open() { open(LiveOptions()); }
  void open(LiveOptions options) {
    options.loop.config = default_scheduler_config(FeatureGates());
    options.loop.engine.backend = "cpu";
    options.loop.engine.threads = 1;
    http.emplace(AnsweringHttp::Script{[this](const HttpRequest& request) { return answer(request); },
                                       [this](const HttpRequest& request) { return begin(request); }});
    scheduler.emplace(
        LiveScheduler::Parts{*http, *http, *http, RealClock::shared(), captured.log, &leadership, &recorded, io},
        std::move(options));
    thread = std::thread([this] {
      try {
        result = scheduler->run();
      } catch (const std::runtime_error& error) {
        problem = error.what();
      }
    });
  }
  LiveEnd end() {
    scheduler->stop();
    thread.join();
    http.reset();  // its thread ends before what it calls
    return result;
  }
  std::string begin(const HttpRequest& request) {
    std::string text;
    if (request.path.starts_with("/api/v1/nodes?")) text = watch_line("ADDED", kNode);
    if (request.path.starts_with("/api/v1/pods?")) text = watch_line("ADDED", pod("first", 3));
    return text + end_of_list(9);
  }
  HttpResponse answer(const HttpRequest& request) {
    HttpResponse response;
    response.status = request.method == "POST" ? 201 : 200;
    response.body = "{}";
    {
      const std::lock_guard lock(mutex);
      requests.push_back(request.method + " " + request.path);
    }
    constexpr std::string_view kPods = "/api/v1/namespaces/a/pods/";
    if (request.path.ends_with("/binding")) {
      const std::string name = request.path.substr(kPods.size(), request.path.find('/', kPods.size()) - kPods.size());
      http->send("/api/v1/pods", watch_line("MODIFIED", pod(name, ++version, "n")));
    }
    return response;
  }
  static bool eventually(const std::function<bool()>& is_true) {
    for (int i = 0; i < 2000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (is_true()) return true;
    return false;
  }
  bool has_request(const std::string& text) {
    return eventually([&] {
      const std::lock_guard lock(mutex);
      return std::find(requests.begin(), requests.end(), text) != requests.end();
    });
  }

  CapturedLog captured{LogFormat::kText, 4};
  IoLoop io;
  SetLeadership leadership;
  Recorded recorded;
  std::mutex mutex;
  std::vector<std::string> requests;
  std::atomic<int> version = 10;
  std::optional<AnsweringHttp> http;
  std::optional<LiveScheduler> scheduler;
  LiveEnd result = LiveEnd::kLostLease;
  std::string problem;  ///< what run() threw
  std::thread thread;
};

}  // namespace berth
