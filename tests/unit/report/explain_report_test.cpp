// SPDX-License-Identifier: Apache-2.0
#include "host/report/explain_report.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "host/report/document_formats.h"
#include "host/report/output.h"
#include "tests/unit/report/cluster_builder.h"

namespace berth {
namespace {

NodeEvaluation fitting(std::int32_t index, std::int64_t total) {
  NodeEvaluation node;
  node.node = {index};
  node.feasible = true;
  node.total = total;
  node.scores = {{"NodeResourcesFit", total, total, 1}};
  return node;
}

NodeEvaluation refusing(std::int32_t index, const std::string& reason) {
  NodeEvaluation node;
  node.node = {index};
  node.status = {StatusCode::kUnschedulable, "NodeResourcesFit", {reason}};
  return node;
}

constexpr std::array<std::string_view, 5> kNames = {"n0", "n1", "n2", "n3", "n4"};

std::string_view name_of(NodeIndex node) { return kNames.at(static_cast<std::size_t>(node.value)); }

/// The report on a pod in that state.
std::string report_of(const PodPtr& pod, const Evaluation& evaluation, const ClusterObjects& objects = {},
                      const PodStanding& standing = {}, const Evaluation& topology = {}) {
  const Profile profile = make_profile();
  Explanation explanation{pod->full_name(), pod, standing, &profile, evaluation};
  explanation.topology = topology;
  return explain_report(explanation, name_of, make_cluster(objects), Terminal());
}

TEST(GroupNodes, GroupsEqualResultsBestFirstThenRejectionsBySize) {
  Evaluation evaluation;
  evaluation.nodes = {refusing(0, "Too many pods"), fitting(1, 10), refusing(2, "Insufficient cpu"), fitting(3, 20),
                      refusing(4, "Insufficient cpu")};
  const std::vector<NodeGroup> groups = group_nodes(evaluation);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].first->total, 20);
  EXPECT_EQ(groups[1].first->total, 10);
  EXPECT_EQ(groups[2].node_count, 2);
  EXPECT_EQ(groups[2].first->status.reasons.front(), "Insufficient cpu");
  EXPECT_EQ(groups[3].examples.front().value, 0);
}

TEST(ExplainReport, NamesTheRejectionTheNearestMissAndTheSmallestChange) {
  ClusterObjects objects;
  objects.nodes = {make_node("n0"), make_node("n1")};
  objects.pods = {make_pod("r", 3800, "n0"), make_pod("s", 3000, "n1")};
  Evaluation evaluation;
  evaluation.nodes = {refusing(0, "Insufficient cpu"), refusing(1, "Insufficient cpu")};
  evaluation.message = "0/2 nodes are available: 2 Insufficient cpu.";
  const std::string text = report_of(make_pod("web", 1500), evaluation, objects);
  EXPECT_NE(text.find("default/web (profile default-scheduler): fits 0 of 2 nodes\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"0/2 nodes are available: 2 Insufficient cpu.\""), std::string::npos) << text;
  EXPECT_NE(text.find("    2  NodeResourcesFit: Insufficient cpu      -  n0, n1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Nearest miss\n  node n1: 500m cpu more\n"), std::string::npos) << text;
}

TEST(ExplainReport, MentionsTopologyBehindAnEarlierRejection) {
  ClusterObjects objects;
  objects.nodes = {make_node("n0"), make_node("n1")};
  objects.pods = {make_pod("r", 3800, "n0"), make_pod("s", 3000, "n1")};
  Evaluation evaluation;
  evaluation.nodes = {refusing(0, "Insufficient cpu"), refusing(1, "Insufficient cpu")};
  Evaluation topology;
  topology.nodes = {fitting(0, 1),
                    {{1},
                     false,
                     {StatusCode::kUnschedulable, "InterPodAffinity", {"node(s) didn't match pod anti-affinity rules"}},
                     {},
                     0}};
  const std::string text = report_of(make_pod("web", 1500), evaluation, objects, {}, topology);
  EXPECT_NE(text.find("Nearest miss\n  node n0: 1300m cpu more\n"), std::string::npos) << text;
}

TEST(ExplainReport, ShowsTheBestScoresAndNoMissWhenAllNodesFit) {
  Evaluation evaluation;
  evaluation.nodes = {fitting(0, 10), fitting(1, 20)};
  evaluation.best = {{1}};
  const std::string text = report_of(make_pod("web", 1), evaluation);
  EXPECT_NE(text.find("fits 2 of 2 nodes, best n1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("NodeResourcesFit   20          20       1      20\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Nearest miss"), std::string::npos) << text;
}

TEST(ExplainReport, ShowsTheErrorThatEndedTheEvaluation) {
  Evaluation evaluation;
  evaluation.error = "plugin \"VolumeBinding\" is not supported yet";
  const std::string text = report_of(make_pod("web", 1), evaluation);
  EXPECT_NE(text.find("error: plugin \"VolumeBinding\" is not supported yet"), std::string::npos) << text;
  EXPECT_NE(text.find("not placed: its scheduling cycle ends with an error"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 of 0"), std::string::npos) << text;
}

TEST(ExplainReport, SaysThatThereIsNoNode) {
  Evaluation evaluation;
  evaluation.message = "no nodes available to schedule pods";
  const std::string text = report_of(make_pod("web", 1), evaluation);
  EXPECT_NE(text.find("there is no node in the input"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 of 0"), std::string::npos) << text;
}

TEST(ExplainReport, SaysGatesBeforeAnyFit) {
  Evaluation evaluation;
  evaluation.nodes = {fitting(0, 10)};
  evaluation.best = {{0}};
  const std::string text =
      report_of(make_pod("web", 1), evaluation, {}, {PodState::kGated, "waiting for scheduling gates: [quota review]"});
  const std::size_t gated = text.find("is gated, waiting for scheduling gates: [quota review]\n");
  EXPECT_NE(gated, std::string::npos) << text;
  EXPECT_LT(gated, text.find("fits 1 of 1 node")) << text;
}

TEST(ExplainReport, ComparesTheNodeOfARunningPodWithTheOthers) {
  Evaluation evaluation;
  evaluation.nodes = {fitting(0, 10), fitting(1, 20), refusing(2, "Insufficient cpu")};
  evaluation.best = {{1}};
  const std::string text = report_of(make_pod("web", 1, "n0"), evaluation, {}, {PodState::kRunning, ""});
  EXPECT_NE(text.find("default/web (profile default-scheduler): runs on node n0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("taken out of its node: fits 2 of 3 nodes, best n1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("its node n0 fits with a total of 10: 1 node has more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Scores of its node"), std::string::npos) << text;
  const std::string refused = report_of(make_pod("web", 1, "n2"), evaluation, {}, {PodState::kRunning, ""});
  EXPECT_NE(refused.find("its node n2 would refuse it now: NodeResourcesFit: Insufficient cpu\n"), std::string::npos)
      << refused;
}

TEST(ExplainReport, ShowsRefusalsBehindManyGroupsThatFit) {
  Evaluation evaluation;
  for (std::int32_t i = 0; i < 30; ++i) evaluation.nodes.push_back(fitting(i % 4, i));
  evaluation.nodes.push_back(refusing(4, "Insufficient cpu"));
  evaluation.best = {{1}};
  const std::string text = report_of(make_pod("web", 1), evaluation);
  EXPECT_NE(text.find("NodeResourcesFit: Insufficient cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("... and 10 more nodes that fit, in 10 groups"), std::string::npos) << text;
}

TEST(ExplainReport, SaysOfAFinishedPodWhereItRan) {
  const std::string text = report_of(make_pod("done", 1, "n0"), {}, {}, {PodState::kFinished, "phase Failed"});
  EXPECT_NE(
      text.find("default/done (profile default-scheduler): has finished on node n0 (phase Failed) and takes no part "
                "in scheduling\n"),
      std::string::npos)
      << text;
}

TEST(ExplainRecord, OmitsEmptyFields) {
  Evaluation evaluation;
  NodeEvaluation outside;
  outside.node = {2};
  outside.status = {StatusCode::kUnschedulableAndUnresolvable, "PreFilter", {}};
  evaluation.nodes = {fitting(0, 10), refusing(1, "Insufficient cpu"), outside};
  evaluation.best = {{0}};
  std::string text;
  {
    Output output(text);
    const PodPtr pod = make_pod("web", 1);
    write_explain_record({pod->full_name(), pod, {}, nullptr, evaluation}, name_of, *json_writer(output, 0));
  }
  EXPECT_EQ(nlohmann::json::parse(text), nlohmann::json::parse(R"({
    "schemaVersion":1,"pod":"default/web","state":"Pending","profile":"default-scheduler","best":["n0"],"nodes":[
    {"node":"n0","feasible":true,"scores":[{"plugin":"NodeResourcesFit","raw":10,"normalized":10,"weight":1}],"total":10},
    {"node":"n1","feasible":false,"plugin":"NodeResourcesFit","code":"Unschedulable","reasons":["Insufficient cpu"],"total":0},
    {"node":"n2","feasible":false,"plugin":"PreFilter","code":"UnschedulableAndUnresolvable","total":0}]})"));
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "a record is one line";
}

}  // namespace
}  // namespace berth
