// SPDX-License-Identifier: Apache-2.0
#include "host/generate/cluster_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "host/objects/errors.h"

namespace berth {
namespace {

/// Every problem of a spec, one per line, without the file name.
std::string problems_of(const std::string& json) {
  try {
    parse_cluster_spec(json, "s");
  } catch (const InputError& error) {
    std::string all;
    for (InputProblem problem : error.problems()) {
      // All texts here are one line.
      if (problem.location.starts_with("line 1")) problem.location.erase(0, std::string("line 1, ").size());
      all += (all.empty() ? "" : "\n") + problem.location + ": " + problem.message;
    }
    return all;
  }
  return "no problem";
}

std::string problems_of_group(const std::string& fields) {
  return problems_of(R"({"pods": [{"name": "web", )" + fields + "}]}");
}

std::string problems_of_pool(const std::string& fields) {
  return problems_of(R"({"nodePools": [{"name": "a", )" + fields + "}]}");
}

TEST(ClusterSpec, AnEmptySpecIsAnEmptyCluster) {
  const ClusterSpec spec = parse_cluster_spec("{}", "s");
  EXPECT_TRUE(spec.node_pools.empty());
  EXPECT_TRUE(spec.pod_groups.empty());
  EXPECT_FALSE(spec.random);
  ASSERT_EQ(spec.namespaces.size(), 1U);
  EXPECT_EQ(spec.namespaces[0].name, "default");
}

TEST(ClusterSpec, FieldsThatAreNotGivenHaveTheirDefaults) {
  const ClusterSpec spec = parse_cluster_spec(R"({"nodePools": [{"name": "a"}], "pods": [{"name": "web"}]})", "s");
  const NodePoolSpec& pool = spec.node_pools.at(0);
  EXPECT_EQ(pool.count, 0);
  EXPECT_TRUE(pool.hostname_label);
  EXPECT_EQ(pool.unschedulable_percent, 0);
  const PodGroupSpec& group = spec.pod_groups.at(0);
  EXPECT_EQ(group.namespaces, std::vector<std::string>{"default"});
  EXPECT_EQ(group.variants, 1);
  EXPECT_FALSE(group.variants_in_turn);
  EXPECT_EQ(group.placement, RunningPlacement::kRandom);
  EXPECT_EQ(group.scheduler_name, "default-scheduler");
  ASSERT_EQ(group.containers.size(), 1U);
  EXPECT_EQ(group.containers[0].name, "main");
  EXPECT_FALSE(group.priority);
}

TEST(ClusterSpec, QuantitiesAreFixedDrawnOrCounted) {
  const ClusterSpec spec = parse_cluster_spec(R"({"pods": [{"name": "web", "requests": {
      "cpu": 0.5, "memory": {"choice": ["1Gi", 4096], "weights": [3, 1]},
      "ephemeral-storage": {"min": "1Gi", "max": "3Gi", "step": "1Gi"},
      "example.com/x": {"start": 1, "step": 2, "modulo": 5}}}]})",
                                              "s");
  const ResourceDraws& requests = spec.pod_groups.at(0).containers.at(0).requests;
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0].first, "cpu");
  EXPECT_EQ(requests[0].second.values.at(0).milli_value(), 500);
  EXPECT_EQ(requests[1].first, "ephemeral-storage");
  EXPECT_EQ(requests[1].second.step_count, 3);
  EXPECT_EQ(requests[2].second.kind, QuantityDraw::Kind::kSequence);
  EXPECT_EQ(requests[2].second.modulo.value(), 5);
  EXPECT_EQ(requests[3].second.weights, (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(requests[3].second.values.at(1).value(), 4096);
}

TEST(ClusterSpec, AffinityTolerationsAndPortsAreReadAsWritten) {
  const ClusterSpec spec = parse_cluster_spec(R"({"pods": [{"name": "web",
      "nodeAffinity": {"required": [{"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["3"]}]}],
                       "preferred": [{"weight": 7, "matchFields": [
                           {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
      "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}, {}],
      "containers": [{"name": "c", "hostPorts": [80],
                      "ports": [{"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]}],
      "initContainers": [{"name": "i", "restartPolicy": "Always"}]}]})",
                                              "s");
  const PodGroupSpec& group = spec.pod_groups.at(0);
  const NodeAffinity& affinity = group.node_affinity.value();
  EXPECT_EQ(affinity.required.value().at(0).match_expressions.at(0).op, SelectorOperator::kGt);
  EXPECT_EQ(affinity.preferred.at(0).weight, 7);
  EXPECT_EQ(affinity.preferred.at(0).preference.match_fields.at(0).values, std::vector<std::string>{"n"});
  EXPECT_EQ(group.tolerations.at(0).op, TolerationOperator::kExists);
  EXPECT_EQ(group.tolerations.at(0).effect, TaintEffect::kNoExecute);
  EXPECT_EQ(group.tolerations.at(1), Toleration{});
  EXPECT_EQ(group.containers.at(0).ports.at(1), (ContainerPort{53, 53, "UDP", "10.0.0.1"}));
  EXPECT_EQ(group.containers.at(0).ports.at(0), (ContainerPort{80, 80, "", ""}));
  EXPECT_TRUE(group.init_containers.at(0).restart_always);
}

TEST(ClusterSpec, SpreadConstraintsAndPodAffinityAreReadAsWritten) {
  const ClusterSpec spec = parse_cluster_spec(R"({"pods": [{"name": "web",
      "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
          "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 3, "nodeAffinityPolicy": "Ignore",
          "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["hash"]},
          {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
      "podAffinity": {"required": [{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["x"],
          "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
          "matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"]}]},
      "podAntiAffinity": {"preferred": [{"weight": 7, "topologyKey": "host"}]}}]})",
                                              "s");
  const PodGroupSpec& group = spec.pod_groups.at(0);
  const TopologySpreadConstraint& constraint = group.topology_spread_constraints.at(0);
  EXPECT_EQ(constraint, (TopologySpreadConstraint{
                            2, "zone", true, LabelSelector{LabelMap{{"app", "web"}}, {}}, 3, false, true, {"hash"}}));
  EXPECT_EQ(group.topology_spread_constraints.at(1),
            (TopologySpreadConstraint{1, "zone", false, {}, {}, true, false, {}}));
  const LabelSelector not_a{{}, {{"team", SelectorOperator::kNotIn, {"a"}}}};
  EXPECT_EQ(group.pod_affinity.value().required.at(0),
            (PodAffinityTerm{LabelSelector{}, {"x"}, not_a, "zone", {"a"}, {"b"}}));
  EXPECT_EQ(group.pod_anti_affinity.value().preferred.at(0),
            (WeightedPodAffinityTerm{7, PodAffinityTerm{{}, {}, {}, "host", {}, {}}}));
}

TEST(ClusterSpec, MeaninglessTopologyIsAProblem) {
  const auto constraint = [](const std::string& fields) {
    return problems_of_group(R"("topologySpreadConstraints": [{)" + fields + "}]");
  };
  const std::string at = "pods[0].topologySpreadConstraints[0]";
  EXPECT_EQ(constraint(R"("topologyKey": "z")"), at + ": expected whenUnsatisfiable");
  EXPECT_EQ(constraint(R"("whenUnsatisfiable": "DoNotSchedule")"), at + ": expected a topologyKey");
  EXPECT_EQ(constraint(R"("topologyKey": "z", "whenUnsatisfiable": "Never")"),
            at + ".whenUnsatisfiable: got \"Never\", expected one of DoNotSchedule ScheduleAnyway");
  EXPECT_EQ(constraint(R"("topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 0, "minDomains": 0)"),
            at + ".maxSkew: got 0, expected a number of at least 1\n" + at +
                ".minDomains: got 0, expected a number of at least 1");
  EXPECT_EQ(problems_of_group(R"("podAffinity": {"preferred": [{"topologyKey": "z", "weight": 101}]})"),
            "pods[0].podAffinity.preferred[0]: expected a weight from 1 to 100");
  EXPECT_EQ(problems_of_group(R"("podAffinity": {"required": [{}]})"),
            "pods[0].podAffinity.required[0]: expected a topologyKey");
  EXPECT_EQ(problems_of_group(R"("podAffinity": {"required": [{"topologyKey": "z", "labelSelector": {"matchExpressions":
                [{"key": "a", "operator": "Gt", "values": ["1"]}]}}]})"),
            "line 2, pods[0].podAffinity.required[0].labelSelector.matchExpressions[0].operator: got \"Gt\", expected "
            "one of In "
            "NotIn Exists DoesNotExist");
}

TEST(ClusterSpec, ImpossibleOwnersAreProblems) {
  EXPECT_EQ(problems_of_group(R"("ownedBy": {"kind": "Job", "name": "a"})"),
            "pods[0].ownedBy.kind: got \"Job\", expected one of ReplicaSet StatefulSet ReplicationController\n"
            "pods[0].ownedBy: expected kind and name");
  EXPECT_EQ(problems_of_group(R"("ownedBy": {"kind": "ReplicationController", "name": "a", "selector": {
                "matchExpressions": [{"key": "a", "operator": "Exists"}]}})"),
            "pods[0].ownedBy.selector: expected matchLabels only, as a ReplicationController has no more");
  EXPECT_EQ(problems_of(R"({"pods": [{"name": "a", "ownedBy": {"kind": "ReplicaSet", "name": "x"}},
                {"name": "b", "ownedBy": {"kind": "ReplicaSet", "name": "x", "selector": {"matchLabels": {"k": "v"}}}}]})"),
            "line 2, pods[1].ownedBy: expected the selector that another group gives to ReplicaSet x");
}

TEST(ClusterSpec, CountedTextsNeedAPrefixAndACount) {
  EXPECT_EQ(problems_of_group(R"("labels": {"a": {"prefix": "x-"}})"),
            "pods[0].labels.a: expected prefix and a count of at least 1");
  EXPECT_EQ(problems_of_group(R"("labels": {"a": {}})"),
            "pods[0].labels.a: expected a string, {choice, weights} or {prefix, count}");
  EXPECT_EQ(problems_of_group(R"("priorityClass": {"prefix": "x-", "count": 2})"),
            "pods[0].priorityClass: expected a string or {choice, weights}");
}

TEST(ClusterSpec, EmptyRequiredAffinityIsKept) {
  const ClusterSpec spec = parse_cluster_spec(R"({"pods": [{"name": "w", "nodeAffinity": {"required": []}}]})", "s");
  ASSERT_TRUE(spec.pod_groups.at(0).node_affinity.value().required);
  EXPECT_TRUE(spec.pod_groups.at(0).node_affinity->required->empty());
}

TEST(ClusterSpec, CreationTimesAreReadInMicroseconds) {
  const auto time_of = [](const std::string& at) {
    return parse_cluster_spec(R"({"pods": [{"name": "w", "created": {"at": ")" + at + R"("}}]})", "s")
        .pod_groups.at(0)
        .created_at_us;
  };
  EXPECT_EQ(time_of("1970-01-01T00:00:01Z"), 1'000'000);
  EXPECT_EQ(time_of("2024-02-29T23:59:59Z"), 1'709'251'199'000'000);
  for (const char* at : {"2023-02-29T00:00:00Z", "2024-02-29", "2024-02-29T24:00:00Z", "2024-13-01T00:00:00Z", "x"}) {
    EXPECT_EQ(problems_of_group(R"("created": {"at": ")" + std::string(at) + "\"}"),
              "pods[0].created.at: got \"" + std::string(at) + "\", expected a time such as \"2026-01-31T23:59:59Z\"");
  }
  EXPECT_EQ(problems_of_group(R"("running": 10000000, "created": {"at": "9999-01-01T00:00:00Z", "everySeconds": 9})"),
            "pods[0]: expected creation times before the year 10000");
}

TEST(ClusterSpec, UnknownAndDuplicateFieldsAreProblems) {
  EXPECT_EQ(problems_of(R"({"pod": []})"), "pod: unknown field");
  EXPECT_EQ(problems_of(R"({"pods": [], "pods": []})"), "pods: duplicate field");
  EXPECT_EQ(problems_of_group(R"("affinity": {})"), "pods[0].affinity: unknown field");
  EXPECT_EQ(problems_of_group(R"("podAffinity": {"required": [{"topologyKey": "z", "weight": 1}]})"),
            "pods[0].podAffinity.required[0].weight: unknown field");
  EXPECT_EQ(problems_of_group(R"("requests": {"gpu": 1})"), "pods[0].requests.gpu: unknown field");
  EXPECT_EQ(problems_of_pool(R"("taints": [{"key": "a", "effect": "NoSchedule", "colour": 1}])"),
            "nodePools[0].taints[0].colour: unknown field");
}

TEST(ClusterSpec, EveryProblemIsReported) {
  EXPECT_EQ(problems_of(R"({"version": 2, "nodePools": [{"name": "a", "count": -1}, {"name": "a", "count": "many"}]})"),
            "version: got 2, expected version 1, the only one there is\n"
            "nodePools[0].count: got -1, expected a count from 0 to 10000000\n"
            "nodePools[1].count: got \"many\", expected an integer\n"
            "nodePools[1].name: \"a\" stands here twice");
}

TEST(ClusterSpec, NonObjectTextIsRefused) {
  EXPECT_NE(problems_of("[]").find("expected an object with nodePools and pods, or with random"), std::string::npos);
  EXPECT_NE(problems_of("{").find("malformed JSON"), std::string::npos);
  EXPECT_NE(problems_of(R"({"pods": [1]})").find("pods[0]: got 1, expected an object"), std::string::npos);
}

TEST(ClusterSpec, NamesAreRequiredAndMustBeValid) {
  EXPECT_EQ(problems_of(R"({"pods": [{}]})"), "pods[0].name: expected a name");
  EXPECT_EQ(problems_of(R"({"namespaces": [{"name": "Team A"}]})"),
            "namespaces[0].name: got \"Team A\", expected a name of lower-case letters, digits, '-' and '.'");
}

TEST(ClusterSpec, ReferencedNamesMustExist) {
  EXPECT_EQ(problems_of_group(R"("namespace": "ml")"),
            "pods[0].namespaces: got \"ml\", expected a namespace of this spec");
  EXPECT_EQ(problems_of(R"({"services": [{"name": "s", "namespace": "ml"}]})"),
            "services[0].namespace: got \"ml\", expected a namespace of this spec");
  EXPECT_EQ(problems_of_group(R"("runningOn": ["x"])"), "pods[0].runningOn: got \"x\", expected a node pool");
  EXPECT_EQ(problems_of_group(R"("priorityClass": {"choice": ["high", "system-node-critical"]})"),
            "pods[0].priorityClass: got \"high\", expected a priority class of this spec");
}

TEST(ClusterSpec, ImpossibleDistributionsAreProblems) {
  const auto problems = [](const std::string& cpu) { return problems_of_group(R"("requests": {"cpu": )" + cpu + "}"); };
  const std::string at = "pods[0].requests.cpu";
  const std::string quantity = "expected a quantity of at least 0, such as 500m or 4Gi";
  EXPECT_EQ(problems(R"("much")"), at + ": got \"much\", " + quantity);
  EXPECT_EQ(problems("-1"), at + ": got -1, " + quantity);
  EXPECT_EQ(problems("true"), at + ": got true, expected a string");
  EXPECT_EQ(problems(R"({"choice": []})"), at + ".choice: got an array, expected at least one choice");
  EXPECT_EQ(problems(R"({"choice": [1, 2], "weights": [1]})"), at + ".weights: expected as many weights as choices");
  EXPECT_EQ(problems(R"({"choice": [1, 2], "weights": [1, 0]})"),
            at + ".weights[1]: got 0, expected a weight of at least 1");
  EXPECT_EQ(problems(R"({"min": 2, "max": 1, "step": 1})"), at + ": expected min, max not below it, and step");
  EXPECT_EQ(problems(R"({"min": 1, "max": 2, "step": 0})"), at + ".step: got 0, expected a step above 0");
  EXPECT_EQ(problems(R"({"start": 1})"), at + ": expected start, step and, where it starts again, modulo");
  EXPECT_EQ(problems("{}"), at + ": expected a quantity, {choice, weights}, {min, max, step} or {start, step, modulo}");
}

TEST(ClusterSpec, ContradictoryGroupsAreProblems) {
  EXPECT_EQ(problems_of_group(R"("image": "a", "containers": [{"name": "c"}])"),
            "pods[0]: expected either containers or image, requests, limits and hostPorts");
  EXPECT_EQ(problems_of_group(R"("variants": 0)"), "pods[0]: expected at least one variant");
  EXPECT_EQ(problems_of_group(R"("pending": 3, "variants": 4)"), "pods[0]: expected at most as many variants as pods");
  EXPECT_EQ(problems_of_group(R"("priority": 1, "priorityClass": "system-node-critical")"),
            "pods[0]: expected either priority or priorityClass");
  EXPECT_EQ(problems_of_group(R"("containers": [{"name": "c"}], "initContainers": [{"name": "c"}])"),
            "pods[0]: two containers are named \"c\"");
  EXPECT_EQ(problems_of_group(R"("podLevelRequests": {"ephemeral-storage": 1})"),
            "pods[0]: podLevelRequests: got \"ephemeral-storage\", expected cpu, memory or hugepages-*");
  EXPECT_EQ(problems_of_group(R"("podLevelRequests": {"cpu": 1}, "limits": {"hugepages-2Mi": "2Mi"})"),
            "pods[0]: limits of hugepages-2Mi beside podLevelRequests are not supported");
}

TEST(ClusterSpec, UnknownOperatorsEffectsAndPortsAreProblems) {
  EXPECT_EQ(
      problems_of_group(R"("nodeAffinity": {"required": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]})"),
      "pods[0].nodeAffinity.required[0].matchExpressions[0].operator: got \"Is\", expected one of In NotIn Exists "
      "DoesNotExist Gt Lt");
  EXPECT_EQ(problems_of_group(R"("nodeAffinity": {"preferred": [{"matchExpressions": []}]})"),
            "pods[0].nodeAffinity.preferred[0]: expected a weight from 1 to 100");
  EXPECT_EQ(problems_of_group(R"("tolerations": [{"operator": "Has"}])"),
            "pods[0].tolerations[0].operator: got \"Has\", expected one of Equal Exists Gt Lt");
  EXPECT_EQ(problems_of_pool(R"("taints": [{"key": "a", "effect": "Never"}])"),
            "nodePools[0].taints[0].effect: got \"Never\", expected one of NoSchedule PreferNoSchedule NoExecute");
  EXPECT_EQ(problems_of_pool(R"("taints": [{"key": "a"}])"), "nodePools[0].taints[0]: expected key and effect");
  EXPECT_EQ(problems_of_group(R"("hostPorts": [70000])"),
            "pods[0].hostPorts[0]: got 70000, expected a port from 0 to 65535");
  EXPECT_EQ(problems_of_pool(R"("unschedulablePercent": 101)"),
            "nodePools[0].unschedulablePercent: got 101, expected a percentage from 0 to 100");
  EXPECT_EQ(problems_of_pool(R"("images": [{"percent": 5}])"), "nodePools[0].images[0]: expected names");
  EXPECT_EQ(problems_of_group(R"("placement": "best")"),
            "pods[0].placement: got \"best\", expected random or roundRobin");
}

TEST(ClusterSpec, OnlyOnePriorityClassMayBeTheDefault) {
  EXPECT_EQ(problems_of(
                R"({"priorityClasses": [{"name": "a", "globalDefault": true}, {"name": "b", "globalDefault": true}]})"),
            "priorityClasses: expected at most one with globalDefault");
}

TEST(ClusterSpec, MoreObjectsThanTheLimitAreRefused) {
  EXPECT_EQ(problems_of(R"({"nodePools": [{"name": "a", "count": 10000000}, {"name": "b", "count": 1}]})"),
            "nodePools: got 10000001 nodes, expected at most 10000000");
  EXPECT_EQ(problems_of_group(R"("running": 10000000, "pending": 1)"),
            "pods: got 10000001 pods, expected at most 10000000");
  EXPECT_EQ(problems_of(R"({"services": [{"name": "a", "count": 10000000}, {"name": "b"}]})"),
            "services: got 10000001 services, expected at most 10000000");
  EXPECT_EQ(problems_of(R"({"namespaces": [{"name": "a", "count": 10000000}, {"name": "b"}]})"),
            "namespaces: got 10000001 namespaces, expected at most 10000000");
}

TEST(ClusterSpec, ARandomClusterAllowsNoOtherFields) {
  const ClusterSpec spec = parse_cluster_spec(R"({"random": {"maxNodes": 5, "gatedPods": false}})", "s");
  EXPECT_EQ(spec.random.value().max_nodes, 5);
  EXPECT_FALSE(spec.random->gated_pods);
  EXPECT_TRUE(spec.random->nominated_pods);
  EXPECT_EQ(spec.random->topology_percent, RandomClusterOptions().topology_percent);
  const ClusterSpec other =
      parse_cluster_spec(R"({"random": {"topology": 100, "configuration": true, "oddQuantities": true}})", "s");
  EXPECT_EQ(other.random.value().topology_percent, 100);
  EXPECT_TRUE(other.random->configuration);
  EXPECT_TRUE(other.random->odd_quantities);
  EXPECT_EQ(problems_of(R"({"random": {"topology": 101}})"),
            "random.topology: got 101, expected a percentage from 0 to 100");
  EXPECT_EQ(problems_of(R"({"random": {}, "pods": []})"), ": expected either random or nodePools and pods");
  EXPECT_EQ(problems_of(R"({"random": {"maxNodes": 1000000, "colour": 1}})"),
            "random.maxNodes: got 1000000, expected a count from 0 to 100000\nrandom.colour: unknown field");
}

TEST(ClusterSpec, TheSpecsInTheRepositoryAreValid) {
  for (const char* path :
       {"examples/cluster.yaml", "bench/workloads/basic.yaml", "bench/workloads/classes-20.yaml",
        "bench/workloads/classes-256.yaml", "bench/workloads/distinct.yaml", "bench/workloads/million.yaml",
        "bench/workloads/small-basic.yaml", "bench/workloads/small-classes.yaml", "bench/workloads/random.yaml",
        "bench/workloads/affinity_namespaces.yaml", "bench/workloads/affinity_mixed.yaml",
        "bench/workloads/affinity_services.yaml"}) {
    EXPECT_NO_THROW(load_cluster_spec(path)) << path;
  }
}

TEST(ClusterSpec, AMissingFileIsReported) {
  try {
    load_cluster_spec("/nowhere/spec.yaml");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().source, "/nowhere/spec.yaml");
  }
}

}  // namespace
}  // namespace berth
