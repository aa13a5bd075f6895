// SPDX-License-Identifier: Apache-2.0
// Objects that cannot be decoded, and what the problem says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/objects/decode.h"
#include "tests/unit/objects/load_text.h"

namespace berth {
namespace {

using Strings = std::vector<std::string>;

struct BadPod {
  std::string spec;
  std::string problem;
};

/// The problem as it names the pod at hand.
std::string with_object(std::string problem) { return problem.insert(problem.find(": "), " (Pod default/p)"); }

class BadPods : public testing::TestWithParam<BadPod> {};

TEST_P(BadPods, AreProblemsWithPathValueAndExpectation) {
  EXPECT_EQ(problems_of(pod_json(GetParam().spec + ",")), Strings{"test: " + with_object(GetParam().problem)});
}

INSTANTIATE_TEST_SUITE_P(
    , BadPods,
    testing::Values(
        BadPod{R"("priority":"high")", R"(spec.priority: got "high", expected an integer)"},
        BadPod{R"("priority":3000000000)", "spec.priority: got 3000000000, expected an integer of 32 bits"},
        BadPod{R"("nodeName":5)", "spec.nodeName: got 5, expected a string"},
        BadPod{R"("hostNetwork":"yes")", R"(spec.hostNetwork: got "yes", expected true or false)"},
        BadPod{R"("tolerations":{})", "spec.tolerations: got an object, expected an array"},
        BadPod{R"("overhead":{"cpu":"-1"})", R"(spec.overhead.cpu: got "-1", expected an amount that is not negative)"},
        BadPod{R"("overhead":{"cpu":"1K"})",
               R"(spec.overhead.cpu: got "1K", expected a quantity such as "500m" or "1.5Gi")"},
        BadPod{R"("overhead":{"cpu":""})",
               R"(spec.overhead.cpu: got "", expected a quantity such as "500m" or "1.5Gi")"},
        BadPod{R"("overhead":{"cpu":true})",
               R"(spec.overhead.cpu: got true, expected a quantity such as "500m" or "1.5Gi")"},
        BadPod{R"("overhead":{"a b":"1"})",
               "spec.overhead[a b]: is not the name of a resource, expected a qualified name such as nvidia.com/gpu"},
        BadPod{R"("initContainers":[{"ports":[{"hostPort":65536}]}])",
               "spec.initContainers[0].ports[0].hostPort: got 65536, expected a port from 0 to 65535"},
        BadPod{R"("initContainers":[{"ports":[{"hostPort":-1}]}])",
               "spec.initContainers[0].ports[0].hostPort: got -1, expected a port from 0 to 65535"},
        BadPod{R"("initContainers":[3])", "spec.initContainers[0]: got 3, expected an object"},
        BadPod{R"("nodeSelector":{"a":1})", "spec.nodeSelector.a: got 1, expected a string"},
        BadPod{R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[]}})",
               "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution: got an array, expected an "
               "object"},
        BadPod{R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":
               {"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}]}})",
               "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector."
               R"(matchExpressions[0].operator: got "Gt", expected one of In, NotIn, Exists, DoesNotExist)"},
        BadPod{R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"preference":
               {"matchExpressions":[{"key":"a"}]}}]}})",
               "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference."
               "matchExpressions[0]: has no operator"},
        BadPod{
            R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":-1}]}})",
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: got -1, expected a "
            "weight from 0 to 100"},
        BadPod{R"("affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":101}]}})",
               "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: got 101, "
               "expected a weight from 0 to 100"},
        BadPod{
            R"("topologySpreadConstraints":[{"whenUnsatisfiable":"Perhaps"}])",
            R"(spec.topologySpreadConstraints[0].whenUnsatisfiable: got "Perhaps", expected one of DoNotSchedule, ScheduleAnyway)"},
        BadPod{R"("topologySpreadConstraints":[{"maxSkew":1}])",
               "spec.topologySpreadConstraints[0]: has no whenUnsatisfiable"}));

TEST(DecodeErrors, AreReportedForStatusAndMetadata) {
  EXPECT_EQ(
      problems_of(pod_json("", "", R"("creationTimestamp":"yesterday",)")),
      Strings{
          R"(test: metadata.creationTimestamp (Pod default/p): got "yesterday", expected a time such as "2026-01-31T23:59:59Z")"});
  EXPECT_EQ(problems_of(pod_json("", "", R"("labels":[],)")),
            Strings{"test: metadata.labels (Pod default/p): got an array, expected an object"});
}

TEST(DecodeErrors, ATaintNeedsAnEffect) {
  const auto node = [](const std::string& taint) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"taints":[)" + taint + "]}}";
  };
  EXPECT_EQ(problems_of(node(R"({"key":"a"})")), Strings{"test: spec.taints[0] (Node n): has no effect"});
}

TEST(DecodeErrors, AnObjectNeedsKindApiVersionAndName) {
  EXPECT_EQ(problems_of(R"({"metadata":{"name":"x"}})"),
            (Strings{"test: kind: absent, expected a kind such as Pod",
                     "test: apiVersion: absent, expected an API version such as v1"}));
  EXPECT_EQ(problems_of(R"({"apiVersion":"v1","kind":"Node","metadata":{}})"),
            Strings{"test: metadata.name (Node): absent, expected a name"});
  EXPECT_EQ(problems_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"x-"},"spec":{}})"),
            Strings{"test: metadata.name (Pod): absent, expected a name; generateName is for objects being created"});
  EXPECT_EQ(problems_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})"),
            Strings{"test: spec (Pod default/p): absent, expected an object"});
}

TEST(DecodeErrors, NameTheItemOfAList) {
  const std::string text =
      R"({"apiVersion":"v1","kind":"List","items":[)" + pod_json("") + "," + pod_json(R"("priority":"x",)") + "]}";
  EXPECT_EQ(problems_of(text),
            Strings{R"(test: items[1].spec.priority (Pod default/p): got "x", expected an integer)"});
}

TEST(DecodeErrors, EveryProblemOfAnObjectIsReported) {
  EXPECT_EQ(problems_of(pod_json(R"("priority":"x","nodeName":1,)")).size(), 2u);
}

TEST(DecodeErrors, AValueOfAnotherTypeIsNotReadAsAbsent) {
  EXPECT_EQ(problems_of(pod_json(R"("schedulingGates":[7],)")),
            Strings{"test: spec.schedulingGates[0] (Pod default/p): got 7, expected an object"});
  EXPECT_EQ(problems_of(pod_json(R"("resourceClaims":["a"],)")),
            Strings{R"(test: spec.resourceClaims[0] (Pod default/p): got "a", expected an object)"});
  EXPECT_EQ(problems_of(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":7})"),
            Strings{"test: spec (Service default/s): got 7, expected an object"});
  EXPECT_EQ(problems_of(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":"Ready"})"),
            Strings{R"(test: status (Node n): got "Ready", expected an object)"});
  EXPECT_EQ(
      problems_of(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"status":[]})"),
      Strings{"test: status (PodDisruptionBudget default/b): got an array, expected an object"});
  EXPECT_EQ(
      problems_of(R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"r"},"overhead":1})"),
      Strings{"test: overhead (RuntimeClass r): got 1, expected an object"});
  EXPECT_EQ(problems_of(pod_json("", R"("conditions":["Ready"])")),
            Strings{R"(test: status.conditions[0] (Pod default/p): got "Ready", expected an object)"});
}

TEST(DecodeErrors, ABadSharedSpecIsReportedForEveryPod) {
  std::string text = R"({"apiVersion":"v1","kind":"PodList","items":[)";
  for (const auto* name : {"a", "b"}) {
    text += std::string(R"({"metadata":{"name":")") + name + R"("},"spec":{"hostNetwork":7}},)";
  }
  text.back() = ']';
  const LoadResult result = load_cluster_from_text(text + "}", "test", {});
  EXPECT_EQ(result.problem_count, 2);
  EXPECT_EQ(texts(result.problems),
            Strings{"test: line 1, items[0].spec.hostNetwork (Pod default/a): got 7, expected true or "
                    "false (and 1 more like it)"});
}

}  // namespace
}  // namespace berth
