// SPDX-License-Identifier: Apache-2.0
// Arguments of plugins: docs/behaviour/scheduler-core.md 7.4.

#include "host/config/plugin_args.h"

#include <gtest/gtest.h>

#include "tests/unit/config/config_test_support.h"

namespace berth {
namespace {

TEST(PluginConfig, DefaultsMatchTheSpecification) {
  const PluginArgs args = parse(config_json("")).profiles.at(0).args;
  EXPECT_EQ(args.default_preemption.min_candidate_nodes_percentage, 10);
  EXPECT_EQ(args.default_preemption.min_candidate_nodes_absolute, 100);
  EXPECT_EQ(args.inter_pod_affinity.hard_pod_affinity_weight, 1);
  EXPECT_FALSE(args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods);
  EXPECT_FALSE(args.node_affinity.added_affinity.has_value());
  EXPECT_TRUE(args.node_resources_fit.ignored_resources.empty());
  EXPECT_TRUE(args.node_resources_fit.ignored_resource_groups.empty());
  EXPECT_EQ(args.node_resources_fit.strategy, ScoringStrategyType::kLeastAllocated);
  for (const auto* resources : {&args.node_resources_fit.resources, &args.balanced_allocation.resources}) {
    ASSERT_EQ(resources->size(), 2u);
    EXPECT_EQ((*resources)[0].name, "cpu");
    EXPECT_EQ((*resources)[0].weight, 1);
    EXPECT_EQ((*resources)[1].name, "memory");
    EXPECT_EQ((*resources)[1].weight, 1);
  }
  EXPECT_TRUE(args.pod_topology_spread.system_defaulting);
  EXPECT_TRUE(args.pod_topology_spread.default_constraints.empty());
  EXPECT_EQ(args.volume_binding.bind_timeout_seconds, 600);
  EXPECT_TRUE(args.volume_binding.shape.empty());
  EXPECT_EQ(args.dynamic_resources.filter_timeout_us, 10'000'000);
  EXPECT_EQ(args.dynamic_resources.binding_timeout_us, std::nullopt);
}

TEST(PluginConfig, GatesChangeTheDefaults) {
  EXPECT_EQ(default_plugin_args(FeatureGates(Release::k1_36)).dynamic_resources.binding_timeout_us, 600'000'000);
  EXPECT_EQ(default_plugin_args(gates_with("DRASchedulerFilterTimeout=false")).dynamic_resources.filter_timeout_us,
            std::nullopt);
  const auto shape = default_plugin_args(gates_with("StorageCapacityScoring=true")).volume_binding.shape;
  ASSERT_EQ(shape.size(), 2u);
  EXPECT_EQ(shape[0].score, 10);
  EXPECT_EQ(shape[1].utilization, 100);
  EXPECT_EQ(shape[1].score, 0);
}

TEST(PluginConfig, ArgsMayNameTheirType) {
  EXPECT_EQ(args_problems("NodeResourcesFit",
                          R"({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs"})"),
            Lines{});
  EXPECT_EQ(args_problems("NodeResourcesFit", R"({"apiVersion": "v1", "kind": "NodeAffinityArgs"})"),
            (Lines{".apiVersion: got \"v1\", expected \"kubescheduler.config.k8s.io/v1\"",
                   ".kind: got \"NodeAffinityArgs\", expected \"NodeResourcesFitArgs\""}));
}

TEST(PluginConfig, AbsentArgsKeepTheDefaults) {
  EXPECT_EQ(parse_args("DefaultPreemption", "null").default_preemption.min_candidate_nodes_absolute, 100);
}

TEST(PluginConfig, NamesMustBeUniqueAndKnown) {
  const std::string twice = R"("pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}])";
  EXPECT_EQ(problems_of(profile_json(twice)),
            Lines{"profiles[0].pluginConfig[1].name: got \"NodeAffinity\", expected each plugin once"});
  EXPECT_EQ(problems_of(args_json("Coscheduling", "{}")),
            Lines{"profiles[0].pluginConfig[0].name: got \"Coscheduling\", expected one of kube-scheduler's in-tree "
                  "plugins"});
  EXPECT_EQ(problems_of(args_json("EBSLimits", "{}")),
            Lines{"profiles[0].pluginConfig[0].name: got \"EBSLimits\", expected a plugin that exists: it was removed "
                  "from kube-scheduler, use NodeVolumeLimits"});
  EXPECT_EQ(problems_of(profile_json(R"("pluginConfig": [{}])")),
            Lines{"profiles[0].pluginConfig[0].name: got nothing, expected one of kube-scheduler's in-tree plugins"});
}

TEST(PluginConfig, APluginWithoutArgumentsTakesNone) {
  EXPECT_EQ(args_problems("ImageLocality", "{}"), Lines{});
  EXPECT_EQ(args_problems("ImageLocality", R"({"x": 1})"),
            Lines{".x: expected no arguments: plugin \"ImageLocality\" takes none"});
}

TEST(PluginConfig, UnknownAndRepeatedFieldsAreRefusedInsideArgs) {
  EXPECT_EQ(
      args_problems("InterPodAffinity", R"({"weight": 1, "hardPodAffinityWeight": 1, "hardPodAffinityWeight": 1})"),
      (Lines{".weight: unknown field", ".hardPodAffinityWeight: duplicate field"}));
  EXPECT_EQ(args_problems("NodeResourcesFit",
                          R"({"scoringStrategy": {"resources": [{"name": "cpu", "wait": 1}], "kind": "x",
                              "requestedToCapacityRatio": {"form": []}}})"),
            (Lines{".scoringStrategy.resources[0].wait: unknown field", ".scoringStrategy.kind: unknown field",
                   ".scoringStrategy.requestedToCapacityRatio.form: unknown field",
                   ".scoringStrategy.requestedToCapacityRatio.shape: expected at least one point"}));
}

TEST(PluginConfig, EachProfileHasItsOwnArguments) {
  const SchedulerConfig config = parse(config_json(
      R"("profiles": [{"schedulerName": "a", "pluginConfig": [
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 9}}]}, {"schedulerName": "b"}])"));
  EXPECT_EQ(config.profiles.at(0).args.inter_pod_affinity.hard_pod_affinity_weight, 9);
  EXPECT_EQ(config.profiles.at(1).args.inter_pod_affinity.hard_pod_affinity_weight, 1);
}

TEST(DefaultPreemptionArgs, RangesAreChecked) {
  EXPECT_EQ(
      args_problems("DefaultPreemption", R"({"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1})"),
      (Lines{".minCandidateNodesPercentage: got 101, expected an integer from 0 to 100",
             ".minCandidateNodesAbsolute: got -1, expected an integer of at least 0"}));
}

TEST(DefaultPreemptionArgs, BothMustNotBeZero) {
  EXPECT_EQ(args_problems("DefaultPreemption", R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0})"),
            (Lines{".minCandidateNodesPercentage: expected more than 0 when minCandidateNodesAbsolute is 0",
                   ".minCandidateNodesAbsolute: expected more than 0 when minCandidateNodesPercentage is 0"}));
  EXPECT_EQ(parse_args("DefaultPreemption", R"({"minCandidateNodesPercentage": 0})")
                .default_preemption.min_candidate_nodes_percentage,
            0);
}

TEST(InterPodAffinityArgs, TheWeightMustBeFrom0To100) {
  const PluginArgs args =
      parse_args("InterPodAffinity", R"({"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": true})");
  EXPECT_EQ(args.inter_pod_affinity.hard_pod_affinity_weight, 0);
  EXPECT_TRUE(args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods);
  EXPECT_EQ(args_problems("InterPodAffinity", R"({"hardPodAffinityWeight": 101})"),
            Lines{".hardPodAffinityWeight: got 101, expected an integer from 0 to 100"});
}

TEST(NodeResourcesFitArgs, IgnoredNamesAreRead) {
  const auto args = parse_args("NodeResourcesFit", R"({"ignoredResources": ["example.com/a", "b"],
                                                       "ignoredResourceGroups": ["example.com"]})")
                        .node_resources_fit;
  EXPECT_EQ(args.ignored_resources, (Lines{"example.com/a", "b"}));
  EXPECT_EQ(args.ignored_resource_groups, Lines{"example.com"});
}

TEST(NodeResourcesFitArgs, IgnoredNamesMustHaveLabelSyntax) {
  EXPECT_EQ(
      args_problems("NodeResourcesFit", R"({"ignoredResources": ["a b", 3], "ignoredResourceGroups": ["x/y", "-"]})"),
      (Lines{".ignoredResources[1]: got 3, expected a string",
             ".ignoredResources[0]: got \"a b\", expected a name in the syntax of a label key",
             ".ignoredResourceGroups[0]: got \"x/y\", expected a resource group name without \"/\"",
             ".ignoredResourceGroups[1]: got \"-\", expected a name in the syntax of a label key"}));
}

TEST(NodeResourcesFitArgs, AStrategyIsRead) {
  const auto args = parse_args("NodeResourcesFit", R"({"scoringStrategy": {"type": "MostAllocated",
                                         "resources": [{"name": "nvidia.com/gpu", "weight": 5}, {"name": "cpu", "weight": 0}]}})")
                        .node_resources_fit;
  EXPECT_EQ(args.strategy, ScoringStrategyType::kMostAllocated);
  ASSERT_EQ(args.resources.size(), 2u);
  EXPECT_EQ(args.resources[0].name, "nvidia.com/gpu");
  EXPECT_EQ(args.resources[0].weight, 5);
  EXPECT_EQ(args.resources[1].weight, 1);  // 0 reads as 1
}

TEST(NodeResourcesFitArgs, AStrategyWithoutResourcesUsesTheDefaults) {
  const auto args =
      parse_args("NodeResourcesFit", R"({"scoringStrategy": {"type": "MostAllocated", "resources": []}})");
  EXPECT_EQ(args.node_resources_fit.resources.size(), 2u);
}

TEST(NodeResourcesFitArgs, TheStrategyMustBeOneOfThree) {
  EXPECT_EQ(args_problems("NodeResourcesFit", R"({"scoringStrategy": {"type": "Best"}})"),
            Lines{".scoringStrategy.type: got \"Best\", expected LeastAllocated, MostAllocated or "
                  "RequestedToCapacityRatio"});
}

TEST(NodeResourcesFitArgs, ResourceWeightsMustBeFrom1To100) {
  EXPECT_EQ(args_problems(
                "NodeResourcesFit",
                R"({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}, {"name": "a", "weight": -1}]}})"),
            (Lines{".scoringStrategy.resources[0].weight: got 101, expected an integer from 0 to 100",
                   ".scoringStrategy.resources[1].weight: got -1, expected an integer from 0 to 100"}));
}

std::string ratio(const std::string& shape) {
  return R"({"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": )" + shape +
         "}}}";
}

TEST(NodeResourcesFitArgs, AShapeIsRead) {
  const auto args = parse_args("NodeResourcesFit", ratio(R"([{"utilization": 0, "score": 10}, {"utilization": 100}])"))
                        .node_resources_fit;
  EXPECT_EQ(args.strategy, ScoringStrategyType::kRequestedToCapacityRatio);
  ASSERT_EQ(args.shape.size(), 2u);
  EXPECT_EQ(args.shape[0].score, 10);
  EXPECT_EQ(args.shape[1].utilization, 100);
  EXPECT_EQ(args.shape[1].score, 0);
}

TEST(NodeResourcesFitArgs, AShapeNeedsAPoint) {
  EXPECT_EQ(args_problems("NodeResourcesFit", ratio("[]")),
            Lines{".scoringStrategy.requestedToCapacityRatio.shape: expected at least one point"});
}

TEST(NodeResourcesFitArgs, UtilizationMustIncreaseFrom0To100) {
  EXPECT_EQ(
      args_problems("NodeResourcesFit", ratio(R"([{"utilization": 50, "score": 1}, {"utilization": 50, "score": 2}])")),
      Lines{".scoringStrategy.requestedToCapacityRatio.shape[1].utilization: got 50, expected more than the "
            "point before, 50"});
  EXPECT_EQ(args_problems("NodeResourcesFit", ratio(R"([{"utilization": 101, "score": 1}])")),
            Lines{".scoringStrategy.requestedToCapacityRatio.shape[0].utilization: got 101, expected an integer from 0 "
                  "to 100"});
}

TEST(NodeResourcesFitArgs, ShapeScoresMustBeFrom0To10) {
  EXPECT_EQ(
      args_problems("NodeResourcesFit", ratio(R"([{"utilization": 0, "score": 11}])")),
      Lines{".scoringStrategy.requestedToCapacityRatio.shape[0].score: got 11, expected an integer from 0 to 10"});
}

TEST(NodeResourcesFitArgs, TheRatioStrategyNeedsItsShape) {
  EXPECT_EQ(args_problems("NodeResourcesFit", R"({"scoringStrategy": {"type": "RequestedToCapacityRatio"}})"),
            Lines{".scoringStrategy.requestedToCapacityRatio: got nothing, expected a shape: type is "
                  "RequestedToCapacityRatio"});
}

TEST(NodeResourcesFitArgs, AShapeForAnotherStrategyIsRefusedFrom136On) {
  const std::string args =
      R"({"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {"shape": [{"utilization": 1}]}}})";
  EXPECT_TRUE(parse_args("NodeResourcesFit", args).node_resources_fit.shape.empty());
  EXPECT_EQ(args_problems("NodeResourcesFit", args, FeatureGates(Release::k1_36)),
            Lines{".scoringStrategy.requestedToCapacityRatio: got an object, expected nothing: type is not "
                  "RequestedToCapacityRatio"});
}

TEST(BalancedAllocationArgs, ResourcesMustBeUniqueWithWeightOne) {
  EXPECT_EQ(args_problems("NodeResourcesBalancedAllocation",
                          R"({"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu", "weight": 1}]})"),
            (Lines{".resources[0].weight: got 2, expected an integer from 0 to 1",
                   ".resources[1].name: got \"cpu\", expected a resource that is not listed before"}));
  const auto args = parse_args("NodeResourcesBalancedAllocation", R"({"resources": [{"name": "gpu.x/y"}]})");
  ASSERT_EQ(args.balanced_allocation.resources.size(), 1u);
  EXPECT_EQ(args.balanced_allocation.resources[0].weight, 1);
}

TEST(NodeAffinityArgs, AnAddedAffinityIsRead) {
  const auto args = parse_args("NodeAffinity", R"({"addedAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}],
         "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 5, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}]}})");
  ASSERT_TRUE(args.node_affinity.added_affinity.has_value());
  const NodeAffinity& affinity = *args.node_affinity.added_affinity;
  ASSERT_TRUE(affinity.required.has_value());
  EXPECT_EQ(*affinity.required,
            (std::vector<NodeSelectorTerm>{
                {{{"pool", SelectorOperator::kIn, {"a"}}}, {{"metadata.name", SelectorOperator::kNotIn, {"n1"}}}}}));
  ASSERT_EQ(affinity.preferred.size(), 1u);
  EXPECT_EQ(affinity.preferred[0].weight, 5);
  EXPECT_EQ(affinity.preferred[0].preference.match_expressions.at(0).key, "ssd");
}

Lines required_problems(const std::string& term) {
  const std::string prefix = ".addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]";
  Lines lines = args_problems("NodeAffinity", R"({"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                                                 {"nodeSelectorTerms": [)" +
                                                  term + "]}}}");
  for (std::string& line : lines) {
    if (line.starts_with(prefix)) line = line.substr(prefix.size());
  }
  return lines;
}

Lines expression_problems(const std::string& expression) {
  return required_problems(R"({"matchExpressions": [)" + expression + "]}");
}

TEST(NodeAffinityArgs, AnEmptyTermParses) { EXPECT_EQ(required_problems("{}"), Lines{}); }

TEST(NodeAffinityArgs, EveryRequirementMustParse) {
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "Near", "values": ["b"]})"),
            Lines{".matchExpressions[0].operator: got \"Near\", expected In, NotIn, Exists, DoesNotExist, Gt or Lt"});
  EXPECT_EQ(expression_problems(R"({"key": "a b", "operator": "Exists"})"),
            Lines{".matchExpressions[0]: key \"a b\" is no label key"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "In", "values": []})"),
            Lines{".matchExpressions[0]: operator In needs at least one value"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "DoesNotExist", "values": ["b"]})"),
            Lines{".matchExpressions[0]: operator DoesNotExist takes no values"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "Gt", "values": ["1", "2"]})"),
            Lines{".matchExpressions[0]: operator Gt needs exactly one value, an integer"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "Lt", "values": ["x"]})"),
            Lines{".matchExpressions[0]: operator Lt needs exactly one value, an integer"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "Gt", "values": ["-1"]})"),
            Lines{".matchExpressions[0]: value \"-1\" is no label value"});
  EXPECT_EQ(expression_problems(R"({"key": "a", "operator": "Gt", "values": ["1"]})"), Lines{});
}

TEST(NodeAffinityArgs, EveryFieldRequirementMustParse) {
  EXPECT_EQ(required_problems(R"({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]})"),
            Lines{".matchFields[0]: a field takes the operators In and NotIn only"});
  EXPECT_EQ(required_problems(R"({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]})"),
            Lines{".matchFields[0]: a field needs exactly one value"});
}

TEST(NodeAffinityArgs, APreferredTermOfWeightZeroIsNotChecked) {
  const auto preferred = [](const std::string& weight) {
    return R"({"addedAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": )" + weight +
           R"(, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}})";
  };
  EXPECT_EQ(args_problems("NodeAffinity", preferred("0")), Lines{});
  EXPECT_EQ(args_problems("NodeAffinity", preferred("1")).size(), 1u);
}

TEST(NodeAffinityArgs, UnknownFieldsAreRefusedInside) {
  EXPECT_EQ(args_problems("NodeAffinity", R"({"addedAffinity": {"required": {}}})"),
            Lines{".addedAffinity.required: unknown field"});
  EXPECT_EQ(required_problems(R"({"matchLabels": {}})"), Lines{".matchLabels: unknown field"});
}

std::string constraints(const std::string& list) {
  return R"({"defaultingType": "List", "defaultConstraints": )" + list + "}";
}

TEST(PodTopologySpreadArgs, ConstraintsAreRead) {
  const auto args =
      parse_args("PodTopologySpread",
                 constraints(R"([{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                                                "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
                                               {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                                "minDomains": 3, "matchLabelKeys": ["a"]}])"))
          .pod_topology_spread;
  EXPECT_FALSE(args.system_defaulting);
  ASSERT_EQ(args.default_constraints.size(), 2u);
  EXPECT_EQ(args.default_constraints[0].max_skew, 2);
  EXPECT_TRUE(args.default_constraints[0].schedule_anyway);
  EXPECT_FALSE(args.default_constraints[0].honor_node_affinity);
  EXPECT_TRUE(args.default_constraints[0].honor_node_taints);
  EXPECT_EQ(args.default_constraints[1].min_domains, 3);
  EXPECT_EQ(args.default_constraints[1].match_label_keys, Lines{"a"});
}

TEST(PodTopologySpreadArgs, AnEmptyListIsAllowed) {
  EXPECT_FALSE(parse_args("PodTopologySpread", constraints("[]")).pod_topology_spread.system_defaulting);
}

TEST(PodTopologySpreadArgs, ConstraintsNeedTheListType) {
  EXPECT_EQ(
      args_problems(
          "PodTopologySpread",
          R"({"defaultConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]})"),
      Lines{".defaultingType: expected List when there are defaultConstraints"});
  EXPECT_EQ(args_problems("PodTopologySpread", R"({"defaultingType": "Auto"})"),
            Lines{".defaultingType: got \"Auto\", expected System or List"});
}

TEST(PodTopologySpreadArgs, RequiredFieldsMustBePresent) {
  EXPECT_EQ(args_problems("PodTopologySpread", constraints("[{}]")),
            (Lines{".defaultConstraints[0].maxSkew: expected a value: the field is required",
                   ".defaultConstraints[0].topologyKey: expected a value: the field is required",
                   ".defaultConstraints[0].whenUnsatisfiable: expected a value: the field is required"}));
}

TEST(PodTopologySpreadArgs, FieldsOfAConstraintAreChecked) {
  EXPECT_EQ(args_problems("PodTopologySpread",
                          constraints(R"([{"maxSkew": 0, "topologyKey": "a b", "whenUnsatisfiable": "Maybe",
                                           "labelSelector": {}, "nodeTaintsPolicy": "x", "minDomains": 0}])")),
            (Lines{".defaultConstraints[0].maxSkew: got 0, expected an integer of at least 1",
                   ".defaultConstraints[0].whenUnsatisfiable: got \"Maybe\", expected DoNotSchedule or ScheduleAnyway",
                   ".defaultConstraints[0].labelSelector: expected no selector: it is made for each pod",
                   ".defaultConstraints[0].nodeTaintsPolicy: got \"x\", expected Honor or Ignore",
                   ".defaultConstraints[0].minDomains: got 0, expected an integer of at least 1",
                   ".defaultConstraints[0].topologyKey: got \"a b\", expected a label key"}));
}

TEST(PodTopologySpreadArgs, KeyAndActionMustBeUnique) {
  const std::string constraint = R"({"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"})";
  EXPECT_EQ(args_problems("PodTopologySpread", constraints("[" + constraint + "," + constraint + "]")),
            Lines{".defaultConstraints[1]: repeats topologyKey and whenUnsatisfiable of an earlier constraint"});
}

TEST(VolumeBindingArgs, TheTimeoutMustNotBeNegative) {
  EXPECT_EQ(parse_args("VolumeBinding", R"({"bindTimeoutSeconds": 0})").volume_binding.bind_timeout_seconds, 0);
  EXPECT_EQ(args_problems("VolumeBinding", R"({"bindTimeoutSeconds": -1})"),
            Lines{".bindTimeoutSeconds: got -1, expected an integer of at least 0"});
}

TEST(VolumeBindingArgs, AShapeNeedsItsGate) {
  const std::string args = R"({"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]})";
  const FeatureGates gates = gates_with("StorageCapacityScoring=true");
  EXPECT_EQ(args_problems("VolumeBinding", args),
            Lines{".shape: expected nothing: the feature gate StorageCapacityScoring is off"});
  EXPECT_EQ(parse_args("VolumeBinding", args, gates).volume_binding.shape.at(1).score, 10);
  EXPECT_EQ(parse_args("VolumeBinding", R"({"shape": []})", gates).volume_binding.shape.at(0).score, 10);
  EXPECT_EQ(args_problems("VolumeBinding", R"({"shape": {}})", gates),
            Lines{".shape: got an object, expected an array"});
}

TEST(DynamicResourcesArgs, TimeoutsNeedTheirGates) {
  EXPECT_EQ(parse_args("DynamicResources", R"({"filterTimeout": "0s"})").dynamic_resources.filter_timeout_us, 0);
  EXPECT_EQ(
      args_problems("DynamicResources", R"({"filterTimeout": "1s"})", gates_with("DRASchedulerFilterTimeout=false")),
      Lines{".filterTimeout: expected nothing: the feature gate DRASchedulerFilterTimeout is off"});
  EXPECT_EQ(args_problems("DynamicResources", R"({"bindingTimeout": "10s"})"),
            Lines{".bindingTimeout: expected nothing: one of the feature gates DRADeviceBindingConditions and "
                  "DRAResourceClaimDeviceStatus is off"});
  EXPECT_EQ(parse_args("DynamicResources", R"({"bindingTimeout": "10s"})", FeatureGates(Release::k1_36))
                .dynamic_resources.binding_timeout_us,
            10'000'000);
}

TEST(DynamicResourcesArgs, TimeoutsHaveAMinimum) {
  EXPECT_EQ(args_problems("DynamicResources", R"({"filterTimeout": "-1s", "bindingTimeout": "999ms"})",
                          FeatureGates(Release::k1_36)),
            (Lines{".filterTimeout: got \"-1s\", expected a duration of at least 0s",
                   ".bindingTimeout: got \"999ms\", expected a duration of at least 1s"}));
  EXPECT_EQ(args_problems("DynamicResources", R"({"filterTimeout": 10})"),
            Lines{".filterTimeout: got 10, expected a duration such as \"15s\""});
}

}  // namespace
}  // namespace berth
