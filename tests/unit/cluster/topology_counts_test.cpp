// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/topology_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

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

TEST(TopologyCountsTest, AGuestBeginsAndEndsDomainsInItsCopyAlone) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, nullptr, true);
  for (const std::int32_t node : {0, 2, 3}) counts.add(table, node, 2);
  TopologyCounts copy = counts;
  copy.set_guest({6, {4}, {1}});
  EXPECT_EQ(copy.existing_domains(table), 4);
  EXPECT_EQ(copy.minimum(table), 0) << "a domain of its own";
  copy.add(table, 6, 5);
  EXPECT_EQ(copy.minimum(table), 2);
  EXPECT_EQ(copy.minimum_with(table, 5, 1), 1);
  EXPECT_EQ(copy.minimum_with(table, 2, 9), 2) << "two others have 2";
  copy.add(table, 2, -2);
  copy.set_guest({2, {0}, {1}});  // the only node of domain 2 goes
  EXPECT_EQ(copy.existing_domains(table), 3);
  EXPECT_EQ(copy.minimum(table), 2);
  copy.add(table, 0, 4);
  copy.add(table, 3, 4);
  EXPECT_EQ(copy.minimum(table), 5) << "that of the guest";
  EXPECT_EQ(copy.count_at(table, 6), 5);
  EXPECT_EQ(copy.count_at(table, 2), 0);
  copy.set_guest({6, {0}, {1}});
  EXPECT_EQ(copy.minimum(table), 6);
  EXPECT_EQ(counts.existing_domains(table), 3);
  EXPECT_EQ(counts.minimum(table), 2);
}

TEST(TopologyCountsTest, AGuestThatDoesNotCountBeginsNoDomain) {
  TopologyCounts counts;
  const std::int32_t table = counts.add_table(counts.add_column(zones()), 0, nullptr, true);
  counts.set_guest({6, {100}, {0}});  // beyond the room that there is
  counts.add(table, 6, 1);
  EXPECT_EQ(counts.existing_domains(table), 3);
  EXPECT_EQ(counts.total(table), 0);
  EXPECT_EQ(counts.count_at(table, 6), 0);
  EXPECT_EQ(counts.domain_count(0), 100);
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

TEST(TopologyCountsTest, VersionsGrowAlsoBehindTablesThatWereAddedFromElsewhere) {
  TopologyCounts counts;
  const std::int32_t column = counts.add_column(zones());
  const std::int32_t first = counts.add_table(column, 0, nullptr, false);
  TopologyCounts copy = counts;
  for (int pods = 0; pods < 5; ++pods) counts.add(first, 0, 1);
  const std::int32_t second = counts.add_table(column, 0, nullptr, false);
  copy.add_tables_of(counts);
  const std::uint64_t before = std::max(copy.version(first), copy.version(second));
  copy.add(first, 0, 1);
  EXPECT_GT(copy.version(first), before);
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

TEST(VersionNumbersTest, CopiesThatChangeApartNeverShareANumber) {
  VersionNumbers of_engine;
  const std::uint64_t before = of_engine.next();
  VersionNumbers of_fork = of_engine;
  const std::uint64_t in_fork = of_fork.next();
  const std::uint64_t in_engine = of_engine.next();
  EXPECT_GT(in_fork, before);
  EXPECT_GT(in_engine, before);
  EXPECT_NE(in_fork, in_engine);
  of_engine.renew();
  EXPECT_GT(of_engine.next(), in_fork);
}

// The flag orders nothing, so that the counts of owners alone do: for ThreadSanitizer.
TEST(TopologyCountsTest, WhatACopyReadInAThreadIsWrittenOnceTheCopyIsGone) {
  TopologyCounts counts;
  const std::int32_t column = counts.add_column(zones());
  const std::int32_t table = counts.add_table(column, 0, nullptr, true);
  counts.add(table, 0, 1);
  std::atomic<bool> is_gone = false;
  std::thread reader([&is_gone, table, column, copy = std::make_unique<const TopologyCounts>(counts)]() mutable {
    EXPECT_EQ(copy->count(table, 1), 1);
    EXPECT_EQ(copy->minimum(table), 0);
    EXPECT_EQ(copy->column(column).nodes_by_domain.front(), 4);
    copy.reset();
    is_gone.store(true, std::memory_order_relaxed);
  });
  while (!is_gone.load(std::memory_order_relaxed)) std::this_thread::yield();
  counts.reindex(column);
  counts.move_node(column, 2, 4);
  counts.reindex(column);
  counts.add(table, 2, 1);
  counts.add(table, 0, -1);
  reader.join();
  EXPECT_EQ(counts.count(table, 4), 1);
  EXPECT_EQ(counts.minimum(table), 0);
}

}  // namespace
}  // namespace berth
