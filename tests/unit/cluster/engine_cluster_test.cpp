// SPDX-License-Identifier: Apache-2.0
#include "host/cluster/engine_cluster.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cluster/cluster_builders.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

Names nodes_of(const ClusterEffect& effect) {
  Names names;
  for (const PodChange& pod : effect.pods) names.push_back(pod.node);
  return names;
}

class EngineClusterTest : public testing::Test {
 protected:
  EngineClusterTest() {
    cache_->add_node(make_node("a"));
    cache_->add_node(make_node("b"));
    cache_->add_pod(make_pod("old", "a", make_spec({})));
  }
  static PodPtr pod(const std::string& name, const std::string& node) { return make_pod(name, node, make_spec({})); }

  std::shared_ptr<ClusterCache> cache_ = std::make_shared<ClusterCache>();
};

TEST(NodePartsTest, EachPartHasItsOwnFingerprint) {
  Node node;
  const NodeFingerprint before = fingerprint_of(node);
  const auto differing = [&] { return differing_parts(before, fingerprint_of(std::exchange(node, Node()))); };
  const auto only = [](NodePart part) {
    NodeParts parts;
    parts.insert(part);
    return parts;
  };
  EXPECT_TRUE(differing().empty());
  node.allocatable.scalars = {{"example.com/x", 1}};
  EXPECT_EQ(differing(), only(NodePart::kAllocatable));
  node.allowed_pod_number = 5;
  EXPECT_EQ(differing(), only(NodePart::kAllocatable));
  node.labels = LabelMap{{"a", "b"}};
  EXPECT_EQ(differing(), only(NodePart::kLabels));
  node.taints = {{"k", "", TaintEffect::kNoSchedule}};
  EXPECT_EQ(differing(), only(NodePart::kTaints));
  node.unschedulable = true;
  EXPECT_EQ(differing(), only(NodePart::kCordon));
  node.images = {{{"x"}, 1}};
  EXPECT_EQ(differing(), only(NodePart::kImages));
  node.declared_features = {"f"};
  EXPECT_EQ(differing(), only(NodePart::kFeatures));
  node.declared = {{0, false, "x"}};
  EXPECT_EQ(differing(), only(NodePart::kDeclared));
}

TEST_F(EngineClusterTest, TheCacheThatItWasOpenedWithStaysAsItWas) {
  EngineCluster cluster(cache_, {});
  EXPECT_EQ(&cluster.cache(), cache_.get()) << "nothing has changed yet";
  cluster.apply(NodeRemoval{"b"});
  cluster.apply(PodRemoval{"uid-old"});
  EXPECT_EQ(cluster.cache().nodes().size(), 1u);
  EXPECT_EQ(cache_->nodes().size(), 2u);
  EXPECT_EQ(cache_->pod_count(), 1u);
}

TEST_F(EngineClusterTest, ACacheThatNobodyElseHasIsNotCopied) {
  const ClusterCache* const only = cache_.get();
  EngineCluster cluster(std::move(cache_), {});
  cluster.apply(NodeRemoval{"b"});
  EXPECT_EQ(&cluster.cache(), only);
  const std::shared_ptr<const ClusterCache> left = cluster.leave_cache();
  EXPECT_EQ(left.get(), only);
}

TEST(EmptyEngineCluster, WhatACallMakesOfItIsGivenUpAsAWhole) {
  EngineCluster cluster(std::make_shared<ClusterCache>(), {});
  const auto load = [&] {
    cluster.apply(NodeUpsert(make_node("a", "z")));
    cluster.apply(PodUpsert{make_pod("p", "a", make_spec({{"cpu", units(2)}}))});
    StorageClass fast;
    fast.name = "fast";
    cluster.apply(StorageUpsert{fast});
    cluster.apply(NamespaceUpsert{{"team", {}}});
    cluster.apply(ServiceUpsert{{"web", "team", LabelMap{{"app", "web"}}}});
  };
  const auto is_empty = [&] {
    return cluster.cache().empty() && cluster.objects().namespaces.empty() && cluster.objects().selecting.empty();
  };
  for (int times = 0; times < 2; ++times) {
    cluster.begin();
    load();
    EXPECT_FALSE(is_empty());
    cluster.take_back();
    EXPECT_TRUE(is_empty()) << times;
    EXPECT_TRUE(cluster.cache().nodes_in_order().empty());
  }
  cluster.begin();
  load();
  cluster.keep();
  EXPECT_EQ(cluster.cache().pod_count(), 1u);
  EXPECT_TRUE(cluster.cache().check_consistency().empty());
  // From here on there is something to go back to.
  cluster.begin();
  cluster.apply(PodRemoval{"uid-p"});
  cluster.apply(NodeRemoval{"a"});
  cluster.take_back();
  EXPECT_EQ(cluster.cache().find_node("a")->pods.size(), 1u);
  EXPECT_TRUE(cluster.cache().check_consistency().empty());
}

TEST_F(EngineClusterTest, ALoadIsTakenBackToTheCacheFromBefore) {
  EngineCluster cluster(cache_, {});
  for (const bool is_changed_before : {false, true}) {
    if (is_changed_before) cluster.apply(PodUpsert{pod("own", "b")});
    cluster.begin();
    cluster.apply(PodRemoval{"uid-old"});
    cluster.begin_load();
    EXPECT_EQ(cluster.cache().get_pod("uid-old"), nullptr) << "what the call has changed until now is part of it";
    cluster.apply(PodUpsert{pod("new", "a")});
    cluster.apply(NodeRemoval{"b"});
    cluster.take_back();
    EXPECT_NE(cluster.cache().get_pod("uid-old"), nullptr);
    EXPECT_EQ(cluster.cache().get_pod("uid-new"), nullptr);
    EXPECT_EQ(cluster.cache().nodes().size(), 2u);
    EXPECT_TRUE(cluster.cache().check_consistency().empty());
  }
  cluster.begin();
  cluster.begin_load();
  cluster.apply(PodUpsert{pod("new", "a")});
  cluster.keep();
  EXPECT_EQ(cluster.cache().pod_count(), 3u);
  EXPECT_TRUE(cluster.cache().check_consistency().empty());
  EXPECT_EQ(cache_->pod_count(), 1u) << "the caller's stays as it was";
  cluster.begin();
  cluster.apply(PodRemoval{"uid-new"});
  cluster.take_back();
  EXPECT_EQ(cluster.cache().pod_count(), 3u);
}

TEST_F(EngineClusterTest, AHeartbeatChangesNothing) {
  EngineCluster cluster(cache_, {});
  const ClusterEffect effect = cluster.apply(NodeUpsert(make_node("a")));
  EXPECT_EQ(effect.node, ClusterEffect::Node::kChanged);
  EXPECT_TRUE(effect.parts.empty());
}

std::shared_ptr<Node> node_with_image(const std::string& name, std::int64_t size_bytes) {
  auto node = std::make_shared<Node>(*make_node(name));
  node->images = {{{"app:v1"}, size_bytes}};
  return node;
}

TEST_F(EngineClusterTest, AHeartbeatOfTheLastNodeWithAnImageGivesItsSize) {
  EngineCluster cluster(cache_, {});
  cluster.apply(NodeUpsert(node_with_image("a", 100)));
  cluster.apply(NodeUpsert(node_with_image("b", 200)));
  EXPECT_TRUE(cluster.apply(NodeUpsert(node_with_image("b", 200))).parts.empty()) << "the size that came first counts";
  EXPECT_EQ(cluster.cache().images().at("app:v1").size_bytes, 100);
  cluster.apply(NodeRemoval{"a"});
  EXPECT_EQ(cluster.cache().images().at("app:v1").size_bytes, 100) << "nobody has reported since";
  EXPECT_FALSE(cluster.is_heartbeat(NodeUpsert(node_with_image("b", 200))));
  EXPECT_TRUE(cluster.apply(NodeUpsert(node_with_image("b", 200))).parts.contains(NodePart::kImages));
  EXPECT_EQ(cluster.cache().images().at("app:v1").size_bytes, 200);
  EXPECT_TRUE(cluster.apply(NodeUpsert(node_with_image("b", 200))).parts.empty());
}

TEST_F(EngineClusterTest, RemovingWhatIsNotThereHasNoEffect) {
  EngineCluster cluster(cache_, {});
  EXPECT_EQ(cluster.apply(NodeRemoval{"none"}).node, ClusterEffect::Node::kNone);
  EXPECT_TRUE(cluster.apply(PodRemoval{"none"}).pods.empty());
  EXPECT_FALSE(cluster.apply(NamespaceRemoval{"none"}).namespaces_changed);
  EXPECT_FALSE(cluster.apply(ServiceRemoval{"none", "none"}).selectors_changed);
  EXPECT_FALSE(cluster.apply(WorkloadRemoval{"ReplicaSet", "none", "none"}).selectors_changed);
}

TEST_F(EngineClusterTest, APlacementIsConfirmedOverruledOrForgotten) {
  EngineCluster cluster(cache_, {});
  for (const char* name : {"p", "q", "r"}) cluster.assume(pod(name, ""), "a", nullptr);
  EXPECT_EQ(nodes_of(cluster.apply(PodUpsert{pod("p", "a")})), Names{"a"});
  EXPECT_FALSE(cluster.cache().is_assumed("uid-p"));
  EXPECT_EQ(nodes_of(cluster.apply(PodUpsert{pod("q", "b")})), (Names{"a", "b"}));
  EXPECT_EQ(cluster.cache().node_of_pod("uid-q")->name, "b");
  EXPECT_EQ(cluster.forget("uid-p"), std::nullopt) << "it was confirmed";
  EXPECT_EQ(cluster.forget("uid-r")->node, "a");
  EXPECT_EQ(cluster.cache().get_pod("uid-r"), nullptr);
}

TEST_F(EngineClusterTest, AFinishedPodIsRemoved) {
  EngineCluster cluster(cache_, {});
  auto finished = std::make_shared<Pod>();
  finished->stored_uid = "uid-old";
  finished->node_name = "a";
  finished->spec = make_spec({});
  finished->phase = PodPhase::kSucceeded;
  EXPECT_EQ(nodes_of(cluster.apply(PodUpsert{finished})), Names{"a"});
  EXPECT_EQ(cluster.cache().pod_count(), 0u);
}

TEST_F(EngineClusterTest, NominationsFollowThePodAndTheScheduler) {
  EngineCluster cluster(cache_, {});
  const PodPtr waiting = pod("w", "");
  const ClusterEffect told = cluster.apply(NominationUpsert{waiting, "b"});
  EXPECT_EQ(told.nomination, waiting);
  EXPECT_EQ(told.nominated_node, "b");
  const ClusterEffect updated = cluster.apply(PodUpsert{waiting});
  EXPECT_EQ(updated.nomination, waiting);
  EXPECT_EQ(updated.nominated_node, "") << "its status names no node";
  EXPECT_EQ(cluster.apply(PodRemoval{"uid-w"}).nomination_ended, "uid-w");
  cluster.assume(waiting, "a", nullptr);
  EXPECT_EQ(cluster.apply(PodUpsert{waiting}).nomination, nullptr) << "it is placed";
}

TEST_F(EngineClusterTest, ObjectsAreReplacedByName) {
  EngineCluster cluster(cache_, {});
  EXPECT_TRUE(cluster.apply(NamespaceUpsert{{"n", LabelMap{{"a", "b"}}}}).namespaces_changed);
  cluster.apply(NamespaceUpsert{{"n", LabelMap{{"a", "c"}}}});
  ASSERT_EQ(cluster.objects().namespaces.size(), 1u);
  EXPECT_EQ(cluster.objects().namespaces.front().labels, (LabelMap{{"a", "c"}}));
  EXPECT_TRUE(cluster.apply(ServiceUpsert{{"s", "n", LabelMap{{"a", "b"}}}}).selectors_changed);
  cluster.apply(ServiceUpsert{{"s", "other", {}}});
  EXPECT_EQ(cluster.objects().listed().services.size(), 2u);
  EXPECT_TRUE(cluster.apply(ServiceRemoval{"n", "s"}).selectors_changed);
  EXPECT_EQ(cluster.objects().listed().services.size(), 1u);
  Workload workload;
  workload.kind = "ReplicaSet";
  workload.name = "w";
  cluster.apply(WorkloadUpsert{workload});
  EXPECT_TRUE(cluster.apply(WorkloadRemoval{"ReplicaSet", "", "w"}).selectors_changed);
  EXPECT_TRUE(cluster.objects().listed().workloads.empty());
  cluster.apply(ServiceRemoval{"other", "s"});
  EXPECT_TRUE(cluster.objects().selecting.empty()) << "namespaces without objects cost nothing";
}

}  // namespace
}  // namespace berth
