// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_objects.h"

#include <gtest/gtest.h>

#include "host/objects/errors.h"

namespace berth {
namespace {

SeriesResult make(const std::string& text, std::int64_t count = 1, const std::string& name_space = "") {
  return make_series(TextTemplate(text, "t.yaml"), {name_space, count, false});
}
const Pod& pod_at(const SeriesResult& result, std::int64_t index) {
  return *std::get<PodPtr>(result.series.at(index).object);
}

TEST(PerfObjects, KeepGenerateNameAndFinalizersBesideTheObject) {
  const SeriesResult result = make(
      "apiVersion: v1\nkind: Pod\nmetadata: {generateName: pod-, finalizers: [a/b], labels: {app: web}}\n"
      "spec: {priority: 10, containers: [{name: c, image: i}]}\n",
      5, "team");
  const PerfObject& object = result.series.at(4);
  EXPECT_EQ(object.options.generate_name, "pod-");
  EXPECT_EQ(object.options.finalizers, std::vector<std::string>({"a/b"}));
  EXPECT_EQ(pod_at(result, 4).name, "");
  EXPECT_EQ(pod_at(result, 4).namespace_, "team");
  EXPECT_EQ(pod_at(result, 4).priority, 10);
  EXPECT_EQ(pod_at(result, 4).labels.find("app"), "web");
}

TEST(PerfObjects, DecodeOneObjectForEachIndexWhereDirectivesStand) {
  const SeriesResult result = make(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: 'p-{{.Index}}'}\nspec: {containers: [{name: c, image: i}]}\n", 3);
  EXPECT_EQ(pod_at(result, 0).name, "p-0");
  EXPECT_EQ(pod_at(result, 2).name, "p-2");
}

TEST(PerfObjects, FillAllocatableFromCapacity) {
  const SeriesResult result = make(
      "apiVersion: v1\nkind: Node\nmetadata: {generateName: n-}\nstatus: {capacity: {pods: '7', cpu: '4', a.b/c: "
      "2}}\n");
  const Node& node = *std::get<NodePtr>(result.series.at(0).object);
  EXPECT_EQ(node.allowed_pod_number, 7);
  const ResourceAmounts wanted =
      std::get<NodePtr>(make("apiVersion: v1\nkind: Node\nmetadata: {name: node}\nstatus: {allocatable: "
                             "{pods: '7', cpu: '4', a.b/c: 2}}\n")
                            .series.at(0)
                            .object)
          ->allocatable;
  EXPECT_EQ(node.allocatable, wanted);
}

TEST(PerfObjects, ReadPoliciesOfASpreadConstraintInAnyCase) {
  const SeriesResult result = make(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
      "  topologySpreadConstraints:\n  - {maxSkew: 1, topologyKey: k, whenUnsatisfiable: DoNotSchedule, "
      "NodeTaintsPolicy: Honor, NodeAffinityPolicy: Ignore}\n");
  const TopologySpreadConstraint& constraint = pod_at(result, 0).spec->topology_spread_constraints.at(0);
  EXPECT_TRUE(constraint.honor_node_taints);
  EXPECT_FALSE(constraint.honor_node_affinity);
}

TEST(PerfObjects, NameKindsAndNeedsThatAreNotSupported) {
  EXPECT_EQ(make("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nspec: {}\n").unsupported, "DeviceClass objects");
  EXPECT_EQ(make("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
                 "  resourceClaims: [{name: a, resourceClaimName: b}]\n")
                .unsupported,
            "pods with resource claims");
  EXPECT_EQ(make("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n"
                 "  volumes: [{name: v, secret: {secretName: x}}]\n")
                .unsupported,
            "");
}

TEST(PerfObjects, GiveAPodAVolumeAndAClaimBoundToEachOther) {
  const SeriesResult pod =
      make("apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c}]}\n");
  const SeriesResult volume =
      make("apiVersion: v1\nkind: PersistentVolume\nspec: {awsElasticBlockStore: {volumeID: <volume-id>}}\n");
  const SeriesResult claim = make(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {annotations: {pv.kubernetes.io/bind-completed: "
      "'true'}}\nspec: {accessModes: [ReadOnlyMany]}\n");
  const PodWithVolume made = with_volume(pod.series.at(0), volume.series.at(0), claim.series.at(0), "team", 7);
  EXPECT_EQ(made.claim->full_name(), "team/pvc-7");
  EXPECT_TRUE(made.claim->is_bound());
  EXPECT_EQ(made.volume->name, "team-vol-7");
  EXPECT_EQ(made.volume->claim_ref, (ObjectName{"team", "pvc-7", ""}));
  EXPECT_EQ(made.volume->migrated->handle, "vol-7");
  const Pod& with_claim = *std::get<PodPtr>(made.pod.object);
  ASSERT_EQ(with_claim.rare().volumes.size(), 1U);
  EXPECT_EQ(with_claim.rare().volumes[0].name, "pvc-7");
  EXPECT_EQ(made.pod.options.generate_name, "p-");
}

TEST(PerfObjects, NameTheFileOfWhatCannotBeRead) {
  try {
    make("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: high, containers: [{name: c}]}\n");
    FAIL() << "read a pod whose priority is a word";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().front().source, "t.yaml");
    EXPECT_NE(error.problems().front().to_string().find("spec.priority"), std::string::npos);
  }
}

TEST(PerfObjects, HaveTheBasePodAndNodesOfUpstream) {
  const SeriesResult pod = make_series(base_pod_template(), {"a", 1, false});
  EXPECT_EQ(pod.series.at(0).options.generate_name, "pod-");
  EXPECT_EQ(pod_at(pod, 0).spec->containers.at(0).requests.size(), 2u);
  const SeriesResult node = make_series(base_node_template("node-3-"), {"", 1, false});
  EXPECT_EQ(node.series.at(0).options.generate_name, "node-3-");
  EXPECT_EQ(std::get<NodePtr>(node.series.at(0).object)->allowed_pod_number, 110);
}

}  // namespace
}  // namespace berth
