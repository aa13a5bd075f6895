// SPDX-License-Identifier: Apache-2.0
// Aggregates, ghosts, images and the consistency check: docs/behaviour/scheduler-core.md 2.2 to 2.4 and 2.7.

#include "host/cluster/cache.h"

#include <gtest/gtest.h>

#include "host/cluster/undo_steps.h"
#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

TEST(Cache, AConfirmedPodMovesToTheWatchedNode) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  cache.add_node(make_node("b"));
  ASSERT_EQ(cache.assume_pod(make_pod("p", ""), "a"), CacheResult::kOk);
  EXPECT_EQ(cache.add_pod(make_pod("p", "b", 300)), CacheResult::kOk);
  EXPECT_TRUE(cache.find_node("a")->pods.empty());
  EXPECT_EQ(cache.find_node("a")->requested.milli_cpu, 0);
  EXPECT_EQ(cache.find_node("b")->requested.milli_cpu, 300);
  EXPECT_FALSE(cache.is_assumed("uid-p"));
}

TEST(Cache, ConfirmationReplacesTheObject) {
  ClusterCache cache;
  cache.assume_pod(make_pod("p", ""), "a");
  const PodPtr confirmed = make_pod("p", "a", 250);
  cache.add_pod(confirmed);
  EXPECT_EQ(cache.get_pod("uid-p"), confirmed);
  EXPECT_EQ(cache.find_node("a")->requested.milli_cpu, 250);
  EXPECT_EQ(cache.pod_count(), 1U);
}

TEST(Cache, APlacedPodIsAssumedUntilTheWatchConfirmsIt) {
  ClusterCache cache;
  cache.assume_pod(make_pod("p", ""), "a");
  EXPECT_TRUE(cache.is_assumed("uid-p"));
  cache.add_pod(make_pod("p", "a"));
  EXPECT_FALSE(cache.is_assumed("uid-p"));
  EXPECT_EQ(cache.get_pod("uid-p")->node_name, "a");
}

TEST(Cache, ForgettingAnAssumedPodOnAnotherNodeIsRefused) {
  ClusterCache cache;
  EXPECT_EQ(cache.assume_pod(make_pod("p", "b"), "a"), CacheResult::kNodeMismatch);
  EXPECT_EQ(cache.assume_pod(make_pod("p", ""), ""), CacheResult::kUnknownNode);
  EXPECT_EQ(cache.add_pod(make_pod("p", "")), CacheResult::kUnknownNode);
  EXPECT_EQ(cache.pod_count(), 0U);
}

TEST(Cache, APodWithoutUidIsIdentifiedByItsFullName) {
  ClusterCache cache;
  Pod pod;
  pod.name = "p";
  pod.namespace_ = "team";
  pod.node_name = "a";
  pod.spec = make_spec({});
  cache.add_pod(std::make_shared<const Pod>(std::move(pod)));
  EXPECT_NE(cache.get_pod("team/p"), nullptr);
  EXPECT_EQ(cache.get_pod(""), nullptr);
  EXPECT_EQ(cache.remove_pod("team/p"), CacheResult::kOk);
  EXPECT_EQ(cache.pod_count(), 0U);
}

TEST(Cache, RemovalMovesTheLastPodIntoTheGap) {
  ClusterCache cache;
  for (const char* name : {"p", "q", "r", "s"}) cache.add_pod(make_pod(name, "a"));
  cache.remove_pod("uid-q");
  EXPECT_EQ(pod_names(*cache.find_node("a")), (Names{"p", "s", "r"}));
  cache.remove_pod("uid-s");
  EXPECT_EQ(pod_names(*cache.find_node("a")), (Names{"p", "r"}));
  EXPECT_EQ(cache.check_consistency(), Names{});
}

TEST(Cache, AnUpdateAppendsThePodAgain) {
  ClusterCache cache;
  for (const char* name : {"p", "q", "r"}) cache.add_pod(make_pod(name, "a"));
  cache.update_pod(make_pod("p", "a", 700));
  EXPECT_EQ(pod_names(*cache.find_node("a")), (Names{"r", "q", "p"}));
  EXPECT_EQ(cache.find_node("a")->requested.milli_cpu, 900);
}

TEST(Cache, APodOnlyNodeBecomesRealAndKeepsItsPods) {
  ClusterCache cache;
  cache.add_pod(make_pod("p", "a", 400));
  EXPECT_EQ(cache.ghost_count(), 1U);
  EXPECT_EQ(cache.find_node("a")->node, nullptr);
  cache.add_node(make_node("a"));
  EXPECT_EQ(cache.ghost_count(), 0U);
  EXPECT_EQ(cache.find_node("a")->requested.milli_cpu, 400);
  EXPECT_EQ(cache.nodes_in_order().size(), 1U);
}

TEST(Cache, ANodeRemovedBeforeItsPodsStaysUntilTheLastPodIsRemoved) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  cache.add_pod(make_pod("p", "a"));
  cache.add_pod(make_pod("q", "a"));
  ASSERT_EQ(cache.remove_node("a"), CacheResult::kOk);
  EXPECT_EQ(cache.ghost_count(), 1U);
  EXPECT_TRUE(cache.nodes_in_order().empty());
  cache.remove_pod("uid-p");
  EXPECT_NE(cache.find_node("a"), nullptr);
  cache.remove_pod("uid-q");
  EXPECT_EQ(cache.find_node("a"), nullptr);
  EXPECT_EQ(cache.ghost_count(), 0U);
}

TEST(Cache, ANodeWithoutPodsIsGoneWhenRemoved) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  cache.nodes_in_order();
  cache.remove_node("a");
  EXPECT_EQ(cache.find_node("a"), nullptr);
  EXPECT_EQ(cache.remove_node("a"), CacheResult::kUnknownNode);
  EXPECT_EQ(cache.ghost_count(), 0U);
  EXPECT_TRUE(cache.nodes_in_order().empty());
}

TEST(Cache, AnAggregateSumsTheRequestsOfItsPods) {
  ClusterCache cache;
  const auto spec = make_spec({{"cpu", millis(1500)}, {"example.com/gpu", units(2)}, {"memory", units(1 << 30)}});
  cache.add_pod(make_pod("p", "a", spec));
  cache.add_pod(make_pod("q", "a", spec));
  cache.add_pod(make_pod("r", "a", make_spec({})));
  const NodeInfo& node = *cache.find_node("a");
  EXPECT_EQ(node.requested.milli_cpu, 3000);
  EXPECT_EQ(node.requested.memory_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(node.requested.scalar("example.com/gpu"), 4);
  EXPECT_EQ(node.non_zero_milli_cpu, 3100);
  EXPECT_EQ(node.non_zero_memory_bytes, (std::int64_t{2} << 30) + 209'715'200);

  for (const char* uid : {"uid-p", "uid-q"}) cache.remove_pod(uid);
  EXPECT_EQ(node.requested.milli_cpu, 0);
  EXPECT_EQ(node.requested.scalar("example.com/gpu"), 0);
  EXPECT_EQ(node.non_zero_milli_cpu, 100);
}

TEST(Cache, HugeAmountsWrapAroundAndBack) {
  ClusterCache cache;
  const auto huge = make_spec({{"memory", units(INT64_MAX)}});
  cache.add_pod(make_pod("small", "a", make_spec({{"memory", units(7)}})));
  for (const char* name : {"p", "q", "r"}) cache.add_pod(make_pod(name, "a", huge));
  for (const char* uid : {"uid-p", "uid-q", "uid-r"}) cache.remove_pod(uid);
  EXPECT_EQ(cache.find_node("a")->requested.memory_bytes, 7);
}

std::shared_ptr<const PodSpec> spec_with_port_80() {
  ContainerPort port;
  port.host_port = 80;
  return make_spec({}, {port});
}

TEST(Cache, APortUsedByTwoPodsIsFreedWhenOneIsRemoved) {
  ClusterCache cache;
  const auto spec = spec_with_port_80();
  cache.add_node(make_node("a"));
  cache.add_pod(make_pod("p", "a", spec));
  cache.add_pod(make_pod("q", "a", spec));
  EXPECT_EQ(cache.find_node("a")->used_ports, (std::vector<HostPort>{{"0.0.0.0", "TCP", 80}, {"0.0.0.0", "TCP", 80}}));
  cache.remove_pod("uid-p");
  EXPECT_TRUE(cache.find_node("a")->used_ports.empty());
  EXPECT_EQ(cache.check_consistency(), Names{});
  cache.remove_pod("uid-q");
  EXPECT_TRUE(cache.find_node("a")->used_ports.empty());
}

TEST(Cache, APortUsedByTwoPodsStaysTakenWhenOneThatWasNeverBoundIsForgotten) {
  ClusterCache cache;
  const auto spec = spec_with_port_80();
  cache.add_node(make_node("a"));
  cache.add_pod(make_pod("p", "a", spec));
  cache.assume_pod(make_pod("q", "", spec), "a");
  cache.forget_pod("uid-q");
  EXPECT_EQ(cache.find_node("a")->used_ports, (std::vector<HostPort>{{"0.0.0.0", "TCP", 80}}));
}

TEST(Cache, ACopyIsIndependentAndEqual) {
  ClusterCache cache;
  for (const auto& [name, zone] : {std::pair{"a1", "a"}, {"b1", "b"}, {"a2", "a"}})
    cache.add_node(make_node(name, zone));
  cache.add_pod(make_pod("p", "a1", make_spec({})));
  cache.assume_pod(make_pod("q", "", make_spec({})), "b1");
  cache.nodes_in_order();
  cache.remove_node("a1");  // the order still has it
  ClusterCache copy(cache);
  EXPECT_EQ(copy.check_consistency(), Names{});
  EXPECT_TRUE(copy.is_assumed("uid-q"));
  EXPECT_EQ(copy.ghost_count(), 1u);
  copy.remove_pod("uid-p");
  copy.forget_pod("uid-q");
  EXPECT_EQ(cache.pod_count(), 2u);
  EXPECT_EQ(copy.pod_count(), 0u);
  ASSERT_EQ(copy.nodes_in_order().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(copy.nodes_in_order()[i]->name, cache.nodes_in_order()[i]->name);
  EXPECT_EQ(copy.check_consistency(), Names{});
  EXPECT_EQ(cache.check_consistency(), Names{});
}

TEST(Cache, ARemovalThatIsTakenBackLeavesTheAmountsThatTheNodeHad) {
  const auto two = make_spec({{"example.com/a", units(2)}, {"example.com/b", units(3)}, {"memory", units(INT64_MAX)}});
  const auto zero = make_spec({{"example.com/a", units(1)}, {"example.com/c", units(0)}});
  for (const bool has_zero : {false, true}) {
    ClusterCache cache;
    cache.add_node(make_node("a"));
    cache.add_pod(make_pod("p", "a", make_spec({{"example.com/a", units(1)}, {"memory", units(7)}})));
    cache.add_pod(make_pod("q", "a", two));
    cache.add_pod(make_pod("r", "a", two));
    if (has_zero) cache.add_pod(make_pod("s", "a", zero));
    const NodeInfo& node = *cache.find_node("a");
    const NodeInfo before = node;
    UndoSteps steps;
    cache.note_changes_in(&steps);
    for (const char* uid : {"uid-q", "uid-r", "uid-p"}) cache.remove_pod(uid);
    ASSERT_EQ(node.requested.scalar("example.com/b"), 0);
    steps.undo_all();
    cache.note_changes_in(nullptr);
    EXPECT_EQ(node.requested, before.requested);
    EXPECT_EQ(node.non_zero_milli_cpu, before.non_zero_milli_cpu);
    EXPECT_EQ(node.non_zero_memory_bytes, before.non_zero_memory_bytes);
    EXPECT_EQ(cache.check_consistency(), Names{});
  }
}

TEST(Cache, AnUpdateThatIsTakenBackLeavesTheOrderTheStageAndTheObject) {
  const auto spec = make_spec({{"cpu", millis(100)}});
  ClusterCache cache;
  for (const char* name : {"p", "q", "r"}) cache.add_pod(make_pod(name, "a", spec));
  cache.assume_pod(make_pod("s", "", spec), "a");
  const NodeInfo before = *cache.find_node("a");
  UndoSteps steps;
  cache.note_changes_in(&steps);
  cache.update_pod(make_pod("p", "a", spec));
  cache.add_pod(make_pod("s", "a", spec));
  cache.update_pod(make_pod("q", "a", spec));
  ASSERT_EQ(pod_names(*cache.find_node("a")), (Names{"p", "s", "r", "q"}));
  ASSERT_FALSE(cache.is_assumed("uid-s"));
  steps.undo_all();
  cache.note_changes_in(nullptr);
  EXPECT_EQ(cache.find_node("a")->pods, before.pods);
  EXPECT_TRUE(cache.is_assumed("uid-s"));
  EXPECT_EQ(cache.check_consistency(), Names{});
}

TEST(Cache, AnEntryHasOneIdInAllCopiesAndNoOtherEntryHasIt) {
  ClusterCache cache;
  cache.add_node(make_node("a"));
  ClusterCache copy(cache);
  cache.add_node(make_node("b"));
  copy.add_node(make_node("c"));
  EXPECT_EQ(copy.find_node("a")->id, cache.find_node("a")->id);
  EXPECT_NE(copy.find_node("c")->id, cache.find_node("b")->id);
  const std::uint64_t before = cache.find_node("b")->id;
  cache.nodes_in_order();
  cache.remove_node("b");
  cache.nodes_in_order();  // the entry goes with the order that had it
  cache.add_node(make_node("b"));
  EXPECT_NE(cache.find_node("b")->id, before);
}

TEST(CacheImages, TheFirstReportedSizeStaysWhileANodeHasTheImage) {
  ClusterCache cache;
  cache.add_node(make_node("a", "", {{{"app:1", "app@sha"}, 100}}));
  cache.add_node(make_node("b", "", {{{"app:1"}, 200}}));
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
  EXPECT_EQ(cache.images().at("app:1").node_count, 2);
  EXPECT_EQ(cache.images().at("app@sha").node_count, 1);
  cache.remove_node("a");
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
  EXPECT_EQ(cache.images().count("app@sha"), 0U);
  cache.update_node(make_node("b", "", {{{"app:1"}, 200}}));
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 200) << "the only holder drops its reference before it adds it";
  cache.remove_node("b");
  EXPECT_TRUE(cache.images().empty());
}

TEST(CacheImages, ASizeThatANodeReportedBeforeMayBeSet) {
  ClusterCache cache;
  cache.add_node(make_node("a", "", {{{"app:1"}, 200}}));
  cache.set_image_size("app:1", 100);
  cache.set_image_size("none", 100);
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
  EXPECT_EQ(cache.images().size(), 1U);
  EXPECT_TRUE(cache.would_resize_images(*make_node("a", "", {{{"app:1"}, 200}})));
  ClusterCache copy(cache);
  copy.update_node(make_node("a", "", {{{"app:1"}, 200}}));
  EXPECT_EQ(copy.images().at("app:1").size_bytes, 200);
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
}

TEST(CacheImages, WhatANodeBroughtIsTakenBack) {
  ClusterCache cache;
  cache.add_node(make_node("a", "", {{{"app:1", "app:2"}, 100}}));
  UndoSteps steps;
  cache.note_changes_in(&steps);
  cache.update_node(make_node("a", "", {{{"app:2", "app:2", "app:3"}, 300}}));
  cache.add_node(make_node("b", "", {{{"app:1", "app:3"}, 400}}));
  cache.remove_node("a");
  steps.undo_all();
  cache.note_changes_in(nullptr);
  EXPECT_EQ(cache.images().size(), 2U);
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
  EXPECT_EQ(cache.images().at("app:2").node_count, 1);
  EXPECT_TRUE(cache.check_consistency().empty());
  cache.remove_node("a");
  EXPECT_TRUE(cache.images().empty());
}

TEST(Cache, NewPodsAreKnownByTheirUidsTogether) {
  ClusterCache cache;
  EXPECT_EQ(cache.place_new_pod(make_pod("p", "a"), "a", false), CacheResult::kOk);
  EXPECT_EQ(cache.place_new_pod(make_pod("q", "a"), "b", false), CacheResult::kNodeMismatch);
  EXPECT_EQ(cache.place_new_pod(make_pod("q", ""), "a", false), CacheResult::kNodeMismatch);
  EXPECT_EQ(cache.place_new_pod(make_pod("q", ""), "", true), CacheResult::kUnknownNode);
  EXPECT_EQ(cache.place_new_pod(make_pod("q", ""), "a", true), CacheResult::kOk);
  EXPECT_EQ(cache.get_pod("uid-p"), nullptr);
  EXPECT_TRUE(cache.index_new_pods());
  EXPECT_TRUE(cache.is_assumed("uid-q"));
  EXPECT_FALSE(cache.is_assumed("uid-p"));
  EXPECT_EQ(cache.find_node("b"), nullptr) << "what did not come leaves nothing behind";
  EXPECT_EQ(cache.find_node("a")->requested.milli_cpu, 200);
  EXPECT_TRUE(cache.check_consistency().empty());
  EXPECT_EQ(cache.remove_pod("uid-p"), CacheResult::kOk);
  EXPECT_TRUE(cache.check_consistency().empty());
  EXPECT_EQ(cache.place_new_pod(make_pod("q", "b"), "b", false), CacheResult::kOk);
  EXPECT_FALSE(cache.index_new_pods()) << "another pod has the uid";
}

TEST(CacheImages, ANameListedTwiceCountsOnce) {
  ClusterCache cache;
  cache.add_node(make_node("a", "", {{{"app:1", "app:1"}, 100}, {{"app:1"}, 300}}));
  EXPECT_EQ(cache.images().at("app:1").node_count, 1);
  EXPECT_EQ(cache.images().at("app:1").size_bytes, 100);
  cache.remove_node("a");
  EXPECT_TRUE(cache.images().empty());
}

TEST(Cache, UsesLessThanNinetyBytesPerPod) {
  constexpr int kPods = 150'000;
  constexpr int kNodes = 5'000;
  ClusterCache cache;
  for (int i = 0; i < kNodes; ++i) cache.add_node(make_node("node-" + std::to_string(i)));
  cache.nodes_in_order();
  const std::uint64_t before = cache.memory_bytes();
  const auto spec = make_spec({{"cpu", millis(100)}});
  for (int i = 0; i < kPods; ++i) {
    cache.add_pod(make_pod("pod-" + std::to_string(i), "node-" + std::to_string(i % kNodes), spec));
  }
  EXPECT_LE((cache.memory_bytes() - before) / kPods, 90U);
  EXPECT_LE(before / kNodes, 600U);
  EXPECT_EQ(cache.pod_count(), std::size_t{kPods});
}

}  // namespace
}  // namespace berth
