// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.h"
#include "tests/cli/schema.h"

namespace berth::test {
namespace {

using Json = nlohmann::json;

TEST(Explain, WritesOneJsonLinePerPendingPod) {
  const ProgramRun run = run_berth({"explain", "--all", "-f", "-", "-o", "json"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::istringstream lines(run.out);
  std::vector<std::string> pods;
  for (std::string line; std::getline(lines, line);) {
    const Json record = Json::parse(line);
    EXPECT_TRUE(matches_schema(record, "explain-record")) << line;
    pods.push_back(record["pod"]);
  }
  EXPECT_EQ(pods, (std::vector<std::string>{"default/fits", "default/too-big", "default/gated"}));
}

TEST(Explain, GivesVerdictsAndScoresOfEveryNode) {
  const Json record = Json::parse(run_berth({"explain", "fits", "-f", "-", "-o", "json"}, small_cluster()).out);
  ASSERT_EQ(record["nodes"].size(), 3u);
  EXPECT_EQ(record["best"], Json::parse(R"(["a"])"));
  EXPECT_FALSE(record.contains("message"));
  for (const Json& node : record["nodes"]) {
    if (node["node"] == "a") {
      EXPECT_EQ(node["feasible"], true);
      EXPECT_FALSE(node["scores"].empty()) << "scores are given for a single feasible node too";
    } else {
      EXPECT_EQ(node["plugin"], node["node"] == "b" ? "TaintToleration" : "NodeUnschedulable") << node;
      EXPECT_EQ(node["total"], 0);
    }
  }
}

TEST(Explain, PrintsTheSmallestChangeThatHelps) {
  const ProgramRun run = run_berth({"explain", "default/too-big", "-f", "-"}, small_cluster());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("fits 0 of 3 nodes"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("TaintToleration: node(s) had untolerated taint(s)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("node a: 500m cpu more"), std::string::npos) << run.out;
}

TEST(Explain, RefusesAPodThatIsNotPending) {
  const ProgramRun running = run_berth({"explain", "running", "-f", "-"}, small_cluster());
  EXPECT_EQ(running.exit_code, 1);
  EXPECT_NE(running.err.find("is on node a already"), std::string::npos) << running.err;
  const ProgramRun unknown = run_berth({"explain", "nobody", "-f", "-"}, small_cluster());
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("no pod nobody"), std::string::npos) << unknown.err;
}

TEST(Explain, RequiresEitherAPodOrAll) {
  EXPECT_EQ(run_berth({"explain", "-f", "-"}, small_cluster()).exit_code, 2);
  EXPECT_EQ(run_berth({"explain", "fits", "--all", "-f", "-"}, small_cluster()).exit_code, 2);
}

TEST(Explain, TheSchemaRejectsAFeasibleNodeWithReasons) {
  Json record = Json::parse(run_berth({"explain", "fits", "-f", "-", "-o", "json"}, small_cluster()).out);
  for (Json& node : record["nodes"]) node["reasons"] = {"because"};
  EXPECT_FALSE(matches_schema(record, "explain-record"));
}

}  // namespace
}  // namespace berth::test
