// SPDX-License-Identifier: Apache-2.0
#include "host/generate/generate.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "host/generate/node_use.h"
#include "host/objects/pod_requests.h"

namespace berth {
namespace {

ClusterObjects generate(const std::string& json, std::uint64_t seed = 1) {
  return generate_cluster(parse_cluster_spec(json, "s"), seed);
}

std::size_t running_count(const ClusterObjects& objects) {
  std::size_t count = 0;
  for (const PodPtr& pod : objects.pods) count += pod->node_name.empty() ? 0U : 1U;
  return count;
}

/// Fails when a node is overcommitted.
void expect_no_overcommitment(const ClusterObjects& objects) {
  std::map<std::string, const Node*> nodes;
  std::map<std::string, NodeUse> uses;
  for (const NodePtr& node : objects.nodes) nodes[node->name] = node.get();
  for (const PodPtr& pod : objects.pods) {
    if (pod->node_name.empty()) continue;
    ASSERT_TRUE(nodes.contains(pod->node_name));
    const ResourceAmounts request = requested_on_node(*pod);
    EXPECT_TRUE(uses[pod->node_name].has_room(*nodes[pod->node_name], request)) << pod->node_name;
    uses[pod->node_name].add_pod(request);
  }
}

TEST(Generate, NodesHaveNamesZonesAndLabels) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 4, "zones": ["x", "y"],
      "regions": ["r"], "labels": {"disk": "ssd"}, "allocatable": {"cpu": 2, "memory": "1Gi", "nvidia.com/gpu": 3},
      "taints": [{"key": "t", "effect": "NoExecute"}], "declaredFeatures": ["F"]}]})");
  ASSERT_EQ(objects.nodes.size(), 4U);
  const Node& node = *objects.nodes[3];
  EXPECT_EQ(node.name, "a-3");
  EXPECT_EQ(node.labels, (LabelMap{{"kubernetes.io/hostname", "a-3"},
                                   {"topology.kubernetes.io/zone", "y"},
                                   {"topology.kubernetes.io/region", "r"},
                                   {"disk", "ssd"}}));
  EXPECT_EQ(node.allocatable.milli_cpu, 2000);
  EXPECT_EQ(node.allocatable.memory_bytes, 1 << 30);
  EXPECT_EQ(node.allocatable.scalar("nvidia.com/gpu"), 3);
  EXPECT_EQ(node.allowed_pod_number, 110);
  EXPECT_EQ(node.taints, (std::vector<Taint>{{"t", "", TaintEffect::kNoExecute}}));
  EXPECT_EQ(node.declared_features, std::vector<std::string>{"F"});
}

TEST(Generate, PercentagesSelectAboutThatShareOfThePool) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 2000, "unschedulablePercent": 10,
      "allocatable": {"pods": 7}, "images": [{"names": ["i:1"], "size": "1Mi", "percent": 40}]}]})");
  int unschedulable = 0;
  int with_image = 0;
  for (const NodePtr& node : objects.nodes) {
    unschedulable += node->unschedulable ? 1 : 0;
    with_image += node->images.empty() ? 0 : 1;
    EXPECT_EQ(node->allowed_pod_number, 7);
    for (const NodeImage& image : node->images) EXPECT_EQ(image.size_bytes, 1 << 20);
  }
  EXPECT_NEAR(unschedulable, 200, 60);
  EXPECT_NEAR(with_image, 800, 100);
}

TEST(Generate, ASeedGivesOneClusterAndAnotherSeedAnother) {
  const std::string spec =
      R"({"nodePools": [{"name": "a", "count": 200, "allocatable": {"cpu": {"choice": [1, 2, 4]}}}],
      "pods": [{"name": "p", "running": 100, "variants": 9, "requests": {"cpu": {"min": "10m", "max": 1,
          "step": "10m"}}}]})";
  const auto text_of = [&](std::uint64_t seed) {
    std::string text;
    const ClusterObjects objects = generate(spec, seed);
    for (const NodePtr& node : objects.nodes) text += std::to_string(node->allocatable.milli_cpu) + ' ';
    for (const PodPtr& pod : objects.pods) {
      text += pod->name + ' ' + pod->node_name + ' ' + std::to_string(filter_requests(*pod).milli_cpu) + ' ';
    }
    return text;
  };
  EXPECT_EQ(text_of(5), text_of(5));
  EXPECT_NE(text_of(5), text_of(6));
}

TEST(Generate, ASeedGivesTheSameNumbersInEveryVersion) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 3,
      "allocatable": {"cpu": {"min": 1, "max": 1000, "step": 1}}}]})",
                                          42);
  std::vector<std::int64_t> drawn;
  for (const NodePtr& node : objects.nodes) drawn.push_back(node->allocatable.milli_cpu / 1000);
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{402, 534, 718}));
}

TEST(Generate, VariantsShareTheirSpecAndSequencesCountVariants) {
  const ClusterObjects objects =
      generate(R"({"pods": [{"name": "p", "pending": 9, "variants": 3, "variantsInTurn": true,
      "labels": {"app": "x"}, "requests": {"cpu": {"start": "100m", "step": "30m", "modulo": "50m"}}}]})");
  ASSERT_EQ(objects.pods.size(), 9U);
  EXPECT_EQ(objects.pods[1]->spec, objects.pods[4]->spec);
  const std::int64_t expected[] = {100, 130, 110};  // 100 + (k * 30) mod 50
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(filter_requests(*objects.pods[i]).milli_cpu, expected[i % 3]);
}

TEST(Generate, VariantsWithEqualValuesShareOneSpec) {
  const ClusterObjects objects = generate(R"({"pods": [{"name": "p", "pending": 200, "variants": 50,
      "requests": {"cpu": {"choice": [1, 2]}}}]})");
  std::set<const PodSpec*> specs;
  for (const PodPtr& pod : objects.pods) specs.insert(pod->spec.get());
  EXPECT_EQ(specs.size(), 2U);
}

TEST(Generate, PodsAreNumberedRunningFirstAndSpreadOverNamespaces) {
  const ClusterObjects objects = generate(R"({"namespaces": [{"name": "x"}, {"name": "y"}],
      "nodePools": [{"name": "a", "count": 1}],
      "pods": [{"name": "p", "running": 1, "pending": 2, "namespaces": ["x", "y"],
                "created": {"at": "1970-01-01T00:00:10Z", "everySeconds": 5}}]})");
  ASSERT_EQ(objects.pods.size(), 3U);
  EXPECT_EQ(objects.pods[0]->full_name(), "x/p-0");
  EXPECT_EQ(objects.pods[0]->node_name, "a-0");
  EXPECT_EQ(objects.pods[0]->phase, PodPhase::kRunning);
  EXPECT_EQ(objects.pods[0]->start_time_us, 10'000'000);
  EXPECT_EQ(objects.pods[1]->full_name(), "y/p-1");
  EXPECT_EQ(objects.pods[1]->phase, PodPhase::kPending);
  EXPECT_EQ(objects.pods[2]->creation_time_us, 20'000'000);
  ASSERT_EQ(objects.namespaces.size(), 3U);
  EXPECT_EQ(objects.namespaces[1].labels, (LabelMap{{"kubernetes.io/metadata.name", "x"}}));
}

TEST(Generate, RequestsAreFilledFromLimitsAndHostNetworkSetsHostPorts) {
  const ClusterObjects objects = generate(R"({"pods": [{"name": "p", "pending": 1, "hostNetwork": true, "containers": [
      {"name": "c", "requests": {"memory": "1Gi"}, "limits": {"cpu": 2, "memory": "3Gi"},
          "ports": [{"containerPort": 90}]}]}]})");
  const Container& container = objects.pods.at(0)->spec->containers.at(0);
  ASSERT_EQ(container.requests.size(), 2U);
  EXPECT_EQ(container.requests[0].first, "cpu");
  EXPECT_EQ(container.requests[0].second.value(), 2);
  EXPECT_EQ(container.requests[1].second.value(), 1 << 30);
  EXPECT_EQ(container.ports.at(0).host_port, 90);
}

TEST(Generate, PrioritiesComeFromTheClassTheNumberOrTheDefaultClass) {
  const ClusterObjects objects = generate(R"({
      "priorityClasses": [{"name": "high", "value": 9, "preemptionPolicy": "Never"},
                          {"name": "usual", "value": 3, "globalDefault": true}],
      "pods": [{"name": "a", "pending": 1, "priorityClass": "high"}, {"name": "b", "pending": 1},
               {"name": "c", "pending": 1, "priority": -4},
               {"name": "d", "pending": 1, "priorityClass": "system-node-critical"}]})");
  EXPECT_EQ(objects.pods[0]->priority, 9);
  EXPECT_EQ(objects.pods[0]->preemption_policy, PreemptionPolicy::kNever);
  EXPECT_EQ(objects.pods[1]->priority, 3);
  EXPECT_EQ(objects.pods[2]->priority, -4);
  EXPECT_EQ(objects.pods[3]->priority, 2'000'001'000);
}

TEST(Generate, OnlyPendingPodsHaveGates) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 1}],
      "pods": [{"name": "p", "running": 1, "pending": 1, "schedulingGates": ["g"]}]})");
  EXPECT_TRUE(objects.pods[0]->rare().scheduling_gates.empty());
  EXPECT_EQ(objects.pods[1]->rare().scheduling_gates, std::vector<std::string>{"g"});
}

TEST(Generate, ReportsRunningPodsThatDoNotFit) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 3, "allocatable": {"cpu": 1}}],
      "pods": [{"name": "p", "running": 10, "pending": 2, "requests": {"cpu": "500m"}}]})");
  EXPECT_EQ(running_count(objects), 6U);
  EXPECT_EQ(objects.pods.size(), 8U);
  EXPECT_EQ(objects.warnings,
            std::vector<std::string>{"pods p: 4 of 10 running pods were left out, no node has room for them"});
  expect_no_overcommitment(objects);
}

TEST(Generate, OnePodPerHostPortRunsOnANode) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 3}],
      "pods": [{"name": "p", "running": 2, "hostPorts": [80]}, {"name": "q", "running": 2, "hostPorts": [81, 80]},
               {"name": "r", "running": 3, "containers": [{"name": "c", "ports": [{"hostPort": 80,
          "protocol": "UDP"}]}]}]})");
  std::map<std::string, int> on_node;
  for (const PodPtr& pod : objects.pods) on_node[pod->node_name] += pod->name.starts_with("r") ? 0 : 1;
  for (const auto& [node, count] : on_node) EXPECT_EQ(count, 1) << node;
  EXPECT_EQ(running_count(objects), 6U);
  EXPECT_EQ(objects.warnings.size(), 1U);
}

TEST(Generate, RunningPodsAvoidTaintedPoolsUnlessNamed) {
  const ClusterObjects objects = generate(R"({"nodePools": [
      {"name": "tainted", "count": 3, "taints": [{"key": "t", "effect": "NoSchedule"}]},
      {"name": "soft", "count": 3, "taints": [{"key": "t", "effect": "PreferNoSchedule"}]}],
      "pods": [{"name": "p", "running": 30}, {"name": "q", "running": 30, "runningOn": ["tainted"]}]})");
  for (const PodPtr& pod : objects.pods) {
    EXPECT_TRUE(pod->node_name.starts_with(pod->name.starts_with("q") ? "tainted-" : "soft-")) << pod->name;
  }
}

TEST(Generate, RoundRobinVisitsTheNodesInTurn) {
  const ClusterObjects objects = generate(R"({"nodePools": [{"name": "a", "count": 3}],
      "pods": [{"name": "p", "running": 5, "placement": "roundRobin"}]})");
  const std::string expected[] = {"a-0", "a-1", "a-2", "a-0", "a-1"};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(objects.pods.at(i)->node_name, expected[i]);
}

TEST(Generate, WithoutNodesNoPodRuns) {
  const ClusterObjects objects = generate(R"({"pods": [{"name": "p", "running": 2, "pending": 1}]})");
  EXPECT_EQ(running_count(objects), 0U);
  EXPECT_EQ(objects.pods.size(), 1U);
}

TEST(Generate, ARandomSpecDrawsARandomCluster) {
  const ClusterObjects objects = generate(R"({"random": {"maxNodes": 4, "topology": 0}})", 3);
  EXPECT_LE(objects.nodes.size(), 4U);
  EXPECT_EQ(objects.namespaces.size(), 3U);
}

TEST(Generate, TheExampleClusterHasTheDocumentedSize) {
  const ClusterObjects objects = generate_cluster(load_cluster_spec("examples/cluster.yaml"), 1);
  EXPECT_EQ(objects.nodes.size(), 5000U);
  EXPECT_EQ(running_count(objects), 20000U);
  EXPECT_EQ(objects.pods.size(), 30000U);
  EXPECT_TRUE(objects.warnings.empty());
  std::set<const PodSpec*> shapes;
  for (const PodPtr& pod : objects.pods) shapes.insert(pod->spec.get());
  EXPECT_GE(shapes.size(), 40U);
  std::set<std::string> zones;
  for (const NodePtr& node : objects.nodes) zones.emplace(node->labels.find("topology.kubernetes.io/zone").value());
  EXPECT_EQ(zones.size(), 3U);
  expect_no_overcommitment(objects);
}

TEST(Generate, WorkloadsHaveTheDocumentedShapes) {
  const ClusterObjects classes = generate_cluster(load_cluster_spec("bench/workloads/classes-20.yaml"), 1);
  std::set<const PodSpec*> specs;
  for (const PodPtr& pod : classes.pods) specs.insert(pod->spec.get());
  EXPECT_EQ(specs.size(), 20U);
  EXPECT_EQ(classes.nodes.size(), 5000U);
  EXPECT_EQ(classes.pods.size(), 100000U);
  const ClusterObjects distinct = generate_cluster(load_cluster_spec("bench/workloads/distinct.yaml"), 1);
  specs.clear();
  for (const PodPtr& pod : distinct.pods) specs.insert(pod->spec.get());
  EXPECT_EQ(specs.size(), 10000U);
  EXPECT_EQ(filter_requests(*distinct.pods[7]).memory_bytes, (65536 + 7) * 1024);
  EXPECT_EQ(filter_requests(*distinct.pods[30]).milli_cpu, 50 + (30 * 37) % 1000);
}

TEST(Generate, CountedNamespacesAreReferencedTogetherAndLabelledEach) {
  const ClusterObjects objects = generate(R"({"namespaces": [{"name": "team", "count": 3, "labels": {"a": "b"}}],
      "pods": [{"name": "p", "namespaces": ["team", "default"], "pending": 5}]})");
  ASSERT_EQ(objects.namespaces.size(), 4U);
  EXPECT_EQ(objects.namespaces[3].labels, (LabelMap{{"a", "b"}, {"kubernetes.io/metadata.name", "team-2"}}));
  std::string namespaces;
  for (const PodPtr& pod : objects.pods) namespaces += pod->namespace_ + ' ';
  EXPECT_EQ(namespaces, "team-0 team-1 team-2 default team-0 ");
}

TEST(Generate, TextSequencesCountVariantsAndServices) {
  const ClusterObjects objects = generate(R"({
      "services": [{"name": "s", "count": 3, "selector": {"app": {"prefix": "a-", "count": 2}}}, {"name": "t"}],
      "pods": [{"name": "p", "pending": 4, "variants": 4, "variantsInTurn": true,
                "labels": {"app": {"prefix": "a-", "count": 3}}}]})");
  ASSERT_EQ(objects.services.size(), 4U);
  EXPECT_EQ(objects.services[2].name, "s-2");
  EXPECT_EQ(objects.services[2].namespace_, "default");
  EXPECT_EQ(objects.services[2].selector, (LabelMap{{"app", "a-0"}}));
  EXPECT_EQ(objects.services[3].name, "t");
  EXPECT_EQ(objects.pods[2]->labels, (LabelMap{{"app", "a-2"}}));
  EXPECT_EQ(objects.pods[3]->labels, (LabelMap{{"app", "a-0"}}));
}

TEST(Generate, LabelKeysAreMergedForTermsPerVariantAndNotForConstraints) {
  const ClusterObjects objects =
      generate(R"({"pods": [{"name": "p", "pending": 4, "variants": 2, "variantsInTurn": true,
      "labels": {"app": {"prefix": "a-", "count": 2}},
      "podAffinity": {"required": [{"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app"]}]},
      "topologySpreadConstraints": [{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {},
                                     "matchLabelKeys": ["app"]}]}]})");
  ASSERT_EQ(objects.pods.size(), 4U);
  EXPECT_EQ(objects.pods[0]->spec, objects.pods[2]->spec);
  EXPECT_NE(objects.pods[0]->spec, objects.pods[1]->spec);
  const PodSpec& spec = *objects.pods[1]->spec;
  EXPECT_EQ(spec.pod_affinity.value().required.at(0).label_selector,
            (LabelSelector{{}, {{"app", SelectorOperator::kIn, {"a-1"}}}}));
  EXPECT_EQ(spec.topology_spread_constraints.at(0).label_selector, LabelSelector{});
}

TEST(Generate, AnOwnerExistsOnceInEachNamespaceOfItsPods) {
  const ClusterObjects objects = generate(R"({"namespaces": [{"name": "x"}],
      "pods": [{"name": "p", "namespaces": ["x", "default"], "pending": 2,
                "ownedBy": {"kind": "ReplicaSet", "name": "set", "selector": {"matchLabels": {"a": "b"}}}},
               {"name": "q", "pending": 1,
                "ownedBy": {"kind": "ReplicaSet", "name": "set", "selector": {"matchLabels": {"a": "b"}}}},
               {"name": "r", "pending": 1, "ownedBy": {"kind": "ReplicationController", "name": "set"}}]})");
  std::string workloads;
  for (const Workload& workload : objects.workloads) workloads += workload.kind + ' ' + workload.namespace_ + ", ";
  EXPECT_EQ(workloads, "ReplicaSet x, ReplicaSet default, ReplicationController default, ");
  EXPECT_EQ(objects.workloads[0].selector, (LabelSelector{LabelMap{{"a", "b"}}, {}}));
  const OwnerReference& owner = objects.pods[0]->owners->at(0);
  EXPECT_EQ(owner.kind + ' ' + owner.name + ' ' + owner.api_version, "ReplicaSet set apps/v1");
  EXPECT_TRUE(owner.controller);
  EXPECT_EQ(objects.pods[3]->owners->at(0).api_version, "v1");
}

}  // namespace
}  // namespace berth
