// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/informers.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/kube/watch/watched_resource.h"
#include "tests/support/scripted_http.h"
#include "tests/unit/kube_watch/watch_lines.h"

namespace berth {
namespace {

const std::vector<WatchedResource> kResources = {
    {ObjectKind::kPod, "pods", "/api/v1/pods", "v1", "Pod"},
    {ObjectKind::kNode, "nodes", "/api/v1/nodes", "v1", "Node"},
    {ObjectKind::kWorkload, "replicasets.apps", "/apis/apps/v1/replicasets", "apps/v1", "ReplicaSet"},
};

std::string pod(const std::string& name, int version, const std::string& phase = "Pending",
                const std::string& uid = "u") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"(","namespace":"a","uid":")" + uid +
         name + R"(","resourceVersion":")" + std::to_string(version) +
         R"("},"spec":{"containers":[{"name":"c"}]},"status":{"phase":")" + phase + R"("}})";
}
const std::string kNode =
    R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n","resourceVersion":"2"},"status":{"allocatable":{"cpu":"4"}}})";
const std::string kReplicaSet =
    R"({"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"r","namespace":"a","resourceVersion":"3"},)"
    R"("spec":{"selector":{"matchLabels":{"app":"x"}},"template":{"spec":{"containers":[{"name":"c"}]}}}})";

class Log : public InformerLog {
 public:
  void on_resource_problem(std::string_view resource, std::string_view problem) override {
    lines.push_back(std::string(resource) + ": " + std::string(problem));
  }
  void on_unreadable_object(std::string_view resource, std::string_view problem) override {
    lines.push_back(std::string(resource) + " unreadable: " + std::string(problem));
  }
  void on_json_only(std::string_view resource) override { lines.push_back(std::string(resource) + ": JSON only"); }
  std::vector<std::string> lines;
};

class InformersTest : public testing::Test {
 protected:
  InformersTest() {
    informers.emplace(Informers::Parts{http, http, clock, events, log}, kResources, InformerOptions(),
                      [this](StoreContents given) { contents = std::move(given); });
    http.advance_us(0);
  }
  HttpStreamReader& stream_of(std::string_view path) {
    for (auto& [id, stream] : http.streams)
      if (stream.request.path.starts_with(path)) return *stream.reader;
    throw std::logic_error("no stream");
  }
  void pods(const std::string& text) { stream_of("/api/v1/pods").on_bytes(text); }
  void sync() {
    pods(watch_line("ADDED", pod("b", 5)) + watch_line("ADDED", pod("a", 4)) + end_of_list(9));
    stream_of("/api/v1/nodes").on_bytes(watch_line("ADDED", kNode) + end_of_list(9));
    stream_of("/apis/apps/v1/replicasets").on_bytes(watch_line("ADDED", kReplicaSet) + end_of_list(9));
  }

  VirtualClock clock{1'000'000'000};
  ScriptedHttp http{clock};
  int wakes = 0;
  EventQueue events{[this] { ++wakes; }};
  Log log;
  std::optional<StoreContents> contents;
  std::optional<Informers> informers;
};

TEST_F(InformersTest, GivesTheContentsWhenAllListsAreThere) {
  pods(watch_line("ADDED", pod("b", 5)) + watch_line("ADDED", pod("a", 4)) + end_of_list(9));
  pods(watch_line("MODIFIED", pod("b", 10)));
  EXPECT_FALSE(contents);
  EXPECT_TRUE(informers->states()[0].is_synced);
  EXPECT_FALSE(informers->states()[1].is_synced);
  stream_of("/api/v1/nodes").on_bytes(watch_line("ADDED", kNode) + end_of_list(9));
  stream_of("/apis/apps/v1/replicasets").on_bytes(watch_line("ADDED", kReplicaSet) + end_of_list(9));
  ASSERT_TRUE(contents);
  ASSERT_EQ(contents->of<Pod>().size(), 2u);
  EXPECT_EQ(contents->of<Pod>()[0]->object->name, "a");
  EXPECT_EQ(contents->of<Pod>()[1]->meta.resource_version, 10u);
  EXPECT_EQ(contents->of<Node>().size(), 1u);
  ASSERT_EQ(contents->of<Workload>().size(), 1u);
  EXPECT_EQ(contents->of<Workload>()[0]->object->kind, "ReplicaSet");
  EXPECT_TRUE(events.take().empty());
}

TEST_F(InformersTest, TellsWhatChangesAfterwards) {
  sync();
  pods(watch_line("ADDED", pod("c", 11)) + watch_line("MODIFIED", pod("a", 12)) + watch_line("DELETED", pod("b", 13)));
  const std::vector<WatchEvent> told = events.take();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].type(), WatchEventType::kAdded);
  EXPECT_EQ(told[1].get<Pod>()->before->meta.resource_version, 4u);
  EXPECT_EQ(told[1].get<Pod>()->after->meta.resource_version, 12u);
  EXPECT_EQ(told[2].get<Pod>()->before->object->name, "b");
  EXPECT_EQ(wakes, 1);
}

TEST_F(InformersTest, KnowsTheVersionOfAPodByNameAndUid) {
  sync();
  const std::vector<StoredPodPtr> listed = contents->of<Pod>();
  EXPECT_EQ(informers->version_of(*listed[0]->object), 4u);
  pods(watch_line("MODIFIED", pod("a", 12)) + watch_line("ADDED", pod("b", 13, "Pending", "other")));
  EXPECT_EQ(informers->version_of(*listed[0]->object), 12u);
  EXPECT_EQ(informers->version_of(*listed[1]->object), 0u) << "another pod has its name";
}

TEST_F(InformersTest, TakesAFinishedPodAsGone) {
  sync();
  pods(watch_line("MODIFIED", pod("a", 12, "Succeeded")));
  pods(watch_line("DELETED", pod("b", 13, "Failed")));
  const std::vector<WatchEvent> told = events.take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].type(), WatchEventType::kDeleted);
  EXPECT_EQ(told[0].get<Pod>()->before->object->name, "a");
  EXPECT_EQ(told[1].get<Pod>()->before->object->name, "b");
}

TEST_F(InformersTest, TakesAnotherUidAsAnotherPod) {
  sync();
  pods(watch_line("MODIFIED", pod("a", 12, "Pending", "other")));
  const std::vector<WatchEvent> told = events.take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].type(), WatchEventType::kDeleted);
  EXPECT_EQ(told[1].type(), WatchEventType::kAdded);
}

TEST_F(InformersTest, TellsWhatAListChanges) {
  sync();
  pods(watch_line("ERROR", R"({"kind":"Status","code":410,"message":"old"})"));
  HttpStreamReader& old = stream_of("/api/v1/pods");
  HttpResponse end;
  end.status = 200;
  old.on_end(end);
  http.streams.erase(http.streams.begin());
  pods(watch_line("ADDED", pod("a", 4)) + watch_line("ADDED", pod("c", 20)) + end_of_list(30));
  const std::vector<WatchEvent> told = events.take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].type(), WatchEventType::kDeleted);
  EXPECT_EQ(told[0].get<Pod>()->before->object->name, "b");
  EXPECT_EQ(told[1].get<Pod>()->after->object->name, "c");
}

TEST_F(InformersTest, LeavesOutWhatCannotBeReadAndSaysSo) {
  sync();
  pods(watch_line("ADDED",
                  R"({"metadata":{"name":"x","namespace":"a","resourceVersion":"40"},"spec":{"priority":"high"}})"));
  EXPECT_TRUE(events.take().empty());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("pods unreadable: Pod a/x"), std::string::npos) << log.lines[0];
  EXPECT_EQ(informers->states()[0].unreadable_objects, 1u);
}

TEST(InformersWithPlugins, KeepWhatTheyDeclaredAndAskForItAsJson) {
  DeclaredPaths declared;
  declared.add_of_pod("metadata.annotations['x/y']");
  VirtualClock clock(1'000'000'000);
  ScriptedHttp http(clock);
  EventQueue events([] {});
  Log log;
  std::optional<StoreContents> contents;
  const std::string both = "application/vnd.kubernetes.protobuf,application/json";
  const std::vector<WatchedResource> pods_and_nodes(kResources.begin(), kResources.begin() + 2);
  const Informers informers({http, http, clock, events, log}, pods_and_nodes,
                            {{.accept = both}, std::make_shared<const DeclaredPaths>(declared)},
                            [&](StoreContents given) { contents = std::move(given); });
  http.advance_us(0);
  const std::string annotated =
      R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a","uid":"u","resourceVersion":"4",)"
      R"("annotations":{"x/y":"5","z":"6"}},"spec":{"containers":[{"name":"c"}]}})";
  std::string accepted;
  for (auto& [id, stream] : http.streams) {
    const bool is_of_pods = stream.request.path.starts_with("/api/v1/pods");
    accepted += (is_of_pods ? "pods " : "nodes ") + stream.request.accept + "\n";
    stream.reader->on_bytes(watch_line("ADDED", is_of_pods ? annotated : kNode) + end_of_list(9));
  }
  EXPECT_NE(accepted.find("pods application/json\n"), std::string::npos) << accepted;
  EXPECT_NE(accepted.find("nodes " + both + "\n"), std::string::npos) << accepted;
  ASSERT_TRUE(contents);
  const Pod& pod = *contents->of<Pod>().at(0)->object;
  ASSERT_NE(find_declared(pod.rare().declared, 0), nullptr);
  EXPECT_EQ(*find_declared(pod.rare().declared, 0), "5");
}

TEST(WatchedResources, FollowThePluginsOfTheProfiles) {
  const SchedulerConfig config = default_scheduler_config(FeatureGates(Release::k1_35));
  EXPECT_EQ(watched_resources(config).size(), 15u);
  SchedulerConfig bare = config;
  for (Profile& profile : bare.profiles)
    for (auto& set : profile.plugins) set.clear();
  EXPECT_EQ(watched_resources(bare).size(), 3u);
}

}  // namespace
}  // namespace berth
