// SPDX-License-Identifier: Apache-2.0
// docs/behaviour/scheduler-core.md 8.3
#include "host/kube/watch/reflector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/scripted_http.h"
#include "tests/unit/kube_protobuf/wire_writer.h"
#include "tests/unit/kube_watch/watch_lines.h"

namespace berth {
namespace {

constexpr const char* kBothTypes = "application/vnd.kubernetes.protobuf, */*";
constexpr WatchedResource kNodes{ObjectKind::kNode, "nodes", "/api/v1/nodes", "v1", "Node"};

std::string object(int version) {
  return R"({"metadata":{"name":"n","resourceVersion":")" + std::to_string(version) + R"("}})";
}
std::string error(int code, std::string_view message = "no") {
  return watch_line("ERROR", R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"message":")" +
                                 std::string(message) + R"("})");
}

class Recorder : public ReflectedObjects {
 public:
  void begin_list() override { listed = 0; }
  void add_listed(std::string_view json, const ObjectVersion*) override {
    ++listed;
    last = json;
  }
  void end_list() override { told.push_back("list of " + std::to_string(listed)); }
  void apply(WatchLineType type, std::string_view json, const ObjectVersion&) override {
    last = json;
    told.push_back(std::vector<std::string>{"added", "modified", "deleted"}.at(static_cast<std::size_t>(type)));
  }
  void flush() override {}
  void note_problem(const std::string& text) override { problem = text; }
  void note_json_only() override { told.emplace_back("JSON only"); }

  int listed = 0;
  std::vector<std::string> told;
  std::string last;  ///< object
  std::string problem;
};

class ReflectorTest : public testing::Test {
 protected:
  void start(bool streams_lists = true, const std::string& accept = "application/json") {
    ReflectorOptions options;
    options.accept = accept;
    options.streams_lists = streams_lists;
    reflector = std::make_shared<Reflector>(Reflector::Parts{http, http, clock, objects, kNodes}, options);
    reflector->start();
    http.advance_us(0);
  }
  bool asks_for(std::string_view part) { return http.stream().request.path.find(part) != std::string::npos; }
  void list_by_stream(int version) {
    http.bytes(watch_line("ADDED", object(version)));
    http.bytes(end_of_list(version));
  }

  VirtualClock clock{1'000'000'000};
  ScriptedHttp http{clock};
  Recorder objects;
  std::shared_ptr<Reflector> reflector;
};

TEST_F(ReflectorTest, ListsByAStreamThatGoesOnAsWatch) {
  start();
  EXPECT_TRUE(
      asks_for("/api/v1/nodes?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
               "&resourceVersionMatch=NotOlderThan&resourceVersion=&timeoutSeconds="));
  http.bytes(watch_line("ADDED", object(3)));
  http.bytes(watch_line("ADDED", object(4)));
  EXPECT_TRUE(objects.told.empty());
  http.bytes(end_of_list(9));
  http.bytes(watch_line("MODIFIED", object(10)));
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 2", "modified"}));
}

TEST_F(ReflectorTest, OpensAWatchAgainFromTheLastVersion) {
  start();
  list_by_stream(9);
  http.bytes(watch_line("BOOKMARK", object(20)));
  http.advance_us(5'000'000);
  http.end_stream(200);
  EXPECT_TRUE(asks_for("allowWatchBookmarks=true&resourceVersion=20&"));
  EXPECT_FALSE(asks_for("sendInitialEvents"));
  EXPECT_EQ(objects.told.size(), 1u);
}

TEST_F(ReflectorTest, GoesOnAfterALostConnection) {
  start();
  list_by_stream(9);
  http.advance_us(5'000'000);
  HttpResponse lost;
  lost.problem = "connection reset";
  http.end_stream(lost);
  EXPECT_TRUE(asks_for("resourceVersion=9&"));
}

TEST_F(ReflectorTest, WaitsWhereNobodyListensAndKeepsItsVersion) {
  start();
  list_by_stream(9);
  http.advance_us(5'000'000);
  http.end_stream(200);
  HttpResponse refused;
  refused.problem = "connection refused";
  refused.was_not_sent = true;
  for (int tries = 0; tries < 4; ++tries) {
    http.end_stream(refused);
    EXPECT_TRUE(http.streams.empty());
    EXPECT_EQ(objects.problem, "cannot watch nodes: connection refused");
    http.advance_us(60'000'000);
    EXPECT_TRUE(asks_for("resourceVersion=9&"));
  }
  http.bytes(watch_line("BOOKMARK", object(30)));
  EXPECT_EQ(objects.problem, "");
}

TEST_F(ReflectorTest, ListsAgainWhereTheVersionIsForgotten) {
  start();
  list_by_stream(9);
  http.advance_us(5'000'000);
  http.bytes(error(410, "too old resource version"));
  EXPECT_TRUE(asks_for("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9&"));
  EXPECT_EQ(reflector->counts().expired, 1u);
  http.bytes(error(410));
  EXPECT_TRUE(asks_for("&resourceVersion=&"));
  list_by_stream(50);
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 1", "list of 1"}));
}

TEST_F(ReflectorTest, DropsAListThatBreaks) {
  start();
  http.bytes(watch_line("ADDED", object(3)));
  http.end_stream(200);
  EXPECT_TRUE(http.streams.empty());
  http.advance_us(2'000'000);
  list_by_stream(9);
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 1"}));
}

TEST_F(ReflectorTest, ListsInPagesWhereTheServerHasNoStreams) {
  start();
  http.end_stream(422, R"({"kind":"Status","code":422,"message":"sendInitialEvents is forbidden for watch"})");
  ASSERT_EQ(http.calls.size(), 1u);
  EXPECT_EQ(http.calls[0].request.path, "/api/v1/nodes?limit=500");
  http.answer(200, R"({"kind":"NodeList","metadata":{"resourceVersion":"40","continue":"a b"},"items":[)" + object(1) +
                       "," + object(2) + "]}");
  ASSERT_EQ(http.calls.size(), 1u);
  EXPECT_EQ(http.calls[0].request.path, "/api/v1/nodes?limit=500&continue=a%20b");
  http.answer(200, R"({"metadata":{"resourceVersion":"40"},"items":null})");
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 2"}));
  EXPECT_TRUE(asks_for("resourceVersion=40&"));
}

TEST_F(ReflectorTest, SaysWhatTheServerForbidsAndTriesAgain) {
  start();
  const std::string body = R"({"kind":"Status","code":403,"message":"nodes is forbidden"})";
  http.end_stream(403, body);
  http.answer(403, body);
  EXPECT_EQ(objects.problem, "cannot list nodes: nodes is forbidden (403)");
  EXPECT_TRUE(http.streams.empty() && http.calls.empty());
  http.advance_us(2'000'000);
  list_by_stream(9);
  EXPECT_EQ(objects.problem, "");
}

TEST_F(ReflectorTest, WaitsAsLongAsTheServerSays) {
  start();
  HttpResponse busy;
  busy.status = 429;
  busy.retry_after_s = 17;
  http.end_stream(busy);
  http.advance_us(16'999'999);
  EXPECT_TRUE(http.streams.empty());
  http.advance_us(1);
  EXPECT_TRUE(asks_for("sendInitialEvents=true"));
}

TEST_F(ReflectorTest, TakesAShortWatchWithoutEventsAsAFailure) {
  start();
  list_by_stream(9);
  http.advance_us(5'000'000);
  http.end_stream(200);
  http.end_stream(200);
  EXPECT_TRUE(http.streams.empty());
  EXPECT_EQ(objects.problem, "cannot watch nodes: the watch ended within a second and brought nothing");
  http.advance_us(2'000'000);
  EXPECT_TRUE(asks_for("sendInitialEvents=true"));
}

std::string protobuf_object(int version) {
  return enveloped("Node", wire(1, wire(1, "n") + wire(6, std::to_string(version))));
}
std::string protobuf_end_of_list(int version) {
  const std::string annotation = wire(1, "k8s.io/initial-events-end") + wire(2, "true");
  return watch_frame("BOOKMARK", enveloped("Node", wire(1, wire(6, std::to_string(version)) + wire(12, annotation))));
}
std::string protobuf_error(int code, std::string_view message) {
  return enveloped("Status", wire(2, "Failure") + wire(3, message) + wire(6, code));
}

TEST_F(ReflectorTest, ReadsAStreamOfProtobuf) {
  start(true, kBothTypes);
  EXPECT_EQ(http.stream().request.accept, kBothTypes);
  const std::string list = watch_frame("ADDED", protobuf_object(3)) + watch_frame("ADDED", protobuf_object(4)) +
                           protobuf_end_of_list(9) + watch_frame("MODIFIED", protobuf_object(10));
  for (const char byte : list) http.bytes({&byte, 1});
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 2", "modified"}));
  EXPECT_EQ(objects.last, R"({"metadata":{"name":"n","resourceVersion":"10"}})");
  http.bytes(watch_frame("ERROR", protobuf_error(410, "too old")));
  EXPECT_EQ(reflector->counts().expired, 1u);
  EXPECT_TRUE(asks_for("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=10&"));
  list_by_stream(20);  // a server that is older, behind the same address
  EXPECT_EQ(objects.told.back(), "list of 1");
}

TEST_F(ReflectorTest, ReadsPagesOfProtobuf) {
  start(false, kBothTypes);
  EXPECT_EQ(http.calls[0].request.accept, kBothTypes);
  const std::string item = wire(1, wire(1, "n") + wire(6, "3"));
  http.answer(200, enveloped("NodeList", wire(1, wire(2, "40") + wire(3, "next/page")) + wire(2, item)));
  EXPECT_NE(http.calls[0].request.path.find("continue=next%2Fpage"), std::string::npos);
  http.answer(200, enveloped("NodeList", wire(1, wire(2, "40")) + wire(2, item) + wire(2, item)));
  EXPECT_EQ(objects.told, (std::vector<std::string>{"list of 3"}));
  EXPECT_TRUE(asks_for("resourceVersion=40&"));
}

TEST_F(ReflectorTest, SaysWhatIsWrongWithProtobuf) {
  const auto problem_of_frame = [&](const std::string& frame) {
    start(true, kBothTypes);
    http.bytes(frame);
    http.streams.clear();
    return objects.problem;
  };
  EXPECT_EQ(problem_of_frame(watch_frame("ADDED", enveloped("Pod", ""))),
            "cannot list nodes: a Node in protobuf is of the kind \"Pod\"");
  EXPECT_EQ(problem_of_frame(watch_frame("ADDED", enveloped("Node", wire(2, wire(4, "x"))))),
            "cannot list nodes: a Node in protobuf: spec.unschedulable is of another type than expected");
  EXPECT_EQ(problem_of_frame(watch_frame("CHANGED", "")),
            "cannot list nodes: a watch event in protobuf is of an unknown type");
  EXPECT_EQ(problem_of_frame(watch_frame("ADDED", "{}")),
            "cannot list nodes: an object in protobuf does not begin as one does");
  EXPECT_EQ(problem_of_frame(watch_frame("ADDED", enveloped("Node", ""))),
            "cannot list nodes: an object without metadata: The JSON field referenced does not exist in this object.");
  start(false, kBothTypes);
  http.answer(200, enveloped("PodList", ""));
  EXPECT_EQ(objects.problem, "cannot list nodes: a list in protobuf is of the kind \"PodList\"");
  start(false, kBothTypes);
  http.answer(200, enveloped("NodeList", ""));
  EXPECT_EQ(objects.problem, "cannot list nodes: the list has no resourceVersion");
}

TEST_F(ReflectorTest, ReadsErrorsInProtobuf) {
  start(true, kBothTypes);
  http.end_stream(403, protobuf_error(403, "nodes is forbidden"));
  http.answer(403, protobuf_error(403, "nodes is forbidden"));
  EXPECT_EQ(objects.problem, "cannot list nodes: nodes is forbidden (403)");
}

TEST_F(ReflectorTest, AsksForJsonWhereThereIsNoProtobuf) {
  start(true, "application/vnd.kubernetes.protobuf");
  http.end_stream(406, R"({"kind":"Status","code":406,"message":"only the following media types are accepted"})");
  EXPECT_EQ(objects.told, (std::vector<std::string>{"JSON only"}));
  EXPECT_EQ(http.stream().request.accept, "application/json");
  EXPECT_TRUE(asks_for("sendInitialEvents=true"));
  http.end_stream(406, "");
  http.answer(406, "");
  EXPECT_EQ(objects.told.size(), 1u);
  EXPECT_EQ(objects.problem, "cannot list nodes:  (406)");
}

TEST_F(ReflectorTest, ListsAgainAfterTextThatIsNoEvent) {
  start();
  list_by_stream(9);
  http.bytes("{\"type\":\n");
  http.advance_us(2'000'000);
  EXPECT_TRUE(asks_for("sendInitialEvents=true"));
}

}  // namespace
}  // namespace berth
