// SPDX-License-Identifier: Apache-2.0
#include "batching/topology_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/batching/compiled_cluster.h"

namespace berth {
namespace {

struct TopologyTablesTest : testing::Test {
  test::CompiledCluster cluster{
      "node a zone=z0 label:disk=ssd\n"
      "node b zone=z1 taint=gpu:NoSchedule\n"
      "node c zone=z1\n"
      "node d\n"
      "node e label:topology.kubernetes.io/zone=\n"
      "pod picky select:disk=ssd\n"
      "pod tolerant tolerate=gpu\n"};
  TopologyTables tables{cluster.snapshot, false};
  const std::string zone = "topology.kubernetes.io/zone";

  const TopologyCounts& counts() const { return cluster.snapshot.topology(); }
  std::int32_t node(std::string_view name) const { return cluster.snapshot.find_node(name); }
  std::shared_ptr<const PodSpec> spec_of(std::size_t pod) const { return cluster.pods[pod].pod->spec; }
  /// Names of the nodes on which a pod counts in a table with these eligible nodes.
  std::string counting(const EligibleNodes& eligible) {
    const std::int32_t table = tables.table("q", tables.node_column(), eligible, false);
    std::string names;
    for (std::int32_t i = 0; i < cluster.snapshot.node_count(); ++i) {
      cluster.snapshot.write_topology().add(table, i, 1);
      if (counts().count_at(table, i) > 0) names += cluster.snapshot.node(i).name;
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(TopologyTablesTest, EqualQueriesOverEqualNodesShareATable) {
  const std::int32_t column = tables.key_column(zone);
  const std::int32_t first = tables.table("q", column, {}, false);
  EXPECT_EQ(tables.key_column(zone), column);
  EXPECT_EQ(tables.table("q", column, {}, false), first);
  EXPECT_EQ(tables.table("q", column, {{}, spec_of(1), nullptr}, false), first) << "a spec that restricts no node";
}

TEST_F(TopologyTablesTest, TablesDifferWhenTheirCountsMayDiffer) {
  const std::int32_t column = tables.key_column(zone);
  const std::int32_t first = tables.table("q", column, {}, false);
  const std::vector<std::int32_t> others = {tables.table("r", column, {}, false),
                                            tables.table("q", tables.key_column("disk"), {}, false),
                                            tables.table("q", tables.key_column(zone, true), {}, false),
                                            tables.table("q", tables.node_column(), {}, false),
                                            tables.table("q", column, {}, true),
                                            tables.table("q", column, {{zone}, nullptr, nullptr}, false),
                                            tables.table("q", column, {{}, spec_of(0), nullptr}, false),
                                            tables.table("q", column, {{}, nullptr, spec_of(0)}, false),
                                            tables.table("q", column, {{}, nullptr, spec_of(1)}, false)};
  std::vector<std::int32_t> expected;
  for (std::size_t i = 0; i < others.size(); ++i) expected.push_back(first + 1 + static_cast<std::int32_t>(i));
  EXPECT_EQ(others, expected);
}

TEST_F(TopologyTablesTest, ANodeWithoutTheLabelHasNoDomainUnlessAbsentMeansEmpty) {
  const DomainColumn strict = counts().column(tables.key_column(zone));
  EXPECT_EQ(strict[node("d")], 0);
  EXPECT_NE(strict[node("e")], 0) << "the empty value is a domain";
  EXPECT_EQ(strict[node("b")], strict[node("c")]);
  EXPECT_EQ(strict.domain_count, 3);
  const DomainColumn lenient = counts().column(tables.key_column(zone, true));
  EXPECT_EQ(lenient[node("d")], lenient[node("e")]);
  EXPECT_EQ(lenient.domain_count, 4) << "one is for nodes without the label, and the empty value lies there too";
  const DomainColumn added = counts().column(tables.key_column("disk", true));
  EXPECT_EQ(added[node("b")], added[node("d")]);
  EXPECT_NE(added[node("b")], added[node("a")]);
  EXPECT_EQ(added.domain_count, 2) << "the empty value comes in beside ssd";
}

TEST_F(TopologyTablesTest, TheNodeColumnHasOneDomainPerNode) {
  const DomainColumn column = counts().column(tables.node_column());
  EXPECT_EQ(column.domain_count, cluster.snapshot.node_count());
  EXPECT_TRUE(column.one_node_each);
}

TEST_F(TopologyTablesTest, PodsCountOnEligibleNodesOnly) {
  EXPECT_EQ(counting({}), "abcde");
  EXPECT_EQ(counting({{zone}, nullptr, nullptr}), "abce");
  EXPECT_EQ(counting({{"disk", zone}, nullptr, nullptr}), "a");
  EXPECT_EQ(counting({{}, spec_of(0), nullptr}), "a") << "its node selector";
  EXPECT_EQ(counting({{}, nullptr, spec_of(0)}), "acde") << "it does not tolerate b";
  EXPECT_EQ(counting({{}, nullptr, spec_of(1)}), "abcde");
}

TEST_F(TopologyTablesTest, AChangedNodeMovesToItsNewDomainAndCountsWhereItIsEligible) {
  const std::int32_t table = tables.table("q", tables.key_column(zone), {{"disk"}, nullptr, nullptr}, true);
  cluster.snapshot.write_topology().add(table, node("a"), 1);
  EXPECT_EQ(counts().existing_domains(table), 1) << "only a has a disk";
  EXPECT_EQ(counts().minimum(table), 1);
  auto changed = std::make_shared<Node>(cluster.snapshot.node(node("d")));
  changed->labels = LabelMap{{zone, "z9"}, {"disk", "hdd"}};
  cluster.cluster.apply(NodeUpsert(changed));
  NodeParts parts;
  parts.insert(NodePart::kLabels);
  cluster.snapshot.change_node(node("d"), *cluster.cluster.cache().find_node("d"), parts, cluster.cluster.cache());
  ASSERT_TRUE(tables.is_moved(node("d")));
  tables.move_node(node("d"));
  EXPECT_FALSE(tables.is_moved(node("d")));
  EXPECT_EQ(counts().total(table), 1) << "the count of a stays";
  EXPECT_EQ(counts().existing_domains(table), 2);
  EXPECT_EQ(counts().minimum(table), 0);
  EXPECT_EQ(tables.table("q", tables.key_column(zone), {{"disk"}, nullptr, nullptr}, true), table);
  cluster.snapshot.write_topology().add(table, node("d"), 1);
  EXPECT_EQ(counts().count_at(table, node("d")), 1) << "it has a zone and a disk now";
  EXPECT_EQ(counts().minimum(table), 1);
}

}  // namespace
}  // namespace berth
