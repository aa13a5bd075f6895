// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"
#include "tests/support/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

std::string pod(const std::string& name, int priority, const std::string& node = "") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: \"" + name + "\", namespace: team, labels: {app: x}}\n" +
         "spec: {priority: " + std::to_string(priority) + (node.empty() ? "" : ", nodeName: " + node) +
         ", containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}\n";
}

/// A node of one core with a running pod, and a pod of higher priority.
std::string full_node() {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: node}\nstatus: {allocatable: {cpu: 1, memory: 4Gi, pods: "
         "10}}\n" +
         pod("low", 0, "node") + pod("urgent", 5) +
         "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: keep, namespace: team}\n"
         "spec: {selector: {matchLabels: {app: x}}}\nstatus: {disruptionsAllowed: 0}\n";
}

ProgramRun schedule_quietly(std::vector<std::string> more, const std::string& input = full_node()) {
  std::vector<std::string> arguments = {"schedule", "-q", "-f", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_berth(arguments, input);
}

TEST(Preemption, TheReportNamesTheVictimsOfEachPod) {
  const Json report = Json::parse(schedule_quietly({"-o", "json"}).out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  ASSERT_EQ(report["placements"].size(), 1u) << report;
  EXPECT_EQ(report["placements"][0]["pod"], "team/urgent");
  EXPECT_EQ(report["placements"][0]["preempted"], Json::parse(R"(["team/low"])"));
  EXPECT_EQ(report["violatedBudgets"], Json::parse(R"([{"budget":"team/keep","allowed":0,"evicted":1}])"));
}

TEST(Preemption, TheTextReportSaysIt) {
  const std::string out = schedule_quietly({}).out;
  EXPECT_NE(out.find("Preempted: 1 pod by 1 pod"), std::string::npos) << out;
  EXPECT_NE(out.find("team/urgent  node  team/low"), std::string::npos) << out;
  EXPECT_NE(out.find("PodDisruptionBudget team/keep is violated: 1 evicted, 0 allowed"), std::string::npos) << out;
}

TEST(Preemption, NominateStopsAtTheNomination) {
  const Json report = Json::parse(schedule_quietly({"-o", "json", "--preemption", "nominate"}).out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  ASSERT_EQ(report["unplaced"].size(), 1u) << report;
  EXPECT_EQ(report["unplaced"][0]["nominatedNode"], "node");
  EXPECT_EQ(report["unplaced"][0]["preempted"], Json::parse(R"(["team/low"])"));
  EXPECT_TRUE(report["placements"].empty());
}

TEST(Preemption, OffLeavesItOut) {
  const Json report = Json::parse(schedule_quietly({"-o", "json", "--preemption", "off"}).out);
  EXPECT_TRUE(matches_schema(report, "schedule-report"));
  ASSERT_EQ(report["unplaced"].size(), 1u) << report;
  EXPECT_FALSE(report["unplaced"][0].contains("nominatedNode"));
  EXPECT_FALSE(report["unplaced"][0].contains("preempted"));
  EXPECT_EQ(schedule_quietly({"--preemption", "maybe"}).exit_code, 2);
}

TEST(Preemption, KeptBudgetsLeaveThePodWithoutANode) {
  const Json report = Json::parse(schedule_quietly({"-o", "json", "--keep-budgets"}).out);
  EXPECT_EQ(report["unplaced"].size(), 1u) << report;
  EXPECT_FALSE(report.contains("violatedBudgets"));
}

TEST(Preemption, BindingsStayBindings) {
  const Json list = Json::parse(schedule_quietly({"-o", "bindings"}).out);
  ASSERT_EQ(list["items"].size(), 1u) << list;
  EXPECT_EQ(list["items"][0]["kind"], "Binding");
  EXPECT_EQ(list["items"][0]["metadata"]["name"], "urgent");
}

TEST(Preemption, DeletionsAreLinesForAShell) {
  EXPECT_EQ(schedule_quietly({"-o", "deletions"}).out, "kubectl delete pod --namespace team low\n");
  EXPECT_EQ(schedule_quietly({"-o", "deletions", "--preemption", "off"}).out, "");
}

TEST(Preemption, AHostileNameIsOneWordOfADeletion) {
  std::string input = full_node();
  input.replace(input.find("\"low\""), 5, "\"$(x) ;\\n'\"");
  EXPECT_EQ(schedule_quietly({"-o", "deletions"}, input).out,
            "kubectl delete pod --namespace team $'\\x24\\x28x\\x29\\x20\\x3b\\x0a\\x27'\n");
}

}  // namespace
}  // namespace berth::test
