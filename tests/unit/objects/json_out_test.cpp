// SPDX-License-Identifier: Apache-2.0
#include "host/objects/json_out.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "host/objects/object_pools.h"
#include "tests/support/same_spec.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

std::string written(const ClusterObjects& objects) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  ObjectListWriter writer(file);
  for (const auto& node : objects.nodes) writer.write(*node);
  for (const auto& pod : objects.pods) writer.write(*pod);
  for (const auto& object : objects.namespaces) writer.write(object);
  for (const auto& object : objects.priority_classes) writer.write(object);
  for (const auto& object : objects.runtime_classes) writer.write(object);
  for (const auto& object : objects.pod_disruption_budgets) writer.write(object);
  EXPECT_TRUE(writer.finish());
  std::fclose(file);
  std::string result(text, size);
  std::free(text);
  return result;
}

void expect_equal(const Node& a, const Node& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.unschedulable, b.unschedulable);
  EXPECT_EQ(a.taints, b.taints);
  EXPECT_EQ(a.allocatable, b.allocatable);
  EXPECT_EQ(a.allowed_pod_number, b.allowed_pod_number);
  EXPECT_EQ(a.images, b.images);
  EXPECT_EQ(a.declared_features, b.declared_features);
}

void expect_equal(const Pod& a, const Pod& b) {
  EXPECT_EQ(a.full_name(), b.full_name());
  EXPECT_EQ(a.stored_uid, b.stored_uid);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_TRUE(test::is_same_spec(*a.spec, *b.spec)) << a.full_name();
  EXPECT_EQ(a.node_name, b.node_name);
  ASSERT_EQ(a.owners == nullptr, b.owners == nullptr);
  if (a.owners) {
    EXPECT_EQ(*a.owners, *b.owners);
  }
  EXPECT_EQ(a.rare_fields == nullptr, b.rare_fields == nullptr);
  EXPECT_TRUE(a.rare() == b.rare()) << a.full_name();
  EXPECT_EQ(a.creation_time_us, b.creation_time_us);
  EXPECT_EQ(a.start_time_us, b.start_time_us);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.preemption_policy, b.preemption_policy);
  EXPECT_EQ(a.phase, b.phase);
  EXPECT_EQ(a.terminating, b.terminating);
}

void expect_round_trip(const ClusterObjects& first) {
  const ClusterObjects second = load_good(written(first));
  ASSERT_EQ(first.nodes.size(), second.nodes.size());
  ASSERT_EQ(first.pods.size(), second.pods.size());
  for (std::size_t i = 0; i < first.nodes.size(); ++i) expect_equal(*first.nodes[i], *second.nodes[i]);
  for (std::size_t i = 0; i < first.pods.size(); ++i) expect_equal(*first.pods[i], *second.pods[i]);
}

TEST(JsonOut, RoundTripsEveryField) {
  expect_round_trip(load_good(R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {"a/b": "quote \" and \\ and \u0001 and é"}}
spec: {unschedulable: true, taints: [{key: k, value: v, effect: NoExecute}, {key: e, effect: PreferNoSchedule}]}
status:
  allocatable: {cpu: 3500m, memory: 8Gi, ephemeral-storage: 5, pods: 110, nvidia.com/gpu: 2, hugepages-2Mi: 0}
  images: [{names: ["app:1", "app:2"], sizeBytes: 7}, {sizeBytes: 1}]
  declaredFeatures: [F]
---
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: team
  uid: u-1
  labels: {x: ""}
  annotations: {berth.dev/run-duration: 1h0.00025s, kubernetes.io/config.mirror: m, karpenter.sh/do-not-disrupt: "true",
    cluster-autoscaler.kubernetes.io/safe-to-evict: "false", cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: "h,e"}
  creationTimestamp: "2026-01-31T23:59:59.25Z"
  deletionTimestamp: "2026-01-31T23:59:59Z"
  ownerReferences: [{kind: ReplicaSet, name: rs, uid: ru, controller: true}, {kind: Other, name: o}]
spec:
  schedulerName: mine
  nodeName: n1
  priority: -5
  preemptionPolicy: Never
  runtimeClassName: kata
  hostNetwork: true
  overhead: {cpu: 1m}
  resources: {requests: {cpu: "2", memory: 1Gi}}
  schedulingGates: [{name: g}]
  resourceClaims: [{name: c}]
  volumes: [{name: a, persistentVolumeClaim: {claimName: pvc}}, {name: b, ephemeral: {}}, {csi: {driver: d.example.com}}, {rbd: {}},
    {name: h, hostPath: {path: /x}}, {name: e, emptyDir: {}}, {name: m, emptyDir: {medium: Memory}}]
  nodeSelector: {disk: ssd}
  tolerations: [{operator: Exists}, {key: a, value: v, effect: NoSchedule}, {key: l, operator: Lt, value: "3"}]
  containers:
  - {name: c, image: i, resources: {requests: {cpu: 1500m}, limits: {memory: 1Gi, nvidia.com/gpu: 1}},
     ports: [{containerPort: 80}, {containerPort: 81, hostPort: 9, protocol: UDP, hostIP: 1.2.3.4}]}
  initContainers: [{name: s, restartPolicy: Always, restartPolicyRules: [{action: RestartAllContainers}]}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - {matchExpressions: [{key: gen, operator: Gt, values: ["5"]}], matchFields: [{key: metadata.name, operator: NotIn, values: [x]}]}
        - {}
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, preference: {matchExpressions: [{key: a, operator: Exists}]}}]
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: z, labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: k, operator: DoesNotExist}]}, namespaces: [ns],
         namespaceSelector: {}, matchLabelKeys: [k], mismatchLabelKeys: [m]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 9, podAffinityTerm: {topologyKey: host}}]
  topologySpreadConstraints:
  - {maxSkew: 2, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 3, labelSelector: {}, nodeAffinityPolicy: Ignore,
     nodeTaintsPolicy: Honor, matchLabelKeys: [h]}
status:
  phase: Running
  startTime: "2026-02-01T00:00:00Z"
  nominatedNodeName: n2
  conditions: [{type: PodResizePending, reason: Infeasible}, {type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}]
  containerStatuses: [{name: c, resources: {requests: {cpu: "2"}}, allocatedResources: {cpu: "1"}}, {name: s, allocatedResources: {cpu: "1"}}]
---
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}, podAffinity: {}}}
)"));
}

TEST(JsonOut, RoundTripsSmallKinds) {
  const auto first = load_good(R"(
apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {a: b}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: -10
globalDefault: true
preemptionPolicy: Never
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
overhead: {podFixed: {cpu: 100m, memory: 64Mi}}
scheduling: {nodeSelector: {sandbox: "yes"}, tolerations: [{key: sandbox, operator: Exists, effect: NoSchedule}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: two, namespace: team}
spec: {selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}}
status: {disruptionsAllowed: 2, disruptedPods: {web-0: "2026-01-01T00:00:00Z"}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: everything, namespace: team}
spec: {selector: {}}
)");
  const auto second = load_good(written(first));
  EXPECT_EQ(second.namespaces.at(0).labels, (LabelMap{{"a", "b"}}));
  EXPECT_EQ(second.priority_classes.at(0).value, -10);
  EXPECT_TRUE(second.priority_classes.at(0).global_default);
  EXPECT_EQ(second.priority_classes.at(0).preemption_policy, PreemptionPolicy::kNever);
  const RuntimeClass& runtime_class = second.runtime_classes.at(0);
  EXPECT_EQ(runtime_class.name, "gvisor");
  EXPECT_EQ(runtime_class.overhead_pod_fixed, first.runtime_classes.at(0).overhead_pod_fixed);
  EXPECT_EQ(runtime_class.node_selector, first.runtime_classes.at(0).node_selector);
  EXPECT_EQ(runtime_class.tolerations, first.runtime_classes.at(0).tolerations);
  ASSERT_EQ(second.pod_disruption_budgets.size(), 2u);
  for (const std::size_t i : {0u, 1u}) {
    const PodDisruptionBudget& before = first.pod_disruption_budgets.at(i);
    const PodDisruptionBudget& after = second.pod_disruption_budgets.at(i);
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.namespace_, before.namespace_);
    EXPECT_EQ(after.selector, before.selector);
    EXPECT_EQ(after.disruptions_allowed, before.disruptions_allowed);
    EXPECT_EQ(after.disrupted_pods, before.disrupted_pods);
  }
}

TEST(JsonOut, WritesVolumesAndClaimsOfPodsAsAnApiServerAcceptsThem) {
  const auto pods = load_good(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: a, persistentVolumeClaim: {claimName: pvc}}, {name: b, ephemeral: {}}, {name: c, csi: {driver: a.io}},
            {name: d, csi: {driver: b.io}}]
  resourceClaims: [{name: g}]
)");
  LoadOptions strict;
  strict.strict = true;
  EXPECT_TRUE(load_good(written(pods), strict).pods.at(0)->rare() == pods.pods.at(0)->rare());
}

TEST(JsonOut, WritesAnEmptyList) { EXPECT_TRUE(load_good(written({})).nodes.empty()); }

TEST(JsonOut, WritesAsciiThatKeepsTheText) {
  ClusterObjects objects;
  // C1's CSI, a bidirectional override, a tag above 0xffff, delete, and bytes that are not UTF-8.
  objects.namespaces.push_back({"a", LabelMap({{"k\xc2\x9b\xe2\x80\xae", "\xf3\xa0\x80\x81\x7f\xc3\xa9"}})});
  const std::string text = written(objects);
  EXPECT_NE(text.find(R"("k\u009b\u202e":"\udb40\udc01\u007f\u00e9")"), std::string::npos) << text;
  EXPECT_EQ(load_good(text).namespaces[0].labels, objects.namespaces[0].labels);
  objects.namespaces = {{"b\xff\xc3", {}}};
  EXPECT_NE(written(objects).find(R"("b\ufffd\ufffd")"), std::string::npos) << written(objects);
}

TEST(JsonOut, ReportsAFailedWrite) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full here";
  ObjectListWriter writer(full);
  EXPECT_FALSE(writer.finish());
  std::fclose(full);
}

TEST(JsonOut, TimesHaveAFractionOnlyWhenNonZero) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(1500000), "1970-01-01T00:00:01.500000Z");
  EXPECT_EQ(format_time(-1000000), "1969-12-31T23:59:59Z");
}

TEST(JsonOut, RoundTripsTheHandmadeGoldenClusters) {
  int clusters = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/handmade")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json") || name.ends_with(".config.json")) continue;
    SCOPED_TRACE(name);
    const LoadResult result = load_cluster({entry.path().string()});
    ASSERT_TRUE(result.problems.empty());
    expect_round_trip(result.objects);
    ++clusters;
  }
  EXPECT_GT(clusters, 5);
}

}  // namespace
}  // namespace berth
