// SPDX-License-Identifier: Apache-2.0
// Node order and generations: docs/behaviour/scheduler-core.md 2.5 and 2.6.

#include <gtest/gtest.h>

#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

void add_example_nodes(ClusterCache& cache) {
  for (const char* name : {"a1", "a2", "a3"}) cache.add_node(make_node(name, "z1"));
  cache.add_node(make_node("b1", "z2"));
  for (const char* name : {"c1", "c2"}) cache.add_node(make_node(name, "z3"));
}

TEST(CacheOrder, E_L_1_NodesOfThreeZonesAlternate) {
  ClusterCache cache;
  add_example_nodes(cache);
  EXPECT_EQ(names_in_order(cache), (Names{"a1", "b1", "c1", "a2", "c2", "a3"}));
}

TEST(CacheOrder, AChangedZoneMovesTheNodeToTheEndAtTheNextRebuild) {
  ClusterCache cache;
  add_example_nodes(cache);
  names_in_order(cache);
  cache.update_node(make_node("a1", "z2"));
  EXPECT_EQ(names_in_order(cache), (Names{"a1", "b1", "c1", "a2", "c2", "a3"})) << "a label alone rebuilds nothing";

  cache.add_node(make_node("d1", "z9"));
  EXPECT_EQ(names_in_order(cache), (Names{"a2", "b1", "c1", "d1", "a3", "a1", "c2"}));
  cache.remove_node("d1");
  EXPECT_EQ(names_in_order(cache), (Names{"a2", "b1", "c1", "a3", "a1", "c2"})) << "the example of 2.5";
}

TEST(CacheOrder, AnUpdateWithinTheZoneKeepsThePlace) {
  ClusterCache cache;
  add_example_nodes(cache);
  cache.update_node(make_node("a1", "z1"));
  EXPECT_EQ(names_in_order(cache), (Names{"a1", "b1", "c1", "a2", "c2", "a3"}));
}

TEST(CacheOrder, AnEmptiedZoneReturnsAtTheEnd) {
  ClusterCache cache;
  cache.add_node(make_node("a", "z1"));
  cache.add_node(make_node("b", "z2"));
  cache.remove_node("a");
  EXPECT_EQ(names_in_order(cache), Names{"b"});
  cache.add_node(make_node("a", "z1"));
  EXPECT_EQ(names_in_order(cache), (Names{"b", "a"}));
}

TEST(CacheOrder, ANodeRemovedAndAddedBetweenTwoReadsKeepsItsPlace) {
  ClusterCache cache;
  cache.add_node(make_node("a", "z1"));
  cache.add_node(make_node("b", "z2"));
  const auto order = cache.nodes_in_order();
  const std::uint64_t order_generation = cache.order_generation();
  cache.remove_node("a");
  EXPECT_EQ(cache.find_node("a"), nullptr);
  cache.add_node(make_node("a", "z1"));
  EXPECT_EQ(cache.order_generation(), order_generation) << "the snapshot would see neither come nor go";
  EXPECT_EQ(names_in_order(cache), (Names{"a", "b"}));
  EXPECT_EQ(order[0], cache.find_node("a"));
}

TEST(CacheOrder, TheOrderGenerationAdvancesOnlyWhenNodesAreAddedOrRemoved) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  const std::uint64_t first = cache.order_generation();
  cache.add_pod(make_pod("p", "a"));
  cache.add_pod(make_pod("q", "ghost"));
  cache.update_node(make_node("a"));
  EXPECT_EQ(cache.order_generation(), first);
  cache.add_node(make_node("b"));
  const std::uint64_t second = cache.order_generation();
  EXPECT_GT(second, first);
  cache.remove_node("b");
  EXPECT_GT(cache.order_generation(), second);
}

TEST(CacheOrder, APodOnlyNodeIsInNoList) {
  ClusterCache cache;
  cache.add_pod(make_pod("p", "ghost"));
  EXPECT_TRUE(cache.nodes_in_order().empty());
  EXPECT_TRUE(cache.changed_since(0).empty());
  EXPECT_EQ(cache.ghost_count(), 1U);
}

TEST(CacheOrder, NodesWithoutZonesKeepTheirArrivalOrder) {
  ClusterCache cache;
  for (const char* name : {"c", "a", "b"}) cache.add_node(make_node(name));
  EXPECT_EQ(names_in_order(cache), (Names{"c", "a", "b"}));
}

TEST(CacheGenerations, ChangedNodesAreListedOnceMostRecentFirst) {
  ClusterCache cache;
  for (const char* name : {"a", "b", "c"}) cache.add_node(make_node(name));
  const std::uint64_t before = cache.generation();
  EXPECT_TRUE(cache.changed_since(before).empty());
  cache.add_pod(make_pod("p", "c"));
  cache.add_pod(make_pod("q", "a"));
  cache.remove_pod("uid-p");
  EXPECT_EQ(changed_names(cache, before), (Names{"c", "a"}));
  EXPECT_EQ(cache.find_node("c")->generation, cache.generation());
}

TEST(CacheGenerations, EveryKindOfChangeAdvancesTheGeneration) {
  ClusterCache cache;
  cache.add_node(make_node("n"));
  std::uint64_t seen = cache.generation();
  const auto moved = [&] {
    const bool has_moved = changed_names(cache, seen) == Names{"n"};
    seen = cache.generation();
    return has_moved;
  };
  cache.assume_pod(make_pod("p", ""), "n");
  EXPECT_TRUE(moved());
  cache.forget_pod("uid-p");
  EXPECT_TRUE(moved());
  cache.update_node(make_node("n"));
  EXPECT_TRUE(moved());
}

TEST(CacheGenerations, ARefusedOperationChangesNothing) {
  ClusterCache cache;
  cache.add_pod(make_pod("p", "n"));
  const std::uint64_t before = cache.generation();
  EXPECT_EQ(cache.add_pod(make_pod("p", "n")), CacheResult::kAlreadyPresent);
  EXPECT_EQ(cache.update_pod(make_pod("p", "other")), CacheResult::kNodeMismatch);
  EXPECT_EQ(cache.remove_node("n"), CacheResult::kUnknownNode) << "a ghost is no node to remove";
  EXPECT_EQ(cache.remove_node("nowhere"), CacheResult::kUnknownNode);
  EXPECT_EQ(cache.generation(), before);
}

}  // namespace
}  // namespace berth
