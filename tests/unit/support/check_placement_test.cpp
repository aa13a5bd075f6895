// SPDX-License-Identifier: Apache-2.0
// Each rule of the checker is violated here on purpose, so that every check is known to fail.

#include "tests/support/check_placement.h"

#include <gtest/gtest.h>

#include "tests/support/scenario.h"

namespace berth::test {
namespace {

using Lines = std::vector<std::string>;

/// Puts every pending pod of `text` on the node given for it, in order.
Lines problems(const std::string& text, const Lines& nodes, const CheckRules& rules = {}) {
  const Scenario scenario = parse_scenario(text);
  const std::vector<PodPtr> pending = scenario.pending();
  std::vector<PlacedPod> placed;
  for (std::size_t i = 0; i < nodes.size(); ++i) placed.push_back({pending.at(i), nodes[i]});
  return check_placement(scenario.objects, placed, rules);
}

TEST(CheckPlacement, AcceptsAnExactFit) {
  EXPECT_EQ(problems("node n cpu=2 memory=1Gi pods=2\npod p*2 cpu=1 memory=512Mi", {"n", "n"}), Lines{});
}

TEST(CheckPlacement, ReportsAnOvercommittedResource) {
  EXPECT_EQ(problems("node n cpu=2\npod r on=n cpu=1\npod p*2 cpu=1", {"n", "n"}),
            Lines{"node n is overcommitted in cpu"});
  EXPECT_EQ(problems("node n cpu=2\npod p res:a.example/x=1", {"n"}), Lines{"node n is overcommitted in a.example/x"});
}

TEST(CheckPlacement, IgnoresAnOldOvercommitmentWithoutNewPods) {
  EXPECT_EQ(problems("node n cpu=2 memory=1Gi\npod r on=n cpu=3\npod p memory=1Gi", {"n"}), Lines{});
}

TEST(CheckPlacement, SkipsIgnoredResources) {
  CheckRules rules;
  rules.ignored_resources = {"a.example/x"};
  rules.ignored_resource_groups = {"b.example"};
  EXPECT_EQ(problems("node n\npod p res:a.example/x=1 res:b.example/y=1", {"n"}, rules), Lines{});
}

TEST(CheckPlacement, ReportsTooManyPods) {
  EXPECT_EQ(problems("node n pods=1\npod r on=n\npod p", {"n"}), Lines{"node n holds 2 pods of 1"});
}

TEST(CheckPlacement, ReportsAPortConflict) {
  EXPECT_EQ(problems("node n\npod r on=n port=127.0.0.1/TCP/80\npod p port=80", {"n"}),
            Lines{"node n gives host port 80 to default/p and to default/r"});
  EXPECT_EQ(
      problems("node n\npod r on=n port=127.0.0.1/TCP/80\npod p port=127.0.0.2/TCP/80\npod q port=UDP/80", {"n", "n"}),
      Lines{});
}

TEST(CheckPlacement, ReportsAnUntoleratedTaintAndACordon) {
  EXPECT_EQ(problems("node n taint=a:NoExecute\npod p", {"n"}),
            Lines{"pod default/p does not tolerate the taint a of n"});
  EXPECT_EQ(problems("node n unschedulable\npod p", {"n"}).size(), 1u);
  EXPECT_EQ(problems("node n taint=a=5:NoSchedule\npod p tolerate=a>4", {"n"}).size(), 1u);
  CheckRules rules;
  rules.compares_taints = true;
  EXPECT_EQ(problems("node n taint=a=5:NoSchedule\npod p tolerate=a>4", {"n"}, rules), Lines{});
  EXPECT_EQ(problems("node n taint=a:PreferNoSchedule\npod p", {"n"}), Lines{});
}

TEST(CheckPlacement, ReportsANodeThatDoesNotMatch) {
  EXPECT_EQ(problems("node n label:a=b\npod p select:a=c", {"n"}), Lines{"pod default/p does not select n"});
  EXPECT_EQ(problems("node n label:a=b\npod p need=a:In:c need=", {"n"}),
            Lines{"pod default/p has an affinity that refuses n"});
  EXPECT_EQ(problems("node n label:a=7\npod p need=a:Gt:6 need=a:Gt:-5", {"n"}), Lines{});
  CheckRules rules;
  rules.added_affinity = NodeAffinity{.required = std::vector<NodeSelectorTerm>{}, .preferred = {}};
  EXPECT_EQ(problems("node n\npod p", {"n"}, rules), Lines{"pod default/p is on n against the added affinity"});
}

TEST(CheckPlacement, SkipsRulesOfFiltersThatTheProfileDisables) {
  const char* text = "node n label:a=b taint=t:NoSchedule\npod p select:a=c";
  EXPECT_EQ(problems(text, {"n"}).size(), 2u);
  const Scenario scenario = parse_scenario("config disable=NodeAffinity disable=TaintToleration");
  EXPECT_EQ(problems(text, {"n"}, check_rules(scenario.config, scenario.config.profiles.front(), scenario.engine)),
            Lines{});
}

TEST(CheckPlacement, ReportsAMissingFeature) {
  CheckRules rules;
  rules.declared_features = true;
  EXPECT_EQ(problems("node n\npod p restarts-all", {"n"}, rules), Lines{"pod default/p needs a feature that n lacks"});
}

TEST(CheckPlacement, ReportsPodsThatShouldNotBePlaced) {
  EXPECT_EQ(problems("node n\npod p gate=g", {"n"}), Lines{"pod default/p was placed although it is gated"});
  EXPECT_EQ(problems("node n\npod p terminating", {"n"}), Lines{"pod default/p was placed although it is terminating"});
  EXPECT_EQ(problems("node n\npod p", {"m"}), Lines{"pod default/p was placed on \"m\", which does not exist"});
  const Scenario scenario = parse_scenario("node n\npod p");
  const PlacedPod placed{scenario.objects.pods[0], "n"};
  EXPECT_EQ(check_placement(scenario.objects, {placed, placed}), Lines{"pod default/p was placed twice"});
}

}  // namespace
}  // namespace berth::test
