// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace berth {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

class EventRecorderTest : public testing::Test {
 protected:
  void start(EventRecorderOptions options = {}) {
    options.host_name = "host-1";
    recorder = std::make_unique<EventRecorder>(options, clock, [this] { return wall_us; }, 1);
  }
  /// After the discovery.
  void start_ready(EventRecorderOptions options = {}) {
    start(std::move(options));
    answer({.status = 200});
  }
  static PodPtr pod(const std::string& name) {
    auto made = std::make_shared<Pod>();
    made->namespace_ = "ns";
    made->name = name;
    made->stored_uid = "uid-" + name;
    return made;
  }
  void fail(const std::string& name, const std::string& note = "no node", const std::string& version = "7") {
    recorder->record({pod(name), true, "FailedScheduling", "Scheduling", note},
                     {.scheduler_name = "default-scheduler", .resource_version = version});
  }
  /// Takes the next request, which must be there, and answers it.
  HttpRequest answer(const HttpResponse& response) {
    auto next = recorder->next_request();
    EXPECT_TRUE(next.has_value());
    if (!next) return {};
    recorder->on_response(next->id, response);
    return next->request;
  }
  /// @return how many requests were answered with success
  int answer_all() {
    int count = 0;
    while (auto next = recorder->next_request()) {
      recorder->on_response(next->id, {.status = 200});
      requests.push_back(next->request);
      ++count;
    }
    return count;
  }
  void pass(std::int64_t duration_us) {
    clock.advance_by(duration_us);
    wall_us += duration_us;
  }

  VirtualClock clock{1000};
  std::int64_t wall_us = 1'767'225'600 * kSecond;
  std::unique_ptr<EventRecorder> recorder;
  std::vector<HttpRequest> requests;
};

TEST_F(EventRecorderTest, CreatesAnEventWithUpstreamsFields) {
  start();
  fail("web-0");
  EXPECT_EQ(answer({.status = 200}).path, "/apis/events.k8s.io/v1");
  const HttpRequest request = answer({.status = 201});
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/apis/events.k8s.io/v1/namespaces/ns/events");
  EXPECT_EQ(json::parse(request.body), json::parse(R"({
      "kind": "Event", "apiVersion": "events.k8s.io/v1",
      "metadata": {"name": "web-0.18867251edfa0000", "namespace": "ns"},
      "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Warning", "reason": "FailedScheduling",
      "action": "Scheduling", "note": "no node", "reportingController": "default-scheduler",
      "reportingInstance": "default-scheduler-host-1",
      "regarding": {"kind": "Pod", "namespace": "ns", "name": "web-0", "uid": "uid-web-0", "apiVersion": "v1",
                    "resourceVersion": "7"}})"));
  EXPECT_FALSE(recorder->next_request());
  EXPECT_EQ(recorder->waiting(), 0u);
  EXPECT_EQ(recorder->counts().written, 1);
}

TEST_F(EventRecorderTest, NamesThePreemptorAsRelated) {
  start_ready();
  recorder->record({pod("victim"), false, "Preempted", "Preempting", "Preempted by pod uid-p on node n"},
                   {.scheduler_name = "s", .resource_version = "1", .related = pod_reference(*pod("p"), "2")});
  const json event = json::parse(answer({.status = 201}).body);
  EXPECT_EQ(event["type"], "Normal");
  EXPECT_EQ(event["related"], json::parse(R"({"kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-p",
                                              "apiVersion": "v1", "resourceVersion": "2"})"));
}

TEST_F(EventRecorderTest, EqualEventsBecomeASeries) {
  start_ready();
  fail("a", "first");
  answer_all();
  pass(kSecond);
  fail("a", "second");
  const HttpRequest patch = answer({.status = 200});
  EXPECT_EQ(patch.method, "PATCH");
  EXPECT_EQ(patch.path, "/apis/events.k8s.io/v1/namespaces/ns/events/a.18867251edfa0000");
  EXPECT_EQ(patch.content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(patch.body, R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:01.000000Z"}})");
  for (int i = 0; i < 5; ++i) fail("a", "more");
  EXPECT_FALSE(recorder->next_request());
  EXPECT_EQ(recorder->counts().folded, 5);
}

TEST_F(EventRecorderTest, OtherPodsVersionsAndReasonsAreOtherEvents) {
  start_ready();
  fail("a");
  fail("b");
  fail("a", "no node", "8");
  recorder->record({pod("a"), true, "FailedScheduling", "Binding", ""}, {.scheduler_name = "default-scheduler"});
  recorder->record({pod("a"), true, "FailedScheduling", "Scheduling", ""},
                   {.scheduler_name = "other", .resource_version = "7"});
  EXPECT_EQ(answer_all(), 5);
  for (const HttpRequest& request : requests) EXPECT_EQ(request.method, "POST");
}

TEST_F(EventRecorderTest, WithoutAVersionAnotherNoteIsAnotherEvent) {
  start_ready();
  fail("a", "0/3 nodes", "");
  fail("a", "0/3 nodes", "");
  fail("a", "0/4 nodes", "");
  answer_all();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].method, "PATCH");
  EXPECT_EQ(json::parse(requests[2].body)["note"], "0/4 nodes");
  EXPECT_FALSE(json::parse(requests[2].body)["regarding"].contains("resourceVersion"));
}

TEST_F(EventRecorderTest, ASeriesThatIsMissingIsCreatedAgain) {
  start_ready();
  fail("a", "first");
  answer_all();
  fail("a", "second");
  EXPECT_EQ(answer({.status = 404}).method, "PATCH");
  const HttpRequest create = answer({.status = 201});
  EXPECT_EQ(create.method, "POST");
  const json event = json::parse(create.body);
  EXPECT_EQ(event["series"]["count"], 2);
  EXPECT_EQ(event["metadata"]["name"], "a.18867251edfa0000");
  EXPECT_EQ(event["eventTime"], "2026-01-01T00:00:00.000000Z");
}

TEST_F(EventRecorderTest, ASeriesCreatedMeanwhileIsPatchedLater) {
  start_ready();
  fail("a");
  answer_all();
  fail("a");
  answer({.status = 404});
  answer({.status = 409});
  EXPECT_FALSE(recorder->next_request());
  pass(12'500'000);
  EXPECT_EQ(answer({.status = 200}).method, "PATCH");
  EXPECT_EQ(recorder->waiting(), 0u);
}

TEST_F(EventRecorderTest, AnEventIsForgottenAfterTwoSweeps) {
  start_ready();
  pass(kMinute);
  fail("a");
  answer_all();
  pass(11 * kMinute - 1);  // one sweep at 6 minutes
  fail("a");
  EXPECT_EQ(answer({.status = 200}).method, "PATCH");
  fail("b");
  answer_all();
  pass(6 * kMinute);
  answer_all();
  pass(6 * kMinute);
  answer_all();
  requests.clear();
  fail("b");
  answer_all();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "POST");
}

TEST_F(EventRecorderTest, ASeriesThatEndedIsWrittenAndForgotten) {
  start_ready();
  fail("a");
  fail("a");
  fail("a");
  EXPECT_EQ(answer_all(), 2);
  pass(6 * kMinute);
  EXPECT_EQ(answer_all(), 0);  // seen exactly 6 minutes ago
  pass(6 * kMinute);
  EXPECT_EQ(answer(HttpResponse{.status = 200}).body,
            R"({"series":{"count":3,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}})");
  fail("a");
  EXPECT_EQ(answer({.status = 201}).method, "POST");
}

TEST_F(EventRecorderTest, ASeriesSeenDuringItsLastWriteStaysOpen) {
  start_ready();
  fail("a");
  fail("a");
  answer_all();
  pass(12 * kMinute);
  const auto last = recorder->next_request();
  ASSERT_TRUE(last);
  fail("a");
  recorder->on_response(last->id, {.status = 200});
  fail("a");
  EXPECT_FALSE(recorder->next_request());
  EXPECT_EQ(recorder->counts().folded, 2);
}

TEST_F(EventRecorderTest, ALastWriteWithoutAnswerIsRepeatedAtTheNextSweep) {
  start_ready();
  fail("a");
  fail("a");
  answer_all();
  pass(12 * kMinute);
  answer({.problem = "refused"});
  EXPECT_FALSE(recorder->next_request());
  pass(6 * kMinute);
  EXPECT_EQ(answer({.status = 200}).method, "PATCH");
  pass(6 * kMinute);
  EXPECT_FALSE(recorder->next_request());
}

TEST_F(EventRecorderTest, OpenSeriesAreWrittenEveryThirtyMinutes) {
  start_ready();
  fail("a");
  fail("a");
  int writes = answer_all();
  for (int minute = 0; minute < 30; ++minute) {
    pass(kMinute);
    fail("a");
    writes += answer_all();
  }
  EXPECT_EQ(writes, 3);
  EXPECT_EQ(json::parse(requests.back().body)["series"]["count"], 32);
}

TEST_F(EventRecorderTest, TriesTwelveTimesWithoutAnAnswer) {
  start_ready();
  fail("a");
  for (int i = 0; i < 12; ++i) {
    answer({.problem = "connection refused"});
    EXPECT_FALSE(recorder->next_request());
    if (i == 11) break;
    const std::int64_t wait_us = recorder->next_wake_us() - clock.now_us();
    const std::int64_t least_us = std::min(kSecond / 2 << std::min(i, 5), 10 * kSecond);
    EXPECT_GE(wait_us, least_us);
    EXPECT_LE(wait_us, least_us + least_us / 4);
    pass(wait_us);
  }
  EXPECT_EQ(recorder->waiting(), 0u);
  EXPECT_EQ(recorder->counts().dropped_tries, 1);
  EXPECT_EQ(recorder->take_messages().size(), 1u);
}

TEST_F(EventRecorderTest, ARefusedEventIsDroppedAtOnce) {
  start_ready();
  for (const int status : {400, 404, 409, 422, 500, 503}) {
    fail("a" + std::to_string(status));
    answer({.status = status, .body = "no\x1b"});
    EXPECT_EQ(recorder->waiting(), 0u) << status;
  }
  EXPECT_EQ(recorder->counts().rejected, 6);
  EXPECT_NE(recorder->take_messages().at(0).find("status 400: \"no\\u001b\""), std::string::npos);
}

TEST_F(EventRecorderTest, AnEventThatIsForbiddenIsTriedForAMoment) {
  start_ready();
  fail("a");
  answer({.status = 403});
  EXPECT_FALSE(recorder->next_request());
  pass(kSecond);
  answer({.status = 201});
  EXPECT_EQ(recorder->counts().written, 1);
  fail("b");
  for (int i = 0; i < 4; ++i) {
    answer({.status = 403, .body = "who are you"});
    EXPECT_EQ(recorder->waiting(), 1u);
    pass(5 * kSecond);
  }
  answer({.status = 403, .body = "who are you"});
  EXPECT_EQ(recorder->waiting(), 0u);
  EXPECT_EQ(recorder->counts().rejected, 1);
  EXPECT_NE(recorder->take_messages().at(0).find("status 403: \"who are you\""), std::string::npos);
}

TEST_F(EventRecorderTest, AConflictAfterALostAnswerIsASuccess) {
  start_ready();
  fail("a");
  answer({.problem = "timeout"});
  pass(13 * kSecond);
  answer({.status = 409});
  EXPECT_EQ(recorder->counts().written, 1);
  EXPECT_EQ(recorder->counts().rejected, 0);
}

TEST_F(EventRecorderTest, ObeysRetryAfterTenTimes) {
  start_ready();
  fail("a");
  for (int i = 0; i < 10; ++i) {
    answer({.status = 429, .retry_after_s = 3});
    EXPECT_FALSE(recorder->next_request());
    pass(3 * kSecond);
  }
  answer({.status = 429, .retry_after_s = 3});
  EXPECT_EQ(recorder->waiting(), 0u);
  EXPECT_EQ(recorder->counts().dropped_tries, 1);
}

TEST_F(EventRecorderTest, WritesToTheCoreApiWhereTheNewerOneIsMissing) {
  start();
  fail("a");
  answer({.status = 404});
  const HttpRequest create = answer({.status = 201});
  EXPECT_EQ(create.path, "/api/v1/namespaces/ns/events");
  const json event = json::parse(create.body);
  EXPECT_EQ(event["apiVersion"], "v1");
  EXPECT_EQ(event["message"], "no node");
  EXPECT_EQ(event["involvedObject"]["name"], "a");
  EXPECT_EQ(event["reportingComponent"], "default-scheduler");
  EXPECT_EQ(event["action"], "Scheduling");
  EXPECT_EQ(event["eventTime"], "2026-01-01T00:00:00.000000Z");
  EXPECT_FALSE(event.contains("note"));
}

TEST_F(EventRecorderTest, EventsWaitUntilTheServerAnswersWhichApiItHas) {
  start();
  fail("a");
  for (const HttpResponse& response : {HttpResponse{.problem = "refused"}, HttpResponse{.status = 503}}) {
    EXPECT_EQ(answer(response).path, "/apis/events.k8s.io/v1");
    EXPECT_FALSE(recorder->next_request());
    EXPECT_GE(recorder->next_wake_us(), clock.now_us() + kSecond / 2);
    pass(12'500'000);
  }
  answer({.status = 403});  // discovery is forbidden: the newer API is tried
  EXPECT_EQ(answer({.status = 201}).path, "/apis/events.k8s.io/v1/namespaces/ns/events");
}

TEST_F(EventRecorderTest, DropsWhatIsBeyondTheLimitAndCountsIt) {
  start_ready({.waiting_max = 3, .in_flight_max = 2});
  for (int i = 0; i < 5; ++i) fail("p" + std::to_string(i));
  EXPECT_EQ(recorder->waiting(), 3u);
  EXPECT_EQ(recorder->counts().dropped_full, 2);
  EXPECT_EQ(recorder->take_messages().size(), 1u);
  const auto first = recorder->next_request();
  const auto second = recorder->next_request();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(recorder->next_request());
  EXPECT_GT(recorder->next_wake_us(), clock.now_us());
  recorder->on_response(first->id, {.status = 201});
  EXPECT_EQ(recorder->next_wake_us(), clock.now_us());
  EXPECT_TRUE(recorder->next_request());
}

TEST_F(EventRecorderTest, FewRequestsAreUnderWayWhileOthersNeedTheServer) {
  start_ready({.in_flight_max = 4});
  recorder->set_yields(true);
  const auto send_all = [this] {
    std::size_t sent = 0;
    while (recorder->next_request()) ++sent;
    return sent;
  };
  for (int i = 0; i < 500; ++i) fail("p" + std::to_string(i));
  EXPECT_EQ(send_all(), 1u);
  EXPECT_GT(recorder->next_wake_us(), clock.now_us());
  for (int i = 0; i < 100; ++i) fail("q" + std::to_string(i));
  EXPECT_EQ(send_all(), 1u) << "599 wait";
  recorder->set_yields(false);
  EXPECT_EQ(send_all(), 2u) << "four are the most";
}

TEST_F(EventRecorderTest, MemoryOfWhatWasSeenIsLimited) {
  start_ready({.keys = {.singles_max = 2, .series_max = 1}});
  for (const char* name : {"a", "b", "c"}) fail(name);
  answer_all();
  requests.clear();
  for (const char* name : {"a", "b", "c"}) fail(name);
  answer_all();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].method, "PATCH");
  EXPECT_EQ(requests[1].method, "POST");  // no room for a second series
  EXPECT_EQ(requests[2].method, "POST");  // c was not remembered
}

TEST_F(EventRecorderTest, NamesWithinOneMicrosecondDiffer) {
  start_ready();
  fail("a", "x", "1");
  fail("a", "x", "2");
  answer_all();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_NE(json::parse(requests[0].body)["metadata"]["name"], json::parse(requests[1].body)["metadata"]["name"]);
}

TEST_F(EventRecorderTest, LongNotesAreCutAt1024BytesBetweenCharacters) {
  start_ready();
  fail("a", std::string(1024, 'x'));
  fail("b", std::string(1019, 'x') + "\xc3\xa9 and more");
  answer_all();
  EXPECT_EQ(json::parse(requests[0].body)["note"], std::string(1024, 'x'));
  EXPECT_EQ(json::parse(requests[1].body)["note"], std::string(1019, 'x') + " ...");
}

TEST(EventObject, NamesThatAreNoDnsNamesBecomeUuids) {
  EXPECT_EQ(event_name("a.b", 255), "a.b.ff");
  EXPECT_EQ(event_name(std::string(253, 'a'), 255).size(), 36u);
  EXPECT_EQ(event_name("system:node", 255).size(), 36u);
}

TEST(EventObject, MicroTimesHaveSixDigits) {
  EXPECT_EQ(format_micro_time(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_micro_time(1'500'000), "1970-01-01T00:00:01.500000Z");
  EXPECT_EQ(format_micro_time(-1), "1969-12-31T23:59:59.999999Z");
}

}  // namespace
}  // namespace berth
