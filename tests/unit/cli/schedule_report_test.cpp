// SPDX-License-Identifier: Apache-2.0
#include "host/cli/schedule_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/cli/schedule_document.h"
#include "tests/unit/report/cluster_builder.h"

namespace berth {
namespace {

ScheduleResult sample() {
  ScheduleResult result;
  result.served_by = "cpu";
  result.why = "no device";
  result.node_names = {"n0", "n1"};
  result.placements = {{make_pod("a", 1), {1}, 417}};
  result.unplaced = {{make_pod("b", 1), "Unschedulable", 0},
                     {make_pod("c", 1), "Unschedulable", 1},
                     {make_pod("d", 1), "SchedulingGated", 2}};
  result.messages = {"0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods.",
                     "0/2 nodes are available: 1 Too many pods, 2 Insufficient cpu.",
                     "waiting for scheduling gates: [x]"};
  result.skipped = {{"default/e", "being deleted"}};
  result.notes = {"devices are not built yet"};
  result.stats.nodes = 2;
  result.stats.pods = 4;
  result.stats.classes = 1;
  result.stats.bytes = {{"columns", 4096}};
  result.resources = {{"cpu", 8000, 2000, 4000, 1000}};
  result.node_use_percent_before = {0, 50};
  result.node_use_percent_after = {0, 100};
  return result;
}

std::string report(const ScheduleResult& result, const ScheduleReportOptions& options,
                   const ClusterObjects& objects = {}) {
  return schedule_report(objects, result, options, Terminal());
}

TEST(CausesOf, IgnoresCountsAndTheirOrder) {
  EXPECT_EQ(causes_of("0/7 nodes are available: 1 Insufficient memory, 3 Insufficient cpu."),
            "Insufficient cpu, Insufficient memory");
  EXPECT_EQ(
      causes_of("0/7 nodes are available: 7 Insufficient cpu. preemption: 0/7 nodes are available: 7 No preemption "
                "victims found for incoming pod."),
      "Insufficient cpu");
  EXPECT_EQ(causes_of("0/7 nodes are available: 7 Insufficient cpu. no new claims to deallocate, preemption: 0/7 nodes "
                      "are available: 7 No preemption victims found for incoming pod."),
            "Insufficient cpu");
  EXPECT_EQ(causes_of("0/7 nodes are available: pod affinity terms conflict. not found"),
            "pod affinity terms conflict");
  EXPECT_EQ(causes_of("0/7 nodes are available: pod affinity terms conflict."), "pod affinity terms conflict");
  EXPECT_EQ(causes_of("no nodes available to schedule pods"), "no nodes available to schedule pods");
  EXPECT_EQ(causes_of(""), "");
}

TEST(GroupUnplaced, GroupsTextsThatDifferOnlyInCounts) {
  const std::vector<UnplacedGroup> groups = group_unplaced(sample());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].pod_count, 2);
  EXPECT_EQ(groups[0].causes, "Insufficient cpu, Too many pods");
  EXPECT_EQ(groups[0].examples, (std::vector<std::string>{"default/b", "default/c"}));
  EXPECT_EQ(groups[1].reason, "SchedulingGated");
}

TEST(ScheduleReport, ShowsPlacedAndUnplacedPods) {
  const std::string text = report(sample(), {});
  EXPECT_EQ(text.rfind("1 pod placed on 2 nodes, 3 not placed, 1 skipped\n", 0), 0u) << text;
  EXPECT_NE(text.find("engine cpu (no device), seed 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2  Insufficient cpu, Too many pods\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SchedulingGated: waiting for scheduling gates: [x]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("default/e  being deleted\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cpu           8 cores  25.0 %  50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("12.5 %"), std::string::npos) << "stranded: " << text;
  EXPECT_NE(text.find("- devices are not built yet\n"), std::string::npos) << text;
}

TEST(ScheduleReport, OmitsAnUnmeasuredRate) {
  EXPECT_EQ(report(sample(), {}).find("pods/s"), std::string::npos);
  ScheduleResult result = sample();
  result.stats.pods_per_second = 1'500'000;
  result.stats.schedule_seconds = 0.002;
  EXPECT_NE(report(result, {}).find("1.50 million pods/s: 4 pending in 2.0 ms, 1 class\n"), std::string::npos);
}

TEST(ScheduleReport, NamesExpandedWorkloadsAndUnusedKinds) {
  ClusterObjects objects;
  Workload workload;
  workload.kind = "Deployment";
  workload.name = "web";
  workload.namespace_ = "shop";
  workload.expanded_pod_count = 3;
  objects.workloads = {workload, Workload()};
  objects.unused_kinds = {{"PersistentVolume", 2}};
  objects.unknown_kinds = {{"example.com/v1/Thing", 1}};
  const std::string text = report(sample(), {}, objects);
  EXPECT_NE(text.find("Workloads expanded: 3 pods from 1 object\n  3  Deployment  shop/web\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Read, but nothing uses them yet\n  2 PersistentVolume\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 example.com/v1/Thing"), std::string::npos) << text;
}

TEST(ScheduleReport, NamesEveryPodWhenWideAndMemoryWithStats) {
  const std::string plain = report(sample(), {});
  EXPECT_EQ(plain.find("default/a"), std::string::npos);
  EXPECT_EQ(plain.find("columns"), std::string::npos);
  const std::string text = report(sample(), {true, true});
  EXPECT_NE(text.find("default/a  n1      417\n"), std::string::npos) << text;
  EXPECT_NE(text.find("columns   4 KiB\n"), std::string::npos) << text;
}

TEST(ScheduleReport, ShowsDeviceFiguresWithStats) {
  ScheduleResult result = sample();
  EXPECT_EQ(report(result, {false, true}).find("\nDevice\n"), std::string::npos);
  result.stats.device.emplace().device = "a device";
  EXPECT_EQ(report(result, {}).find("a device"), std::string::npos);
  EXPECT_NE(report(result, {false, true}).find("\nDevice\n  a device, "), std::string::npos);
}

TEST(ScheduleReport, StaysWithin100ColumnsExceptForNamesAndMessages) {
  const std::string text = report(sample(), {});
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    EXPECT_LE(end - from, 100u) << text.substr(from, end - from);
    from = end + 1;
  }
}

TEST(ScheduleDocument, HasTheFieldsOfTheReport) {
  std::string text;
  {
    Output output(text);
    write_schedule_document(sample(), *json_writer(output, 2));
  }
  const nlohmann::json value = nlohmann::json::parse(text);
  EXPECT_EQ(value["backend"], nlohmann::json::parse(R"({"servedBy":"cpu","why":"no device"})"));
  EXPECT_EQ(value["placements"], nlohmann::json::parse(R"([{"pod":"default/a","node":"n1","score":417}])"));
  EXPECT_EQ(value["unplaced"][2],
            nlohmann::json::parse(
                R"({"pod":"default/d","reason":"SchedulingGated","message":"waiting for scheduling gates: [x]"})"));
  EXPECT_EQ(value["skipped"], nlohmann::json::parse(R"([{"pod":"default/e","reason":"being deleted"}])"));
  EXPECT_EQ(value["stats"]["bytes"]["columns"], 4096);
  EXPECT_FALSE(value["stats"].contains("device"));
}

TEST(ScheduleDocument, HasTheDeviceWhenTheBackendUsesOne) {
  ScheduleResult result = sample();
  result.stats.device.emplace().device = "a device";
  std::string text;
  {
    Output output(text);
    write_schedule_document(result, *json_writer(output, 2));
  }
  EXPECT_EQ(nlohmann::json::parse(text)["stats"]["device"]["name"], "a device");
}

TEST(Bindings, HaveTheFormOfKubectlCreate) {
  std::string text;
  {
    Output output(text);
    write_bindings(sample(), *json_writer(output, 2));
  }
  EXPECT_EQ(nlohmann::json::parse(text), nlohmann::json::parse(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Binding","metadata":{"namespace":"default","name":"a"},
     "target":{"apiVersion":"v1","kind":"Node","name":"n1"}}]})"));
}

}  // namespace
}  // namespace berth
