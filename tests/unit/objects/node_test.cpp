// SPDX-License-Identifier: Apache-2.0
#include "host/objects/node.h"

#include <gtest/gtest.h>

#include <string>

#include "host/objects/node_match.h"

namespace berth {
namespace {

Node node_with(LabelMap labels, std::string name = "x") {
  Node node;
  node.name = std::move(name);
  node.labels = std::move(labels);
  return node;
}

std::string key(std::string_view region, std::string_view zone) {
  return std::string(region) + std::string(":\0:", 3) + std::string(zone);
}

TEST(ZoneKey, JoinsRegionAndZone) {
  EXPECT_EQ(zone_key(node_with({{"topology.kubernetes.io/region", "r"}, {"topology.kubernetes.io/zone", "z"}})),
            key("r", "z"));
  EXPECT_EQ(zone_key(node_with({{"topology.kubernetes.io/zone", "z"}})), key("", "z"));
  EXPECT_EQ(zone_key(node_with({})), "");
}

TEST(ZoneKey, ADeprecatedLabelWinsEvenWhenItIsEmpty) {
  EXPECT_EQ(
      zone_key(node_with({{"failure-domain.beta.kubernetes.io/zone", "old"}, {"topology.kubernetes.io/zone", "new"}})),
      key("", "old"));
  EXPECT_EQ(
      zone_key(node_with({{"failure-domain.beta.kubernetes.io/zone", ""}, {"topology.kubernetes.io/zone", "new"}})),
      "");
}

// The nodes and pods of docs/behaviour/plugins-node.md 8.
struct NodeAffinityExamples : testing::Test {
  Node x = node_with({{"disk", "ssd"}, {"gen", "7"}, {"zone", "a"}}, "x");
  Node y = node_with({{"disk", "hdd"}, {"gen", "v7"}, {"zone", "a"}}, "y");

  static PodSpec requiring(std::vector<NodeSelectorTerm> terms) {
    PodSpec spec;
    spec.node_affinity.emplace().required = std::move(terms);
    return spec;
  }
  void expect(const PodSpec& spec, bool on_x, bool on_y) const {
    EXPECT_EQ(matches_required_node_affinity(spec, x), on_x);
    EXPECT_EQ(matches_required_node_affinity(spec, y), on_y);
  }
};

TEST_F(NodeAffinityExamples, E_NA_1_NodeSelectorIsEquality) {
  PodSpec spec;
  spec.node_selector = {{"disk", "ssd"}};
  expect(spec, true, false);
}

TEST_F(NodeAffinityExamples, E_NA_2_GtIsFalseForANonNumericLabel) {
  expect(requiring({{{{"gen", SelectorOperator::kGt, {"5"}}}, {}}}), true, false);
}

TEST_F(NodeAffinityExamples, E_NA_3_NotInMatchesAnAbsentKey) {
  y = node_with({}, "y");
  expect(requiring({{{{"zone", SelectorOperator::kNotIn, {"b"}}}, {}}}), true, true);
}

TEST_F(NodeAffinityExamples, E_NA_4_TermsAreAlternativesOfConjunctions) {
  expect(requiring({{{{"disk", SelectorOperator::kIn, {"ssd"}}, {"zone", SelectorOperator::kDoesNotExist, {}}}, {}},
                    {{{"disk", SelectorOperator::kIn, {"hdd"}}}, {}}}),
         false, true);
}

TEST_F(NodeAffinityExamples, E_NA_5_NoTermsMatchNoNode) { expect(requiring({}), false, false); }

TEST_F(NodeAffinityExamples, E_NA_6_AFieldSelectsByName) {
  expect(requiring({{{}, {{"metadata.name", SelectorOperator::kIn, {"y"}}}}}), false, true);
}

TEST_F(NodeAffinityExamples, E_NA_8_AMalformedTermMatchesNothingAndOtherTermsStillCount) {
  expect(requiring({{{{"gen", SelectorOperator::kGt, {"-5"}}}, {}}, {{{"disk", SelectorOperator::kExists, {}}}, {}}}),
         true, true);
}

TEST_F(NodeAffinityExamples, E_NA_9_AFieldNeedsExactlyOneValue) {
  expect(requiring({{{}, {{"metadata.name", SelectorOperator::kIn, {"x", "y"}}}}}), false, false);
}

TEST_F(NodeAffinityExamples, AnEmptyTermMatchesNothing) { expect(requiring({{}}), false, false); }

TEST(Tolerations, EqualComparesTheValueAndExistsDoesNot) {
  const Taint taint{"a", "1", TaintEffect::kNoSchedule};
  EXPECT_TRUE(tolerates({"a", TolerationOperator::kEqual, "1", TaintEffect::kNoSchedule}, taint));
  EXPECT_FALSE(tolerates({"a", TolerationOperator::kEqual, "2", std::nullopt}, taint));
  EXPECT_TRUE(tolerates({"a", TolerationOperator::kExists, "2", std::nullopt}, taint));
  EXPECT_FALSE(tolerates({"a", TolerationOperator::kExists, "", TaintEffect::kNoExecute}, taint));
  EXPECT_TRUE(tolerates({"", TolerationOperator::kExists, "", std::nullopt}, taint));
  EXPECT_FALSE(tolerates({"b", TolerationOperator::kExists, "", std::nullopt}, taint));
  EXPECT_FALSE(tolerates({"a", TolerationOperator::kGt, "0", std::nullopt}, taint));
}

TEST(Tolerations, PreferNoScheduleRejectsNoPod) {
  Node node;
  node.taints = {{"a", "1", TaintEffect::kPreferNoSchedule}};
  EXPECT_FALSE(has_untolerated_taint(PodSpec{}, node));
  node.taints.push_back({"a", "1", TaintEffect::kNoExecute});
  EXPECT_TRUE(has_untolerated_taint(PodSpec{}, node));
}

}  // namespace
}  // namespace berth
