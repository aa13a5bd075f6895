// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/topology_counts.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace berth {
namespace {

/// Nodes 0 to 5 in domains 1, 1, 2, 3, none, 3.
DomainColumn zones() {
  DomainColumn column;
  column.key = "zone";
  column.domain_of = {1, 1, 2, 3, 0, 3};
  column.domain_count = 3;
  index_domains(column);
  return column;
}

NodeMask mask(std::vector<std::uint8_t> nodes) {
  return std::make_shared<const std::vector<std::uint8_t>>(std::move(nodes));
}

TEST(TopologyCountsTest, NodesAreNumberedByDomain) {
  const DomainColumn column = zones();
  EXPECT_FALSE(column.one_node_each);
  EXPECT_EQ(column.first_of_domain, (std::vector<std::int32_t>{0, 1, 3, 4, 6}));
  EXPECT_EQ(column.nodes_by_domain, (std::vector<std::int32_t>{4, 0, 1, 2, 3, 5}));
}

TEST(TopologyCountsTest, APodCountsOnlyInTheDomainOfItsNode) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, nullptr, false);
  counts.add(table, 0, 1);
  counts.add(table, 1, 1);
  counts.add(table, 4, 1);
  EXPECT_EQ(counts.count(table, 1), 2);
  EXPECT_EQ(counts.count_at(table, 4), 0);
  EXPECT_EQ(counts.total(table), 2);
}

TEST(TopologyCountsTest, MaskedNodesDoNotCountAndCreateNoDomains) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, mask({1, 1, 0, 1, 1, 0}), true);
  EXPECT_EQ(counts.existing_domains(table), 2);
  counts.add(table, 2, 1);
  counts.add(table, 5, 1);
  EXPECT_EQ(counts.total(table), 0);
  counts.add(table, 0, 1);
  EXPECT_EQ(counts.minimum(table), 0) << "domain 3 exists through node 3";
  counts.add(table, 3, 1);
  EXPECT_EQ(counts.minimum(table), 1);
}

TEST(TopologyCountsTest, TheMinimumWithoutADomainIsInt32Max) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, mask({0, 0, 0, 0, 0, 0}), true);
  EXPECT_EQ(counts.existing_domains(table), 0);
  EXPECT_EQ(counts.minimum(table), INT32_MAX);
}

TEST(TopologyCountsTest, TheMinimumFollowsEveryChangeAlsoBelowZero) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, nullptr, true);
  for (const std::int32_t node : {0, 0, 0, 2, 2, 3}) counts.add(table, node, 1);
  EXPECT_EQ(counts.minimum(table), 1);
  counts.add(table, 3, -3);
  EXPECT_EQ(counts.minimum(table), -2);
  counts.add(table, 5, 10);
  EXPECT_EQ(counts.minimum(table), 2);
  counts.add(table, 2, -2);
  EXPECT_EQ(counts.minimum(table), 0);
}

TEST(TopologyCountsTest, ACopyKeepsItsCounts) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, nullptr, true);
  counts.add(table, 0, 1);
  const TopologyCounts fork = counts;
  counts.add(table, 0, 1);
  EXPECT_EQ(fork.count(table, 1), 1);
  EXPECT_EQ(counts.count(table, 1), 2);
  EXPECT_EQ(counts.zeroed().count(table, 1), 0);
}

}  // namespace
}  // namespace berth
