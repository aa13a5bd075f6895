// SPDX-License-Identifier: Apache-2.0
#include "host/objects/expand.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

Strings names(const ClusterObjects& objects) {
  Strings result;
  for (const PodPtr& pod : objects.pods) result.push_back(pod->name);
  return result;
}

std::map<std::string, std::int64_t> expanded(const ClusterObjects& objects) {
  std::map<std::string, std::int64_t> result;
  for (const Workload& workload : objects.workloads)
    result[workload.kind + "/" + workload.name] = workload.expanded_pod_count;
  return result;
}

std::string workload(const std::string& kind, const std::string& name, const std::string& spec,
                     const std::string& metadata = "", const std::string& status = "{}") {
  const std::string api = kind == "Job" ? "batch/v1" : kind == "ReplicationController" ? "v1" : "apps/v1";
  return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: " + name + metadata + "}\nspec:\n  {" + spec +
         "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c}]}}}\nstatus: " + status + "\n---\n";
}

std::string pod(const std::string& name, const std::string& owner_kind, const std::string& owner,
                const std::string& more = "", const std::string& spec = "nodeName: n1") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", ownerReferences: [{kind: " + owner_kind +
         ", name: " + owner + ", controller: true}]" + more + "}\nspec: {" + spec + "}\n---\n";
}

std::string node(const std::string& name, const std::string& spec = "", const std::string& labels = "") {
  return "apiVersion: v1\nkind: Node\nmetadata: {name: " + name + ", labels: {" + labels + "}}\nspec: {" + spec +
         "}\n---\n";
}

TEST(Expansion, ReplicasDefaultToOne) {
  for (const auto* kind : {"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job"}) {
    EXPECT_EQ(load_good(workload(kind, "w", "")).pods.size(), 1u) << kind;
  }
}

TEST(Expansion, OnlyMissingPodsAreCreated) {
  const auto objects = load_good(workload("ReplicaSet", "rs", "replicas: 4, ") + pod("rs-0", "ReplicaSet", "rs") +
                                 pod("other", "ReplicaSet", "else") +
                                 pod("rs-gone", "ReplicaSet", "rs", ", deletionTimestamp: '2026-01-01T00:00:00Z'"));
  EXPECT_EQ(names(objects), (Strings{"rs-0", "other", "rs-gone", "rs-1", "rs-2", "rs-3"}));
  EXPECT_EQ(expanded(objects), (std::map<std::string, std::int64_t>{{"ReplicaSet/rs", 3}}));
}

TEST(Expansion, AFinishedPodIsReplaced) {
  const std::string finished =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: rs, controller: "
      "true}]}\n"
      "spec: {}\nstatus: {phase: Failed}\n---\n";
  EXPECT_EQ(load_good(workload("ReplicaSet", "rs", "") + finished).pods.size(), 1u);
}

TEST(Expansion, ACreatedPodLooksLikeOneOfTheController) {
  const auto objects = load_good(
      workload("ReplicaSet", "rs", "", ", uid: u1, namespace: team, creationTimestamp: '1970-01-01T00:00:05Z'"));
  const Pod& made = *objects.pods.at(0);
  EXPECT_EQ(made.full_name(), "team/rs-0");
  EXPECT_EQ(made.uid(), "team/rs-0");
  EXPECT_EQ(made.labels, (LabelMap{{"app", "x"}}));
  EXPECT_EQ(made.creation_time_us, 5000000);
  EXPECT_EQ(*made.owners, (std::vector<OwnerReference>{{"ReplicaSet", "rs", "u1", true, "apps/v1"}}));
  EXPECT_EQ(made.spec->containers.at(0).name, "c");
  EXPECT_EQ(made.phase, PodPhase::kPending);
}

TEST(Expansion, ACreatedPodNamesTheStorageVersionOfItsOwner) {
  const auto version_for = [](const std::string& kind) {
    return load_good(workload(kind, "w", "")).pods.at(0)->owners->at(0).api_version;
  };
  EXPECT_EQ(version_for("ReplicationController"), "v1");
  EXPECT_EQ(version_for("StatefulSet"), "apps/v1");
  EXPECT_EQ(version_for("Job"), "batch/v1");
}

TEST(Expansion, PodsOfOneWorkloadShareTheirContent) {
  const auto objects = load_good(workload("ReplicaSet", "rs", "replicas: 2, "));
  EXPECT_EQ(objects.pods.at(0)->spec, objects.pods.at(1)->spec);
  EXPECT_EQ(objects.pods.at(0)->owners, objects.pods.at(1)->owners);
}

TEST(Expansion, AControllerWithAnotherUidIsDifferent) {
  const std::string old =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: rs, uid: old, "
      "controller: true}]}\n"
      "spec: {}\n---\n";
  EXPECT_EQ(load_good(workload("ReplicaSet", "rs", "", ", uid: new") + old).pods.size(), 2u);
}

TEST(Expansion, ANonControllerOwnerDoesNotCount) {
  const std::string loose =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: rs}]}\nspec: "
      "{}\n---\n";
  EXPECT_EQ(load_good(workload("ReplicaSet", "rs", "") + loose).pods.size(), 2u);
}

TEST(Expansion, ADeploymentGetsItsOwnReplicaSet) {
  const auto objects =
      load_good(workload("Deployment", "web", "replicas: 2, selector: {matchLabels: {app: x}}, ", ", uid: du"));
  EXPECT_EQ(names(objects), (Strings{"web-berth-0", "web-berth-1"}));
  EXPECT_EQ(expanded(objects),
            (std::map<std::string, std::int64_t>{{"Deployment/web", 2}, {"ReplicaSet/web-berth", 0}}));
  const Workload& made = objects.workloads.at(1);
  EXPECT_EQ(made.selector.value().match_labels, (LabelMap{{"app", "x"}, {"pod-template-hash", "berth"}}));
  EXPECT_EQ(made.owners, (std::vector<OwnerReference>{{"Deployment", "web", "du", true, "apps/v1"}}));
  EXPECT_EQ(objects.pods[0]->labels, (LabelMap{{"app", "x"}, {"pod-template-hash", "berth"}}));
  EXPECT_EQ(*objects.pods[0]->owners, (std::vector<OwnerReference>{{"ReplicaSet", "web-berth", "", true, "apps/v1"}}));
}

TEST(Expansion, ADeploymentCountsPodsOfItsReplicaSetsAndUsesTheNewest) {
  const auto owned = [](const std::string& time) {
    return ", creationTimestamp: '" + time + "', ownerReferences: [{kind: Deployment, name: web, controller: true}]";
  };
  const auto objects = load_good(workload("Deployment", "web", "replicas: 4, ") +
                                 workload("ReplicaSet", "web-new", "replicas: 9, ", owned("2026-01-02T00:00:00Z")) +
                                 workload("ReplicaSet", "web-old", "replicas: 0, ", owned("2026-01-01T00:00:00Z")) +
                                 pod("a", "ReplicaSet", "web-old") + pod("b", "ReplicaSet", "web-new"));
  EXPECT_EQ(names(objects), (Strings{"a", "b", "web-new-0", "web-new-1"}));
  EXPECT_EQ(objects.workloads.size(), 3u);
  EXPECT_EQ(expanded(objects).at("Deployment/web"), 2);
}

TEST(Expansion, AReplicaSetWithoutItsDeploymentCreatesPods) {
  const auto objects = load_good(
      workload("ReplicaSet", "rs", "replicas: 2, ", ", ownerReferences: [{kind: Rollout, name: r, controller: true}]"));
  EXPECT_EQ(objects.pods.size(), 2u);
}

TEST(Expansion, AStatefulSetFillsOrdinalsAndNamesClaims) {
  const auto objects =
      load_good(workload("StatefulSet", "db",
                         "replicas: 3, ordinals: {start: 5}, volumeClaimTemplates: [{metadata: {name: data}}], ") +
                pod("db-6", "StatefulSet", "db"));
  EXPECT_EQ(names(objects), (Strings{"db-6", "db-5", "db-7"}));
  EXPECT_EQ(
      objects.pods[1]->labels,
      (LabelMap{{"app", "x"}, {"apps.kubernetes.io/pod-index", "5"}, {"statefulset.kubernetes.io/pod-name", "db-5"}}));
  EXPECT_EQ(objects.pods[1]->rare().volumes, (std::vector<PodVolume>{{PodVolume::Kind::kClaim, "data-db-5"}}));
}

TEST(Expansion, AStatefulSetsClaimsAreMadeWhereTheyAreNotThere) {
  const auto storage_class = [](const std::string& name, const std::string& time, const std::string& annotations) {
    return "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + name +
           ", creationTimestamp: \"" + time + "\", annotations: {" + annotations + "}}\nprovisioner: csi.example.com\n";
  };
  const std::string is_default = "storageclass.kubernetes.io/is-default-class: 'true'";
  const auto objects = load_good(
      workload("StatefulSet", "db",
               "replicas: 2, volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: "
               "1Gi}}}}, "
               "{metadata: {name: own}, spec: {storageClassName: fast}}, {metadata: {name: none}, spec: "
               "{storageClassName: ''}}], ") +
      "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: own-db-0, namespace: default}\n"
      "spec: {storageClassName: there}\n" +
      storage_class("older", "2026-01-01T00:00:00Z", is_default) +
      storage_class("newer", "2026-01-02T00:00:00Z", is_default) + storage_class("other", "2026-01-03T00:00:00Z", ""));
  std::map<std::string, std::string> classes;
  for (const VolumeClaim& claim : objects.storage.claims) classes[claim.full_name()] = claim.class_name;
  EXPECT_EQ(classes, (std::map<std::string, std::string>{{"default/data-db-0", "newer"},
                                                         {"default/data-db-1", "newer"},
                                                         {"default/none-db-0", ""},
                                                         {"default/none-db-1", ""},
                                                         {"default/own-db-0", "there"},
                                                         {"default/own-db-1", "fast"}}));
  EXPECT_EQ(objects.storage.claims.back().request.has_value(), objects.storage.claims.back().name.starts_with("data"));
}

TEST(Expansion, AJobCreatesRemainingPodsUpToItsParallelism) {
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, completions: 10, ")).pods.size(), 3u);
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, completions: 10, ", "", "{succeeded: 8}")).pods.size(), 2u);
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, completions: 2, ", "", "{succeeded: 5}")).pods.size(), 0u);
  EXPECT_EQ(load_good(workload("Job", "j", "completions: 10, ")).pods.size(), 1u);
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, ")).pods.size(), 3u);
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, ", "", "{succeeded: 1}")).pods.size(), 0u);
  EXPECT_EQ(load_good(workload("Job", "j", "parallelism: 3, ") + pod("a", "Job", "j")).pods.size(), 3u);
}

TEST(Expansion, ASuspendedOrFinishedJobCreatesNoPods) {
  EXPECT_EQ(load_good(workload("Job", "j", "suspend: true, ")).pods.size(), 0u);
  for (const auto* type : {"Complete", "Failed"}) {
    const std::string status = "{conditions: [{type: " + std::string(type) + ", status: 'True'}]}";
    EXPECT_EQ(load_good(workload("Job", "j", "", "", status)).pods.size(), 0u) << type;
  }
  EXPECT_EQ(load_good(workload("Job", "j", "", "", "{conditions: [{type: Complete, status: 'False'}]}")).pods.size(),
            1u);
}

TEST(Expansion, JobPodsHaveTheNameLabelOfTheirJob) {
  const auto objects = load_good(workload("Job", "j", "", ", uid: u"));
  EXPECT_EQ(objects.pods.at(0)->labels.find("batch.kubernetes.io/job-name"), "j");
  EXPECT_EQ(objects.pods.at(0)->labels.find("batch.kubernetes.io/controller-uid"), "u");
}

TEST(Expansion, ATerminatingWorkloadCreatesNoPods) {
  EXPECT_TRUE(load_good(workload("ReplicaSet", "rs", "", ", deletionTimestamp: '2026-01-01T00:00:00Z'")).pods.empty());
}

TEST(Expansion, ADaemonSetCreatesOnePodPerEligibleNode) {
  const std::string daemon =
      "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      nodeSelector: "
      "{os: linux}\n"
      "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
      "[{matchExpressions: [{key: gpu, operator: DoesNotExist}]}]},"
      " preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}\n      containers: [{name: "
      "c}]\n---\n";
  const auto objects = load_good(
      node("plain", "", "os: linux") + node("windows", "", "os: windows") + node("gpu", "", "os: linux, gpu: '1'") +
      node("tainted", "taints: [{key: a, effect: NoSchedule}]", "os: linux") +
      node("cordoned", "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]",
           "os: linux") +
      node("dead", "taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]", "os: linux") +
      node("soft", "taints: [{key: a, effect: PreferNoSchedule}]", "os: linux") + node("has", "", "os: linux") +
      node("waits", "", "os: linux") + daemon + pod("on-has", "DaemonSet", "d", "", "nodeName: has") +
      pod("for-waits", "DaemonSet", "d", "",
          "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
          "[{matchFields: [{key: metadata.name, operator: In, values: [waits]}]}]}}}"));
  std::set<std::string> targets;
  for (const PodPtr& made : objects.pods) {
    if (made->name.starts_with("d-"))
      targets.insert(made->spec->node_affinity->required->at(0).match_fields.at(0).values.at(0));
  }
  EXPECT_EQ(targets, (std::set<std::string>{"plain", "cordoned", "dead", "soft"}));
  const PodSpec& spec = *objects.pods.back()->spec;
  EXPECT_EQ(spec.node_affinity->required->size(), 1u);
  EXPECT_TRUE(spec.node_affinity->required->at(0).match_expressions.empty());
  EXPECT_EQ(spec.node_affinity->preferred.size(), 1u);
  EXPECT_EQ(spec.tolerations.size(), 6u);
}

TEST(Expansion, AHostNetworkDaemonToleratesAnUnavailableNetwork) {
  const std::string daemon =
      "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\nspec: {template: {spec: {hostNetwork: true, "
      "tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]}}}\n---\n";
  const auto objects =
      load_good(daemon + node("n1", "taints: [{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}]"));
  ASSERT_EQ(objects.pods.size(), 1u);
  EXPECT_EQ(objects.pods[0]->spec->tolerations.size(), 7u);
}

TEST(Expansion, ExistingPodNamesAreNotReused) {
  const auto objects = load_good(workload("ReplicaSet", "rs", "replicas: 2, ") + pod("rs-1", "Other", "x"));
  EXPECT_EQ(names(objects), (Strings{"rs-1", "rs-0", "rs-2"}));
}

TEST(Expansion, TooManyReplicasAreAProblemAndCreateNoPods) {
  const LoadResult result = load_cluster_from_text(
      workload("ReplicaSet", "rs", "replicas: 2147483647, ") + workload("StatefulSet", "s", "replicas: 2147483647, ") +
          workload("Deployment", "d", "replicas: 2147483647, ") + workload("ReplicaSet", "ok", "replicas: 2, "),
      "test", {});
  EXPECT_EQ(result.objects.pods.size(), 2u);
  EXPECT_EQ(texts(result.problems).at(0),
            "test: line 1 (ReplicaSet default/rs): asks for 2147483647 more pods, expected at most 1000000 from all "
            "workloads "
            "together, of which 0 are made");
  EXPECT_EQ(result.problem_count, 3);
  EXPECT_EQ(result.left_out.size(), 3u);
}

TEST(Expansion, TheLimitCoversAllWorkloads) {
  LoadOptions options;
  options.expansion.pods_max = 3;
  const auto text = workload("ReplicaSet", "a", "replicas: 2, ") + workload("ReplicaSet", "b", "replicas: 2, ") +
                    workload("ReplicaSet", "c", "");
  const LoadResult result = load_cluster_from_text(text, "test", options);
  EXPECT_EQ(names(result.objects), (Strings{"a-0", "a-1", "c-0"}));
  EXPECT_EQ(result.problem_count, 1);
}

TEST(Expansion, ADaemonSetOverTheLimitMakesNoPod) {
  LoadOptions options;
  options.expansion.pods_max = 1;
  const LoadResult result =
      load_cluster_from_text(workload("DaemonSet", "ds", "") + node("n1") + node("n2"), "test", options);
  EXPECT_TRUE(result.objects.pods.empty());
  EXPECT_EQ(texts(result.problems), Strings{"test: line 1 (DaemonSet default/ds): asks for 2 more pods, expected at "
                                            "most 1 from all workloads together, of "
                                            "which 0 are made"});
}

TEST(Expansion, PodsOfDaemonSetsHaveALimitOfTheirOwn) {
  LoadOptions options;
  options.expansion.daemon_pods_max = 3;
  const LoadResult result = load_cluster_from_text(
      workload("DaemonSet", "a", "") + workload("DaemonSet", "b", "") + node("n1") + node("n2"), "test", options);
  EXPECT_EQ(names(result.objects), (Strings{"a-0", "a-1"}));
  EXPECT_EQ(texts(result.problems), Strings{"test: line 8 (DaemonSet default/b): asks for 2 more pods, expected at "
                                            "most 3 from all DaemonSets together, of which 2 are made"});
}

TEST(Expansion, WhatMadePodsHaveEachForThemselvesIsLimitedInBytes) {
  LoadOptions options;
  options.expansion.bytes_max = 100'000;
  const auto loads = [&](const std::string& text) {
    return load_cluster_from_text(text, "test", options).problems.empty();
  };
  const std::string labels = "selector: {}, template: {metadata: {labels: {a: " + std::string(2000, 'x') +
                             "}}, spec: {containers: [{name: c}]}}}\n";
  const auto with_labels = [&](const std::string& kind) {
    return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: w}\nspec: {replicas: 60, " + labels;
  };
  EXPECT_TRUE(loads(workload("StatefulSet", "s", "replicas: 60, ")));
  EXPECT_FALSE(loads(workload("StatefulSet", "s",
                              "replicas: 60, volumeClaimTemplates: [{metadata: {name: a}}, "
                              "{metadata: {name: b}}], ")));
  EXPECT_FALSE(loads(workload("ReplicaSet", std::string(1000, 'n'), "replicas: 60, ")));
  EXPECT_TRUE(loads(with_labels("ReplicaSet"))) << "its pods share their labels";
  EXPECT_FALSE(loads(with_labels("StatefulSet")));
  const LoadResult result = load_cluster_from_text(with_labels("StatefulSet"), "test", options);
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_TRUE(result.objects.pods.empty());
  const std::string said = texts(result.problems).at(0);
  EXPECT_TRUE(said.starts_with("test: line 1 (StatefulSet default/w): asks for 60 more pods of about ")) << said;
  EXPECT_TRUE(said.ends_with("expected at most 100000 bytes from all workloads together, of which 0 are used")) << said;
}

TEST(Expansion, CanBeDisabled) {
  LoadOptions options;
  options.expand_workloads = false;
  const auto objects = load_good(workload("ReplicaSet", "rs", ""), options);
  EXPECT_TRUE(objects.pods.empty());
  EXPECT_EQ(objects.workloads.size(), 1u);
}

TEST(Expansion, NegativeNumbersAreProblems) {
  EXPECT_EQ(problems_of(workload("ReplicaSet", "rs", "replicas: -1, ")),
            Strings{"test: spec.replicas (ReplicaSet default/rs): got -1, expected a number that is not negative"});
  EXPECT_EQ(problems_of(workload("Job", "j", "parallelism: -1, ")).size(), 1u);
}

TEST(Expansion, AWorkloadNeedsATemplate) {
  EXPECT_EQ(problems_of("apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: rs}\nspec: {replicas: 1}\n").at(0),
            "test: spec.template (ReplicaSet default/rs): absent, expected a pod template");
}

TEST(Expansion, OldApiVersionsDefaultTheSelectorFromTheTemplate) {
  const auto objects = load_good(
      "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: d}\n"
      "spec: {template: {metadata: {labels: {app: x}}, spec: {}}}\n---\n" +
      workload("ReplicationController", "rc", "selector: {app: z}, "));
  EXPECT_EQ(objects.workloads.at(0).selector.value().match_labels, (LabelMap{{"app", "x"}}));
  EXPECT_EQ(objects.workloads.at(1).selector.value().match_labels, (LabelMap{{"app", "z"}}));
}

}  // namespace
}  // namespace berth
