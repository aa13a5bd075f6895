// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/cluster/cache.h"
#include "host/cluster/snapshot.h"
#include "plugins/node_affinity/compile.h"

namespace berth {
namespace {

using Op = SelectorOperator;

/// Node x: disk=ssd, gen=7, zone=a. Node y: disk=hdd, gen=v7. As in docs/behaviour/plugins-node.md 8.
struct NodeAffinityTest : testing::Test {
  NodeAffinityTest() {
    add("x", LabelMap{{"disk", "ssd"}, {"gen", "7"}, {"zone", "a"}});
    add("y", LabelMap{{"disk", "hdd"}, {"gen", "v7"}});
    snapshot = std::make_unique<Snapshot>(cache);
  }
  void add(const std::string& name, LabelMap labels) {
    Node node;
    node.name = name;
    node.labels = std::move(labels);
    cache.add_node(std::make_shared<const Node>(std::move(node)));
  }
  /// 'x', 'y', "xy" or "": the nodes that the required terms accept.
  std::string accepted(const std::vector<NodeSelectorTerm>& terms) {
    PodSpec spec;
    spec.node_affinity.emplace().required = terms;
    last = compile_node_affinity(spec, *snapshot);
    std::string names;
    for (std::int32_t i = 0; i < 2; ++i)
      if (last.matches(i)) names += snapshot->node(i).name;
    return names;
  }
  std::string accepted(SelectorRequirement label) { return accepted({{{std::move(label)}, {}}}); }

  ClusterCache cache;
  std::unique_ptr<Snapshot> snapshot;
  CompiledNodeAffinity last;
};

NodeSelectorTerm names_term(std::vector<std::vector<std::string>> lists, Op op = Op::kIn) {
  NodeSelectorTerm term;
  for (auto& list : lists) term.match_fields.push_back({"metadata.name", op, std::move(list)});
  return term;
}

TEST_F(NodeAffinityTest, OperatorsHandlePresentAndAbsentKeys) {
  EXPECT_EQ(accepted({"disk", Op::kIn, {"ssd", "nvme"}}), "x");
  EXPECT_EQ(accepted({"disk", Op::kIn, {"SSD"}}), "");
  EXPECT_EQ(accepted({"zone", Op::kNotIn, {"b"}}), "xy");
  EXPECT_EQ(accepted({"zone", Op::kNotIn, {"a"}}), "y");
  EXPECT_EQ(accepted({"zone", Op::kExists, {}}), "x");
  EXPECT_EQ(accepted({"zone", Op::kDoesNotExist, {}}), "y");
  EXPECT_EQ(accepted({"none", Op::kDoesNotExist, {}}), "xy");
}

TEST_F(NodeAffinityTest, GtAndLtNeedIntegersOnBothSides) {
  EXPECT_EQ(accepted({"gen", Op::kGt, {"5"}}), "x");
  EXPECT_EQ(accepted({"gen", Op::kGt, {"7"}}), "");
  EXPECT_EQ(accepted({"gen", Op::kLt, {"8"}}), "x");
  EXPECT_EQ(accepted({"gen", Op::kLt, {"008"}}), "x") << "leading zeros are allowed";
  EXPECT_EQ(accepted({"zone", Op::kLt, {"8"}}), "");
}

TEST_F(NodeAffinityTest, MalformedRequirementsMatchNothing) {
  const std::vector<SelectorRequirement> malformed = {
      {"disk", Op::kIn, {}},          {"zone", Op::kNotIn, {}},
      {"disk", Op::kExists, {"ssd"}}, {"none", Op::kDoesNotExist, {"a"}},
      {"gen", Op::kGt, {}},           {"gen", Op::kGt, {"1", "2"}},
      {"gen", Op::kGt, {"five"}},     {"gen", Op::kGt, {"-5"}},
      {"", Op::kDoesNotExist, {}},    {"a b", Op::kDoesNotExist, {}},
      {"disk", Op::kNotIn, {"a b"}},  {"disk", Op::kNotIn, {std::string(64, 'a')}}};
  for (const SelectorRequirement& requirement : malformed) {
    EXPECT_EQ(accepted(requirement), "") << requirement.key << " " << to_string(requirement.op);
    EXPECT_TRUE(is_malformed({{requirement}, {}}));
  }
}

TEST_F(NodeAffinityTest, AMalformedTermDoesNotAffectOthers) {
  EXPECT_EQ(accepted({{{{"gen", Op::kGt, {"-5"}}}, {}}, {{{"disk", Op::kExists, {}}}, {}}}), "xy");
}

TEST_F(NodeAffinityTest, RequirementsAreAndedAndTermsOred) {
  EXPECT_EQ(accepted({{{{"disk", Op::kIn, {"ssd"}}, {"zone", Op::kDoesNotExist, {}}}, {}},
                      {{{"disk", Op::kIn, {"hdd"}}}, {}}}),
            "y");
}

TEST_F(NodeAffinityTest, EmptyListsAndEmptyTermsMatchNothing) {
  EXPECT_EQ(accepted(std::vector<NodeSelectorTerm>{}), "");
  EXPECT_FALSE(last.node_set.has_value());
  EXPECT_FALSE(last.conflict);
  EXPECT_EQ(accepted({NodeSelectorTerm{}}), "");
  EXPECT_FALSE(last.node_set.has_value()) << "an empty term has no names, so every node stays a candidate";
}

TEST_F(NodeAffinityTest, FieldsAcceptOneValueAndTwoOperators) {
  EXPECT_EQ(accepted({names_term({{"y"}})}), "y");
  EXPECT_EQ(accepted({names_term({{"y"}}, Op::kNotIn)}), "x");
  EXPECT_EQ(accepted({names_term({{"x", "y"}})}), "");
  EXPECT_EQ(accepted({names_term({{}}, Op::kExists)}), "");
}

TEST_F(NodeAffinityTest, AnUnknownFieldReadsAsEmpty) {
  EXPECT_EQ(accepted({{{}, {{"spec.foo", Op::kIn, {"x"}}}}}), "");
  EXPECT_EQ(accepted({{{}, {{"spec.foo", Op::kIn, {""}}}}}), "xy");
  EXPECT_EQ(accepted({{{}, {{"spec.foo", Op::kNotIn, {"x"}}}}}), "xy");
  EXPECT_EQ(accepted({{{}, {{"spec.foo", Op::kNotIn, {""}}}}}), "");
}

TEST_F(NodeAffinityTest, NamesInEveryTermGiveTheNodeSet) {
  accepted({names_term({{"y"}}), names_term({{"x"}, {"x"}})});
  EXPECT_EQ(last.node_set, (std::vector<std::int32_t>{0, 1}));
  accepted({names_term({{"y"}}), {{{"disk", Op::kExists, {}}}, {}}});
  EXPECT_FALSE(last.node_set.has_value()) << "one term without names opens all nodes";
  accepted({names_term({{"y"}}, Op::kNotIn)});
  EXPECT_FALSE(last.node_set.has_value()) << "NotIn gives no shortcut";
}

TEST_F(NodeAffinityTest, TheNodeSetReadsAllValuesOfAMalformedTerm) {
  EXPECT_EQ(accepted({names_term({{"x", "y"}})}), "");
  EXPECT_EQ(last.node_set, (std::vector<std::int32_t>{0, 1}));
}

TEST_F(NodeAffinityTest, ContradictoryNamesAreAConflict) {
  accepted({names_term({{"x"}, {"y"}})});
  EXPECT_TRUE(last.conflict);
  accepted({names_term({{"x"}, {"y"}}), names_term({{"y"}})});
  EXPECT_FALSE(last.conflict);
  EXPECT_EQ(last.node_set, (std::vector<std::int32_t>{1}));
}

TEST_F(NodeAffinityTest, UnknownNamesGiveAnEmptySetWithoutAConflict) {
  accepted({names_term({{"z"}})});
  EXPECT_FALSE(last.conflict);
  EXPECT_EQ(last.node_set, (std::vector<std::int32_t>{}));
}

TEST_F(NodeAffinityTest, ANodeSelectorIsEqualityAndNeverValidated) {
  PodSpec spec;
  spec.node_selector = LabelMap{{"disk", "ssd"}, {"zone", "a"}};
  const CompiledNodeAffinity affinity = compile_node_affinity(spec, *snapshot);
  EXPECT_TRUE(affinity.matches(0));
  EXPECT_FALSE(affinity.matches(1));
  EXPECT_FALSE(affinity.scores);
  add("odd", LabelMap{{"a b", "-5"}});
  snapshot = std::make_unique<Snapshot>(cache);
  spec.node_selector = LabelMap{{"a b", "-5"}};
  const CompiledNodeAffinity odd = compile_node_affinity(spec, *snapshot);
  EXPECT_FALSE(odd.matches(0));
  EXPECT_TRUE(odd.matches(2));
}

TEST_F(NodeAffinityTest, EveryNodeMatchesWithoutRequirements) {
  const CompiledNodeAffinity affinity = compile_node_affinity(PodSpec{}, *snapshot);
  EXPECT_TRUE(affinity.matches(0));
  EXPECT_TRUE(affinity.matches(1));
}

TEST_F(NodeAffinityTest, E_NA_10_WeightsOfMatchingPreferencesAreAdded) {
  PodSpec spec;
  spec.node_affinity.emplace().preferred = {{80, {{{"disk", Op::kIn, {"ssd"}}}, {}}},
                                            {20, {{{"zone", Op::kIn, {"a"}}}, {}}},
                                            {5, {{{"gen", Op::kLt, {"100"}}}, {}}},
                                            {0, {{{"disk", Op::kExists, {}}}, {}}},
                                            {9, {}}};
  const CompiledNodeAffinity affinity = compile_node_affinity(spec, *snapshot);
  EXPECT_TRUE(affinity.scores);
  EXPECT_EQ(affinity.preferred.score(0), 105);
  EXPECT_EQ(affinity.preferred.score(1), 0);
}

TEST_F(NodeAffinityTest, MoreThanSixtyFourValuesOfAKeyAreDistinguished) {
  for (int n = 0; n < 200; ++n) add("n" + std::to_string(n), LabelMap{{"rack", "r" + std::to_string(n)}});
  snapshot = std::make_unique<Snapshot>(cache);
  PodSpec spec;
  spec.node_affinity.emplace().required = {{{{"rack", Op::kIn, {"r3", "r63", "r64", "r150", "r999"}}}, {}}};
  const CompiledNodeAffinity affinity = compile_node_affinity(spec, *snapshot);
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < snapshot->node_count(); ++i)
    if (affinity.matches(i)) names.push_back(snapshot->node(i).name);
  EXPECT_EQ(names, (std::vector<std::string>{"n3", "n63", "n64", "n150"}));
}

}  // namespace
}  // namespace berth
