// SPDX-License-Identifier: Apache-2.0
#include "host/report/nearest_miss.h"

#include <gtest/gtest.h>

#include "tests/unit/report/cluster_builder.h"

namespace berth {
namespace {

std::vector<std::string> texts(const std::vector<NeededChange>& changes) {
  std::vector<std::string> list;
  for (const NeededChange& change : changes) list.push_back(change.text);
  return list;
}

/// What `pod` needs on the only node of a cluster.
std::vector<std::string> needed(const NodePtr& node, const PodPtr& pod, const std::vector<PodPtr>& running = {},
                                const Profile& profile = make_profile()) {
  ClusterObjects objects;
  objects.nodes = {node};
  objects.pods = running;
  return texts(MissFinder(make_cluster(objects)).changes(*pod, profile, node->name));
}

using Texts = std::vector<std::string>;

TEST(MissFinder, SaysHowMuchOfAResourceIsMissing) {
  const NodePtr node = make_node("a");
  EXPECT_EQ(needed(node, make_pod("p", 1000), {make_pod("r", 3500, "a")}), Texts{"500m cpu more"});
  EXPECT_EQ(needed(node, make_pod("p", 6000)), Texts{"2 cpu more"});
}

TEST(MissFinder, WritesMemoryInTheLargestExactUnit) {
  const NodePtr node = make_node("a");
  const auto asks = [&](const char* memory) {
    return needed(node, make_pod("p", 0, "", [&](PodSpec& spec) {
                    spec.containers[0].requests = {{"memory", *Quantity::parse(memory)}};
                  }));
  };
  EXPECT_EQ(asks("10Gi"), Texts{"2Gi memory more"});
  EXPECT_EQ(asks("8589934593"), Texts{"1 bytes of memory more"});
  EXPECT_EQ(asks("8Gi"), Texts{});
}

TEST(MissFinder, CountsMissingExtendedResourcesAndPodSlots) {
  const NodePtr node = make_node("a", [](Node& n) { n.allowed_pod_number = 0; });
  const PodPtr pod = make_pod(
      "p", 0, "", [](PodSpec& spec) { spec.containers[0].requests = {{"example.com/gpu", *Quantity::parse("2")}}; });
  EXPECT_EQ(needed(node, pod), (Texts{"1 pod slot more", "2 example.com/gpu more"}));
  Profile profile = make_profile();
  profile.args.node_resources_fit.ignored_resource_groups = {"example.com"};
  EXPECT_EQ(needed(node, pod, {}, profile), Texts{"1 pod slot more"});
}

TEST(MissFinder, NamesUntoleratedTaints) {
  const NodePtr node = make_node("a", [](Node& n) {
    n.taints = {{"dedicated", "gpu", TaintEffect::kNoSchedule},
                {"soft", "", TaintEffect::kPreferNoSchedule},
                {"gone", "", TaintEffect::kNoExecute}};
  });
  EXPECT_EQ(needed(node, make_pod("p", 1)),
            (Texts{"tolerate taint dedicated=gpu:NoSchedule", "tolerate taint gone:NoExecute"}));
  const PodPtr tolerant = make_pod("p", 1, "", [](PodSpec& spec) {
    spec.tolerations = {{"dedicated", TolerationOperator::kEqual, "gpu", std::nullopt},
                        {"gone", TolerationOperator::kExists, "", TaintEffect::kNoExecute}};
  });
  EXPECT_EQ(needed(node, tolerant), Texts{});
}

TEST(MissFinder, SuggestsUncordonUnlessTolerated) {
  const NodePtr node = make_node("a", [](Node& n) { n.unschedulable = true; });
  EXPECT_EQ(needed(node, make_pod("p", 1)), Texts{"uncordon it"});
  const PodPtr tolerant = make_pod(
      "p", 1, "", [](PodSpec& spec) { spec.tolerations = {{"", TolerationOperator::kExists, "", std::nullopt}}; });
  EXPECT_EQ(needed(node, tolerant), Texts{});
}

TEST(MissFinder, NamesUsedPorts) {
  const auto with_port = [](const std::string& ip) {
    return [ip](PodSpec& spec) { spec.containers[0].ports = {{8080, 80, "TCP", ip}}; };
  };
  const NodePtr node = make_node("a");
  EXPECT_EQ(needed(node, make_pod("p", 1, "", with_port("")), {make_pod("r", 1, "a", with_port("10.0.0.1"))}),
            Texts{"free port 8080/TCP"});
  EXPECT_EQ(needed(node, make_pod("p", 1, "", with_port("10.0.0.2")), {make_pod("r", 1, "a", with_port("10.0.0.1"))}),
            Texts{});
  EXPECT_EQ(needed(node, make_pod("p", 1, "", with_port("10.0.0.1")), {make_pod("r", 1, "a", with_port("10.0.0.1"))}),
            Texts{"free port 10.0.0.1:8080/TCP"});
}

TEST(MissFinder, NamesTheLabelsOfTheCheapestTerm) {
  const NodePtr node = make_node("a", [](Node& n) { n.labels = LabelMap{{"zone", "z1"}, {"gen", "7"}}; });
  const PodPtr pod = make_pod("p", 1, "", [](PodSpec& spec) {
    NodeSelectorTerm far;
    far.match_expressions = {{"disk", SelectorOperator::kIn, {"ssd"}}, {"zone", SelectorOperator::kIn, {"z2", "z3"}}};
    NodeSelectorTerm near;
    near.match_expressions = {{"gen", SelectorOperator::kGt, {"8"}}, {"zone", SelectorOperator::kExists, {}}};
    spec.node_affinity.emplace();
    spec.node_affinity->required = {far, near};
  });
  EXPECT_EQ(needed(node, pod), Texts{"label gen above 8"});
}

TEST(MissFinder, NamesEveryKindOfLabelRequirement) {
  const NodePtr node = make_node("a", [](Node& n) { n.labels = LabelMap{{"zone", "z1"}}; });
  const PodPtr pod = make_pod("p", 1, "", [](PodSpec& spec) {
    NodeSelectorTerm term;
    term.match_expressions = {{"zone", SelectorOperator::kNotIn, {"z1"}}, {"zone", SelectorOperator::kDoesNotExist, {}},
                              {"disk", SelectorOperator::kExists, {}},    {"zone", SelectorOperator::kIn, {"z2", "z3"}},
                              {"zone", SelectorOperator::kLt, {"5"}},     {"zone", SelectorOperator::kIn, {"z2"}}};
    term.match_fields = {{"metadata.name", SelectorOperator::kIn, {"b"}}};
    spec.node_selector = LabelMap{{"pool", "x"}};
    spec.node_affinity.emplace();
    spec.node_affinity->required = {term};
  });
  EXPECT_EQ(needed(node, pod),
            (Texts{"label pool=x", "label zone other than z1", "no label zone", "label disk",
                   "label zone as one of z2, z3", "label zone below 5", "label zone=z2", "be node b (matchFields)"}));
}

TEST(MissFinder, NamesTheAddedAffinityOfTheProfile) {
  Profile profile = make_profile();
  NodeSelectorTerm term;
  term.match_expressions = {{"pool", SelectorOperator::kIn, {"x"}}};
  profile.args.node_affinity.added_affinity.emplace();
  profile.args.node_affinity.added_affinity->required = {term};
  EXPECT_EQ(needed(make_node("a"), make_pod("p", 1), {}, profile), Texts{"label pool=x (addedAffinity)"});
}

TEST(MissFinder, IgnoresDisabledPlugins) {
  const NodePtr node = make_node("a", [](Node& n) { n.unschedulable = true; });
  EXPECT_EQ(needed(node, make_pod("p", 99000), {}, Profile()), Texts{});
}

TEST(MissFinder, PrefersRoomToATaintAndATaintToALabel) {
  ClusterObjects objects;
  objects.nodes = {make_node("labelled"),
                   make_node("tainted",
                             [](Node& n) {
                               n.taints = {{"t", "", TaintEffect::kNoSchedule}};
                               n.labels = LabelMap{{"disk", "ssd"}};
                             }),
                   make_node("full", [](Node& n) { n.labels = LabelMap{{"disk", "ssd"}}; })};
  objects.pods = {make_pod("r", 3800, "full")};
  const PodPtr pod = make_pod("p", 500, "", [](PodSpec& spec) { spec.node_selector = LabelMap{{"disk", "ssd"}}; });
  const ClusterCache cluster = make_cluster(objects);
  const MissFinder misses(cluster);
  const std::vector<RefusedNode> all = {{"labelled", {}}, {"tainted", {}}, {"full", {}}};
  EXPECT_EQ(misses.nearest(*pod, make_profile(), all)->node, "full");
  EXPECT_EQ(misses.nearest(*pod, make_profile(), std::span(all).first(2))->node, "tainted");
  EXPECT_EQ(misses.nearest(*pod, make_profile(), std::span(all).first(1))->node, "labelled");
}

TEST(MissFinder, NamesChangesOfOtherPods) {
  ClusterObjects objects;
  objects.nodes = {make_node("a")};
  const auto text = [&](const char* plugin, const char* reason) {
    const std::vector<RefusedNode> refused = {
        {"a", change_of_other_pods({StatusCode::kUnschedulable, plugin, {reason}})}};
    const auto miss = MissFinder(make_cluster(objects)).nearest(*make_pod("p", 1), make_profile(), refused);
    return miss ? miss->changes.front().text : "none";
  };
  EXPECT_EQ(text("PodTopologySpread", "node(s) didn't match pod topology spread constraints (missing required label)"),
            "the labels that the pod's topology spread constraints name");
  EXPECT_EQ(text("PodTopologySpread", "node(s) didn't match pod topology spread constraints"),
            "fewer matching pods in its domain, or more in the others (topology spread)");
  EXPECT_EQ(text("InterPodAffinity", "node(s) didn't match pod affinity rules"),
            "a pod in its domain that the pod's affinity asks for");
  EXPECT_EQ(text("InterPodAffinity", "node(s) didn't match pod anti-affinity rules"),
            "no pod in its domain that the pod's anti-affinity excludes");
  EXPECT_EQ(text("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules"),
            "no pod in its domain whose anti-affinity excludes the pod");
  EXPECT_EQ(text("NodeName", "other"), "none");
}

TEST(MissFinder, APodThatIsLeftOutGivesItsRoomBack) {
  ClusterObjects objects;
  objects.nodes = {make_node("a"), make_node("b")};
  objects.pods = {make_pod("p", 3000, "a"), make_pod("q", 3000, "a"), make_pod("r", 3000, "b")};
  const ClusterCache cluster = make_cluster(objects);
  const MissFinder misses(cluster, objects.pods.front().get());
  const PodPtr pod = make_pod("p", 3000);
  EXPECT_EQ(texts(misses.changes(*pod, make_profile(), "a")), Texts{"2 cpu more"});
  EXPECT_EQ(texts(misses.changes(*pod, make_profile(), "b")), Texts{"2 cpu more"});
  EXPECT_EQ(texts(MissFinder(cluster).changes(*pod, make_profile(), "a")), Texts{"5 cpu more"});
}

TEST(MissFinder, IsEmptyWithoutAnObstacle) {
  ClusterObjects objects;
  objects.nodes = {make_node("a")};
  const std::vector<RefusedNode> refused = {{"a", {}}, {"unknown", {}}};
  EXPECT_FALSE(MissFinder(make_cluster(objects)).nearest(*make_pod("p", 1), make_profile(), refused).has_value());
}

}  // namespace
}  // namespace berth
