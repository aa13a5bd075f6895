// SPDX-License-Identifier: Apache-2.0
// The node side over a list of rules: rules that exist nowhere but here take part as soon as a list names them.
#include "batching/node_side_row.h"

#include <gtest/gtest.h>

#include "batching/node_side_build.h"
#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

struct CompiledOddNodes;

/// Refuses nodes of an odd index, and prefers those of a high one.
struct OddNodes {
  static constexpr RuleDescriptor descriptor{.name = "OddNodes",
                                             .touches = Touches::kNothing,
                                             .filters = true,
                                             .scores = true,
                                             .normalizer = Normalizer::kByMaximum};
  using NodeSide = CompiledOddNodes;
};

struct CompiledOddNodes : NodeSideDefaults {
  static CompiledOddNodes compile(const NodeSidePod& /*pod*/, const Options& /*options*/, Snapshot& /*snapshot*/) {
    return {};
  }
  template <class Refuse>
  void filter(const Options& /*options*/, const Snapshot& /*snapshot*/, Refuse refuse) const {
    refuse("node(s) were odd", [](std::int32_t node) { return node % 2 == 1; });
  }
  std::int64_t score(const Snapshot& /*snapshot*/, std::int32_t node) const { return node; }
};

struct CompiledFlatPoints;

/// Gives every node as many points as an argument of the profile says: no filter, no normaliser.
struct FlatPoints {
  static constexpr RuleDescriptor descriptor{.name = "FlatPoints", .touches = Touches::kNothing, .scores = true};
  using NodeSide = CompiledFlatPoints;
};

struct CompiledFlatPoints : NodeSideDefaults {
  struct Options {
    std::int64_t points = 0;
  };
  static Options compile_options(const Profile& profile, const FeatureGates& /*gates*/, Snapshot& /*snapshot*/) {
    return {profile.percentage_of_nodes_to_score.value_or(7)};
  }
  static CompiledFlatPoints compile(const NodeSidePod& /*pod*/, const Options& options, Snapshot& /*snapshot*/) {
    CompiledFlatPoints compiled;
    compiled.points = options.points;
    return compiled;
  }
  std::int64_t score(const Snapshot& /*snapshot*/, std::int32_t /*node*/) const { return points; }

  std::int64_t points = 0;
};

using MoreRules = Rules::With<OddNodes, FlatPoints>;

constexpr std::string_view kCluster = R"(
node n0 cpu=4 memory=8Gi label:zone=a image=900Mi*app:1
node n1 cpu=4 memory=8Gi label:zone=a
node n2 cpu=4 memory=8Gi label:zone=b taint=soft:PreferNoSchedule
node n3 cpu=4 memory=8Gi label:zone=b taint=hard:NoSchedule
node n4 cpu=4 memory=8Gi label:zone=b
pod p cpu=1 memory=1Gi prefer=5:zone:In:b image=app:1
)";

/// The row of the first pending pod over MoreRules, in the profile of the cluster.
/// @param runs_more  the profile runs the two rules of this file too
struct MoreRulesRow {
  MoreRulesRow(test::CompiledCluster& cluster, bool runs_more) : profile(*cluster.profile().profile) {
    if (runs_more) {
      profile.plugins[static_cast<std::size_t>(ExtensionPoint::kFilter)].push_back({"OddNodes", 0});
      profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)].push_back({"OddNodes", 3});
      profile.plugins[static_cast<std::size_t>(ExtensionPoint::kScore)].push_back({"FlatPoints", 2});
    }
    ProfileRules<MoreRules> rules;
    compile_rules(profile, FeatureGates(), cluster.snapshot, rules);
    const PodClass& pod_class = cluster.class_of(0);
    row = build_node_side_row(compile_node_side({*pod_class.spec, pod_class.node_name}, rules, cluster.snapshot),
                              *pod_class.spec, rules, cluster.snapshot);
  }

  Profile profile;
  NodeSideRowOf<MoreRules> row;
};

}  // namespace

TEST(NodeSideListTest, RulesOfALongerListChangeNothingInAProfileThatDoesNotRunThem) {
  test::CompiledCluster cluster(kCluster);
  const NodeSideRow& row = cluster.row_of(0);
  const NodeSideRowOf<MoreRules> more = MoreRulesRow(cluster, false).row;
  EXPECT_EQ(more.total_of, row.total_of);
  EXPECT_EQ(more.refusal_of, row.refusal_of);
  EXPECT_EQ(more.refusals.size(), row.refusals.size());
}

TEST(NodeSideListTest, ARuleOfALongerListRefusesAndScoresWithoutAnyOtherChange) {
  test::CompiledCluster cluster(kCluster);
  const NodeSideRow& row = cluster.row_of(0);
  const NodeSideRowOf<MoreRules> more = MoreRulesRow(cluster, true).row;
  for (const std::int32_t node : {0, 2, 4}) EXPECT_EQ(more.refusal(node), NodeSideRow::kAccepted) << node;
  const Refusal& odd = more.refusals[more.refusal(1)];
  EXPECT_EQ(odd.plugin, "OddNodes");
  EXPECT_EQ(odd.reason, "node(s) were odd");
  // TaintToleration stands before OddNodes in the profile, and its refusal is the one that is reported.
  EXPECT_EQ(more.refusals[more.refusal(3)].plugin, "TaintToleration");
  EXPECT_EQ(row.refusal(1), NodeSideRow::kAccepted) << "the rule is not in the list of those that exist";

  // Nodes 0, 2 and 4 are accepted: the largest raw score of OddNodes is 4.
  for (const std::int32_t node : {0, 2, 4})
    EXPECT_EQ(more.total_of[static_cast<std::size_t>(node)],
              row.total_of[static_cast<std::size_t>(node)] + 3 * (node * 100 / 4) + 2 * 7)
        << node;
  EXPECT_TRUE(more.raws_vary);
  const RuleScore score = more.score("OddNodes", cluster.snapshot, 2, more.accepted_maxima).value();
  EXPECT_EQ(score.raw, 2);
  EXPECT_EQ(score.normalized, 50);
  EXPECT_EQ(more.score("FlatPoints", cluster.snapshot, 2, more.accepted_maxima).value().normalized, 7);
}

}  // namespace berth
