// SPDX-License-Identifier: Apache-2.0
#include "host/objects/decode.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

const PodSpec& spec_of(const ClusterObjects& objects) { return *objects.pods.at(0)->spec; }

TEST(DecodeNode, ReadsEveryFieldOfTheModel) {
  const ClusterObjects objects = load_good(R"({"apiVersion":"v1","kind":"Node",
    "metadata":{"name":"n1","labels":{"zone":"a"}},
    "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoExecute"},{"key":"e","effect":"PreferNoSchedule"}]},
    "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110","nvidia.com/gpu":2,"foo":"1"},"capacity":{"cpu":"9"},
      "images":[{"names":["app:1","app@sha256:00"],"sizeBytes":5}],"declaredFeatures":["F"]}})");
  const Node& node = *objects.nodes.at(0);
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.labels, (LabelMap{{"zone", "a"}}));
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints,
            (std::vector<Taint>{{"k", "v", TaintEffect::kNoExecute}, {"e", "", TaintEffect::kPreferNoSchedule}}));
  EXPECT_EQ(node.allocatable, (ResourceAmounts{4000, 8589934592, 0, {{"nvidia.com/gpu", 2}}}));
  EXPECT_EQ(node.allowed_pod_number, 110);
  EXPECT_EQ(node.images, (std::vector<NodeImage>{{{"app:1", "app@sha256:00"}, 5}}));
  EXPECT_EQ(node.declared_features, Strings{"F"});
}

TEST(DecodeNode, CapacityIsNeverUsedAsAllocatable) {
  const auto objects = load_good(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"capacity":{"cpu":"4","pods":"9"}}})");
  EXPECT_EQ(objects.nodes.at(0)->allocatable, ResourceAmounts{});
  EXPECT_EQ(objects.nodes.at(0)->allowed_pod_number, 0);
}

TEST(DecodePod, ReadsPodFields) {
  const ClusterObjects objects =
      load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u",
      "labels":{"app":"x"},"creationTimestamp":"2026-01-31T23:59:59Z","deletionTimestamp":"2026-02-01T00:00:00Z",
      "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"ru","controller":true}]},
    "spec":{"nodeName":"n1","priority":7,"preemptionPolicy":"Never","schedulerName":"mine","containers":[],
      "schedulingGates":[{"name":"g1"},{"name":"g2"}],"resourceClaims":[{"name":"claim"}]},
    "status":{"phase":"Running","startTime":"1970-01-01T00:00:01.5Z","nominatedNodeName":"n2"}})");
  const Pod& pod = *objects.pods.at(0);
  EXPECT_EQ(pod.full_name(), "ns/p");
  EXPECT_EQ(pod.uid(), "u");
  EXPECT_EQ(pod.labels, (LabelMap{{"app", "x"}}));
  EXPECT_EQ(pod.creation_time_us, 1769903999000000);
  EXPECT_TRUE(pod.terminating);
  EXPECT_EQ(*pod.owners, (std::vector<OwnerReference>{{"ReplicaSet", "rs", "ru", true, "apps/v1"}}));
  EXPECT_EQ(pod.node_name, "n1");
  EXPECT_EQ(pod.priority, 7);
  EXPECT_EQ(pod.preemption_policy, PreemptionPolicy::kNever);
  EXPECT_EQ(pod.spec->scheduler_name, "mine");
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_EQ(pod.start_time_us, 1500000);
  EXPECT_EQ(pod.rare().nominated_node_name, "n2");
  EXPECT_EQ(pod.rare().scheduling_gates, (Strings{"g1", "g2"}));
  EXPECT_EQ(pod.rare().resource_claims, Strings{"claim"});
}

TEST(DecodePod, ReadsTheRunDurationOfPodsAndTemplates) {
  const ClusterObjects objects = load_good(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"b","berth.dev/run-duration":"90s"}},
     "spec":{"containers":[]}},
    {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
     "template":{"metadata":{"labels":{"a":"b"},"annotations":{"berth.dev/run-duration":"0s"}},"spec":{"containers":[]}}}}]})");
  EXPECT_EQ(objects.pods.at(0)->rare().run_duration_us, 90'000'000);
  EXPECT_EQ(objects.pods.at(1)->rare().run_duration_us, 0);
}

TEST(DecodePod, KeepsWhatRulesOfDrainingRead) {
  const ClusterObjects objects = load_good(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"a":"b","karpenter.sh/do-not-disrupt":"true",
      "cluster-autoscaler.kubernetes.io/safe-to-evict":"false","cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes":"h,d"}},
     "spec":{"containers":[],"volumes":[{"name":"d","emptyDir":{}},{"name":"h","hostPath":{"path":"/"}},
      {"name":"m","emptyDir":{"medium":"Memory"}}]}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","annotations":{"a":"b",
      "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes":"d"}},
     "spec":{"containers":[],"volumes":[{"name":"m","emptyDir":{"medium":"Memory"}},{"name":"h","hostPath":{"path":"/"}}]}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"r","annotations":{"a":"b"}},
     "spec":{"containers":[],"volumes":[{"name":"m","emptyDir":{"medium":"Memory"}}]}}]})");
  const Pod& p = *objects.pods.at(0);
  ASSERT_EQ(p.rare().annotations.size(), 2u);
  EXPECT_EQ(*p.rare().annotation(kSafeToEvictAnnotation), "false");
  EXPECT_EQ(*p.rare().annotation(kDoNotDisruptAnnotation), "true");
  EXPECT_EQ(p.rare().annotation(kMirrorAnnotation), nullptr);
  EXPECT_TRUE(p.rare().local_volumes_are_safe);
  EXPECT_TRUE(p.spec->has_empty_dir && p.spec->has_empty_dir_on_disk && p.spec->has_host_path);
  const Pod& q = *objects.pods.at(1);
  EXPECT_FALSE(q.rare().local_volumes_are_safe);
  EXPECT_TRUE(q.spec->has_empty_dir && !q.spec->has_empty_dir_on_disk && q.spec->has_host_path);
  const Pod& r = *objects.pods.at(2);
  EXPECT_EQ(r.rare_fields, nullptr);  // pods without such annotations pay nothing
  EXPECT_TRUE(r.spec->has_empty_dir && !r.spec->has_empty_dir_on_disk && !r.spec->has_host_path);
}

TEST(DecodePod, ARunDurationIsADurationOfZeroOrMore) {
  for (const std::string text : {"-1s", "soon", ""}) {
    EXPECT_EQ(
        problems_of(
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{"berth.dev/run-duration":")" +
            text + R"("}},"spec":{"containers":[]}})"),
        Strings{R"(test: metadata.annotations[berth.dev/run-duration] (Pod default/p): got ")" + text +
                R"(", expected a duration of 0 or more, such as "30m")"});
  }
}

TEST(DecodePod, AbsentFieldsHaveTheirDefaults) {
  const auto objects =
      load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"schedulerName":""}})");
  const Pod& pod = *objects.pods.at(0);
  EXPECT_EQ(pod.namespace_, "default");
  EXPECT_EQ(pod.uid(), "default/p");
  EXPECT_EQ(pod.spec->scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.phase, PodPhase::kPending);
  EXPECT_EQ(pod.rare_fields, nullptr);
  EXPECT_EQ(pod.owners, nullptr);
  EXPECT_EQ(pod.creation_time_us, 0);
}

TEST(DecodePod, NullReadsAsAbsent) {
  const auto objects = load_good(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":null,"creationTimestamp":null,"labels":null},
          "spec":{"affinity":null,"nodeSelector":null,"priority":null,"tolerations":null,"containers":null},"status":null})");
  EXPECT_EQ(objects.pods.at(0)->namespace_, "default");
  EXPECT_FALSE(spec_of(objects).node_affinity.has_value());
}

TEST(DecodePod, ReadsContainers) {
  const auto objects = load_good(pod_json(R"("initContainers":[{"name":"i","image":"busy","restartPolicy":"Always",
      "restartPolicyRules":[{"action":"RestartAllContainers"}],
      "ports":[{"containerPort":80,"hostPort":8080,"protocol":"UDP","hostIP":"10.0.0.1"}],
      "resources":{"requests":{"memory":"1.0001","cpu":" 100m "},"limits":{"cpu":1}}}],)"));
  const Container& container = spec_of(objects).init_containers.at(0);
  EXPECT_EQ(container.name, "i");
  EXPECT_EQ(container.image, "busy");
  EXPECT_TRUE(container.restart_always);
  EXPECT_TRUE(container.restarts_all_containers);
  EXPECT_EQ(container.ports, (std::vector<ContainerPort>{{8080, 80, "UDP", "10.0.0.1"}}));
  EXPECT_EQ(container.requests,
            (ResourceList{{"cpu", Quantity::parse("100m").value()}, {"memory", Quantity::parse("1001m").value()}}));
  EXPECT_EQ(container.limits, (ResourceList{{"cpu", Quantity::parse("1").value()}}));
}

TEST(DecodePod, AQuantityMayBeANumberOrNull) {
  const auto objects =
      load_good(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"resources":
      {"requests":{"cpu":0.1,"memory":null,"a.b/c":1e3,"a.b/d":18446744073709551615}}}]}})");
  const ResourceList& requests = spec_of(objects).containers.at(0).requests;
  EXPECT_EQ(find(requests, "cpu")->milli_value(), 100);
  ASSERT_NE(find(requests, "memory"), nullptr);
  EXPECT_EQ(find(requests, "memory")->nano, 0);
  EXPECT_EQ(find(requests, "a.b/c")->value(), 1000);
  EXPECT_EQ(find(requests, "a.b/d")->to_string(), "18446744073709551615");
}

TEST(DecodePod, ReadsAffinity) {
  const auto objects = load_good(pod_json(R"("affinity":{
    "nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"gen","operator":"Gt","values":["-5"]}],"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["x"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]},
    "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"x"},
        "matchExpressions":[{"key":"b","operator":"NotIn","values":["1"]}]},"namespaces":["n"],"namespaceSelector":{},
        "matchLabelKeys":["k"],"mismatchLabelKeys":["m"]}]},
    "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":9,"podAffinityTerm":{"topologyKey":"host"}}]}},)"));
  const PodSpec& spec = spec_of(objects);
  ASSERT_TRUE(spec.node_affinity && spec.node_affinity->required);
  const NodeSelectorTerm& term = spec.node_affinity->required->at(0);
  EXPECT_EQ(term.match_expressions, (std::vector<SelectorRequirement>{{"gen", SelectorOperator::kGt, {"-5"}}}));
  EXPECT_EQ(term.match_fields, (std::vector<SelectorRequirement>{{"metadata.name", SelectorOperator::kNotIn, {"x"}}}));
  EXPECT_EQ(spec.node_affinity->preferred.at(0).weight, 5);
  EXPECT_EQ(spec.node_affinity->preferred.at(0).preference.match_expressions.at(0).op, SelectorOperator::kExists);
  const PodAffinityTerm& wanted = spec.pod_affinity.value().required.at(0);
  EXPECT_EQ(wanted.topology_key, "zone");
  EXPECT_EQ(wanted.label_selector.value().match_labels, (LabelMap{{"app", "x"}}));
  EXPECT_EQ(wanted.label_selector.value().match_expressions.at(0).op, SelectorOperator::kNotIn);
  EXPECT_EQ(wanted.namespaces, Strings{"n"});
  EXPECT_TRUE(wanted.namespace_selector.has_value());
  EXPECT_EQ(wanted.match_label_keys, Strings{"k"});
  EXPECT_EQ(wanted.mismatch_label_keys, Strings{"m"});
  EXPECT_EQ(spec.pod_anti_affinity.value().preferred.at(0).weight, 9);
  EXPECT_FALSE(spec.pod_anti_affinity.value().preferred.at(0).term.label_selector.has_value());
}

TEST(DecodePod, RequiredAffinityWithoutTermsIsPresent) {
  const auto objects =
      load_good(pod_json(R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}},)"));
  ASSERT_TRUE(spec_of(objects).node_affinity.value().required.has_value());
  EXPECT_TRUE(spec_of(objects).node_affinity.value().required->empty());
}

TEST(DecodePod, ReadsTolerationsAndSpreadConstraints) {
  const auto objects = load_good(pod_json(
      R"("tolerations":[{"key":"a","operator":"Exists"},{"key":"b","value":"v","effect":"NoSchedule"},{"key":"c","operator":"Gt","value":"3"}],
      "topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway","minDomains":3,
      "labelSelector":{},"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["h"]},
      {"topologyKey":"host","whenUnsatisfiable":"DoNotSchedule"}],)"));
  const PodSpec& spec = spec_of(objects);
  EXPECT_EQ(spec.tolerations, (std::vector<Toleration>{{"a", TolerationOperator::kExists, "", std::nullopt},
                                                       {"b", TolerationOperator::kEqual, "v", TaintEffect::kNoSchedule},
                                                       {"c", TolerationOperator::kGt, "3", std::nullopt}}));
  ASSERT_EQ(spec.topology_spread_constraints.size(), 2u);
  EXPECT_EQ(spec.topology_spread_constraints[0],
            (TopologySpreadConstraint{2, "zone", true, LabelSelector{}, 3, false, true, {"h"}}));
  EXPECT_EQ(spec.topology_spread_constraints[1],
            (TopologySpreadConstraint{0, "host", false, std::nullopt, std::nullopt, true, false, {}}));
}

TEST(DecodePod, OnlyVolumesThatAPluginReadsAreKept) {
  const auto objects = load_good(pod_json(R"("volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"pvc"}},
      {"name":"b","ephemeral":{}},{"name":"c","csi":{"driver":"d"}},{"name":"d","awsElasticBlockStore":{"volumeID":"v"}},
      {"name":"e","emptyDir":{}},{"name":"f","configMap":{"name":"x"}}],)"));
  const std::vector<PodVolume>& volumes = objects.pods.at(0)->rare().volumes;
  ASSERT_EQ(volumes.size(), 4u);
  EXPECT_EQ(volumes[0], (PodVolume{PodVolume::Kind::kClaim, "pvc"}));
  EXPECT_EQ(volumes[1], (PodVolume{PodVolume::Kind::kEphemeral, "b"}));
  EXPECT_EQ(volumes[2], (PodVolume{PodVolume::Kind::kCsiInline, "d"}));
  EXPECT_EQ(volumes[3].kind, PodVolume::Kind::kInTreeDisk);
  EXPECT_EQ(volumes[3].name, "awsElasticBlockStore");
  ASSERT_NE(volumes[3].disk, nullptr);
  EXPECT_EQ(volumes[3].disk->volume_name, "d");
  EXPECT_EQ(volumes[3].disk->source.id, "v");
}

std::string pod_with_status(const std::string& status) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c",
      "resources":{"requests":{"cpu":"1"}}}]},"status":{)" +
         status + "}}";
}

TEST(DecodePod, StatusResourcesAreKeptOnlyWhenTheyCanRaiseARequest) {
  const auto kept = load_good(pod_with_status(
      R"("containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"2"}},"allocatedResources":{"cpu":"1"}}])"));
  const ContainerStatusResources& status = kept.pods.at(0)->rare().status_resources.at(0);
  EXPECT_EQ(status.container_name, "c");
  EXPECT_EQ(find(status.requests, "cpu")->value(), 2);
  EXPECT_TRUE(status.has_resources);
  const auto dropped = load_good(pod_with_status(
      R"("containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"1"}},"allocatedResources":{"cpu":"1"}}])"));
  EXPECT_EQ(dropped.pods.at(0)->rare_fields, nullptr);
  const auto infeasible = load_good(pod_with_status(
      R"("conditions":[{"type":"Ready"},{"type":"PodResizePending","reason":"Infeasible"}],
         "containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"1"}}}])"));
  EXPECT_TRUE(infeasible.pods.at(0)->rare().resize_infeasible);
  EXPECT_EQ(infeasible.pods.at(0)->rare().status_resources.size(), 1u);
}

TEST(DecodePod, StatusResourcesOfAPendingPodAreKept) {
  std::string pending = pod_with_status(R"("containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"2"}}}])");
  pending.erase(pending.find(R"("nodeName":"n",)"), std::string_view(R"("nodeName":"n",)").size());
  const auto objects = load_good(pending);
  EXPECT_TRUE(objects.pods.at(0)->node_name.empty());
  EXPECT_EQ(objects.pods.at(0)->rare().status_resources.size(), 1u);
}

TEST(DecodePod, TheFirstDisruptionConditionSaysWhetherAPodWasPreempted) {
  const auto is_preempted = [](const std::string& conditions) {
    return load_good(pod_with_status(R"("conditions":[)" + conditions + "]")).pods.at(0)->rare().preempted;
  };
  const std::string preempted = R"({"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"})";
  const std::string evicted = R"({"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"})";
  EXPECT_TRUE(is_preempted(preempted));
  EXPECT_TRUE(is_preempted(R"({"type":"Ready","status":"True"},)" + preempted));
  EXPECT_FALSE(is_preempted(evicted + "," + preempted));
  EXPECT_FALSE(is_preempted(R"({"type":"DisruptionTarget","status":"False","reason":"PreemptionByScheduler"})"));
}

TEST(DecodePod, FinishedPodsAreOnlyCounted) {
  const auto objects = load_good(pod_json("", R"("phase":"Succeeded")"));
  EXPECT_TRUE(objects.pods.empty());
  EXPECT_EQ(objects.terminal_pod_count, 1);
}

TEST(DecodePod, EqualSpecsShareOneObject) {
  const auto objects = load_good(R"({"kind":"PodList","apiVersion":"v1","items":[
    {"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"nodeName":"n","containers":[{"name":"c","env":[{"name":"A"}]}],"hostNetwork":false}},
    {"metadata":{"name":"b","labels":{"x":"1"}},"spec":{"volumes":[{"name":"tmp-1","configMap":{"name":"x"}}],"hostNetwork":false,"containers":[{"name":"c"}]}},
    {"metadata":{"name":"c"},"spec":{"containers":[{"name":"d"}]}}]})");
  ASSERT_EQ(objects.pods.size(), 3u);
  EXPECT_EQ(objects.pods[0]->spec, objects.pods[1]->spec);
  EXPECT_NE(objects.pods[0]->spec, objects.pods[2]->spec);
  EXPECT_EQ(objects.pods[0]->labels.bytes().data(), objects.pods[1]->labels.bytes().data());
}

TEST(DecodeSmallKinds, AreRead) {
  const auto objects = load_good(R"(
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {a: b}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PriorityClass
metadata: {name: high}
value: 10
globalDefault: true
preemptionPolicy: Never
---
apiVersion: v1
kind: Service
metadata: {name: svc}
spec: {selector: {app: x}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: 250m}}
scheduling: {nodeSelector: {kata: "true"}, tolerations: [{operator: Exists}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb, namespace: team}
spec: {selector: {matchLabels: {app: x}}}
status: {disruptionsAllowed: 2, disruptedPods: {p1: "2026-01-01T00:00:00Z"}}
)");
  EXPECT_EQ(objects.namespaces.at(0).labels, (LabelMap{{"a", "b"}}));
  EXPECT_EQ(objects.priority_classes.at(0).value, 10);
  EXPECT_TRUE(objects.priority_classes.at(0).global_default);
  EXPECT_EQ(objects.priority_classes.at(0).preemption_policy, PreemptionPolicy::kNever);
  EXPECT_EQ(objects.services.at(0).namespace_, "default");
  EXPECT_EQ(objects.services.at(0).selector, (LabelMap{{"app", "x"}}));
  EXPECT_EQ(objects.runtime_classes.at(0).overhead_pod_fixed.at(0).second.milli_value(), 250);
  EXPECT_EQ(objects.runtime_classes.at(0).tolerations.at(0).op, TolerationOperator::kExists);
  EXPECT_EQ(objects.pod_disruption_budgets.at(0).namespace_, "team");
  EXPECT_EQ(objects.pod_disruption_budgets.at(0).disruptions_allowed, 2);
  EXPECT_EQ(objects.pod_disruption_budgets.at(0).disrupted_pods, Strings{"p1"});
}

TEST(DecodeKinds, KnownUnusedKindsAreCountedAndUnknownKindsNamed) {
  const auto objects = load_good(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: b}
)");
  EXPECT_EQ(objects.unused_kinds, (std::map<std::string, std::int64_t>{{"ResourceClaim", 1}}));
  EXPECT_EQ(objects.unknown_kinds,
            (std::map<std::string, std::int64_t>{{"v1/ConfigMap", 2}, {"scheduling.volcano.sh/v1beta1/PodGroup", 1}}));
}

TEST(DecodeTolerance, AcceptsWhatUpstreamAcceptsFromStorage) {
  const auto objects = load_good(pod_json(R"("nodeSelector":{"-odd-":"a b"},"affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In"},
      {"key":"k","operator":"Gt","values":["a","b"]}]}]}}},)",
                                          "", R"("labels":{"x":"not a label!"},)"));
  EXPECT_EQ(objects.pods.size(), 1u);
  EXPECT_EQ(spec_of(objects).node_selector.find("-odd-"), "a b");
}

TEST(DecodeTimes, AreReadAsRfc3339) {
  const auto created = [](const std::string& text) {
    return load_good(pod_json("", "", R"("creationTimestamp":")" + text + R"(",)")).pods.at(0)->creation_time_us;
  };
  EXPECT_EQ(created("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(created("2000-02-29T12:00:00.000001Z"), 951825600000001);
  EXPECT_EQ(created("1970-01-01T01:00:00+01:00"), 0);
  EXPECT_EQ(created("1969-12-31T23:30:00-00:30"), 0);
  EXPECT_EQ(created("1970-01-01T00:00:00.1234567Z"), 123456);
  for (const auto* text :
       {"1970-01-01", "1970-13-01T00:00:00Z", "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:00",
        "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00+1:00", "1970-01-01T-1:00:00Z"}) {
    EXPECT_EQ(problems_of(pod_json("", "", R"("creationTimestamp":")" + std::string(text) + R"(",)")).size(), 1u)
        << text;
  }
}

}  // namespace
}  // namespace berth
