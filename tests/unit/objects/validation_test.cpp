// SPDX-License-Identifier: Apache-2.0
#include "host/objects/validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/objects/load_text.h"
#include "tests/unit/objects/object_texts.h"
#include "tests/unit/objects/validation_cases.h"

namespace berth {
namespace {

using namespace object_texts;

using Strings = std::vector<std::string>;

std::vector<ValidationCase> all_cases() {
  std::vector<ValidationCase> cases = validation_cases();
  for (ValidationCase& one : storage_validation_cases()) cases.push_back(std::move(one));
  return cases;
}

/// The findings of a load, without the closing line that counts them.
Strings findings_of(const std::string& text) {
  LoadResult result = load_cluster_from_text(text, "test", {});
  EXPECT_EQ(texts(result.problems), Strings{}) << text;
  Strings warnings = result.objects.warnings;
  if (!warnings.empty()) warnings.pop_back();
  return warnings;
}

TEST(Validation, EachCheckReportsItsValueAndReadsItAsStored) {
  for (const ValidationCase& one : all_cases()) {
    const Strings found = findings_of(one.text);
    ASSERT_EQ(found.size(), 1u) << one.id << "\n" << one.text << "\n" << testing::PrintToString(found);
    EXPECT_NE(found[0].find(one.finding), std::string::npos) << found[0] << "\nlacks\n" << one.finding;
    EXPECT_TRUE(found[0].ends_with("[" + one.id + "]")) << found[0] << "\nis not " << one.id;
  }
}

TEST(Validation, StrictRefusesWhatFailsACheck) {
  LoadOptions strict;
  strict.strict = true;
  for (const ValidationCase& one : all_cases()) {
    const LoadResult result = load_cluster_from_text(one.text, "test", strict);
    EXPECT_EQ(result.problem_count, 1) << one.id << "\n" << one.text;
  }
}

TEST(Validation, StrictRefusesInLargeObjectsToo) {
  const std::string note(600'000, 'x');
  LoadOptions strict;
  strict.strict = true;
  const std::string annotations = R"(,"annotations":{"a":")" + note + R"(","b":")" + note + "\"}";
  const LoadResult result = load_cluster_from_text(good_pod(R"("nodeselector":{},)", "", annotations), "test", strict);
  EXPECT_EQ(result.problem_count, 1);
}

TEST(Validation, EveryCheckHasACase) {
  std::set<std::string_view> covered;
  const std::vector<ValidationCase> all = all_cases();
  for (const ValidationCase& one : all) covered.insert(one.id);
  for (const ValidationRule& rule : validation_rules()) EXPECT_TRUE(covered.contains(rule.id)) << rule.id;
}

TEST(Validation, TheTableOfTheDocumentationIsTheListOfChecks) {
  std::ifstream file("docs/objects.md");
  ASSERT_TRUE(file.is_open());
  Strings rows;
  bool is_in_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| Check |")) is_in_table = true;
    if (is_in_table && line.empty()) break;
    if (is_in_table && line.starts_with("| `")) rows.push_back(line);
  }
  Strings wanted;
  for (const ValidationRule& rule : validation_rules()) {
    std::ostringstream row;
    row << "| `" << rule.id << "` | " << rule.fields << " | " << rule.rule << " | " << rule.stored << " |";
    wanted.push_back(row.str());
  }
  EXPECT_EQ(rows, wanted);
}

TEST(Validation, GoodObjectsHaveNoFindings) {
  const Strings good = {
      good_pod(),
      good_pod(
          R"("restartPolicy":"Never","nodeName":"node-1.example","hostNetwork":true,"tolerations":[{"operator":"Exists"},
        {"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"volumes":[{"name":"v","emptyDir":{}},
        {"name":"w"}],"resourceClaims":[{"name":"g","resourceClaimName":"x"}],"overhead":{"cpu":"1m"},)",
          R"(,"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"resources":{"claims":[{"name":"g"}],
        "requests":{"cpu":"100m","a.b/gpu":"1"},"limits":{"cpu":"1","memory":"1Gi","a.b/gpu":"1","hugepages-2Mi":"4Mi"}})",
          R"(,"labels":{"app.kubernetes.io/name":"x"},"annotations":{"a":"b"},"managedFields":[])"),
      // What an API server has made of matchLabelKeys.
      labelled(
          anti_affinity_term(R"("labelSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["x"]}]},
        "matchLabelKeys":["app"],"topologyKey":"kubernetes.io/hostname")")),
      // Nothing is merged where the pod lacks the label.
      anti_affinity_term(R"("labelSelector":{"matchLabels":{"q":"1"}},"matchLabelKeys":["q","q"],)" +
                         std::string(kZone)),
      good_pod(R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"My_Claim"}}],)"),
      good_pod(R"("resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}},)"),
      // The API server adds the containers' cpu to the pod's requests before it validates.
      good_pod(R"("resources":{"requests":{"hugepages-2Mi":"2Mi"},"limits":{"hugepages-2Mi":"2Mi"}},)",
               R"(,"resources":{"requests":{"cpu":"1"}})"),
      // An API server takes any name of a resource in a node's status.
      node(R"("status":{"allocatable":{"a/b/c":"1","x y":"1","cpu":"1"}})"),
      owned(kOwner + R"(,"controller":true},{)" + kOwner),
      good_pod(R"("resourceClaims":[{"name":"g","resourceClaimName":"x"}],)",
               R"(,"resources":{"claims":[{"name":"g","request":"a"},{"name":"g","request":"b"}]})"),
      workload("Job", R"("completionMode":"NonIndexed",)", R"("restartPolicy":"Never",)"),
      node(
          R"("spec":{"podCIDR":"10.0.0.0/24","taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]},
        "status":{"capacity":{},"allocatable":{"cpu":"3920m","pods":"110","a.b/gpu":"8"},"declaredFeatures":["A","A/b","B"],
        "conditions":[],"nodeInfo":{}})"),
      workload("Deployment", R"("replicas":2,"selector":{"matchLabels":{"app":"x"}},"strategy":{},)"),
      workload("StatefulSet", R"("serviceName":"s","selector":{"matchLabels":{"app":"x"}},"ordinals":{"start":1},)"),
      workload("DaemonSet", R"("selector":{"matchExpressions":[{"key":"app","operator":"In","values":["x","y"]}]},)"),
      workload("ReplicationController", ""),
      workload("Job", R"("completions":3,"completionMode":"Indexed",)", R"("restartPolicy":"OnFailure",)"),
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-node-critical"},
        "value":2000001000,"description":"d"})",
  };
  for (const std::string& text : good) EXPECT_EQ(findings_of(text), Strings{}) << text;
}

TEST(Validation, AnUnknownNameIsReadAsUpstreamReadsIt) {
  const auto pod_of = [](const std::string& spec) {
    return load_cluster_from_text(good_pod(spec), "test", {}).objects.pods.at(0);
  };
  const std::string tolerations = R"("tolerations":[{"key":"a","operator":"exists"},{"key":"b","operator":"Exists",
      "effect":"noSchedule"},{"key":"c","operator":"Exists","effect":""}],)";
  ASSERT_EQ(pod_of(tolerations)->spec->tolerations.size(), 1U) << "the others tolerate nothing";
  EXPECT_EQ(pod_of(tolerations)->spec->tolerations[0].key, "c");
  const auto spreads = pod_of(R"("topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":
      "DoNotSchedule","nodeAffinityPolicy":"honor","nodeTaintsPolicy":"honor"}],)")
                           ->spec->topology_spread_constraints;
  EXPECT_FALSE(spreads.at(0).honor_node_affinity);
  EXPECT_FALSE(spreads.at(0).honor_node_taints);
  EXPECT_EQ(pod_of(R"("preemptionPolicy":"never",)")->preemption_policy, PreemptionPolicy::kPreemptLowerPriority);
  const auto nodes = load_cluster_from_text(
      node(R"("spec":{"taints":[{"key":"a","effect":"noSchedule"},{"key":"b","effect":"NoExecute"}]})"), "test", {});
  ASSERT_EQ(nodes.objects.nodes.at(0)->taints.size(), 1U) << "the other repels nothing";
  EXPECT_EQ(nodes.objects.nodes.at(0)->taints[0].key, "b");
}

TEST(Validation, ManyFindingsOfOneObjectAreCountedInFull) {
  std::string tolerations;
  for (int i = 0; i < 300; ++i)
    tolerations += (i == 0 ? "" : ",") + (R"({"key":"k)" + std::to_string(i) + R"(","operator":"equal"})");
  const std::string text = good_pod(R"("tolerations":[)" + tolerations + "],");
  const Strings warnings = load_cluster_from_text(text, "test", {}).objects.warnings;
  ASSERT_EQ(warnings.size(), 2U) << testing::PrintToString(warnings);
  EXPECT_TRUE(warnings[0].ends_with("(and 299 more like it)")) << warnings[0];
  EXPECT_TRUE(warnings[1].starts_with("300 values ")) << warnings[1];
  LoadOptions strict;
  strict.strict = true;
  const LoadResult refused = load_cluster_from_text(text, "test", strict);
  ASSERT_EQ(refused.problems.size(), 1U);
  EXPECT_EQ(refused.problems[0].repeat_count, 299);
}

TEST(Validation, FoldsEqualFindings) {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (int i = 0; i < 42; ++i) {
    std::string pod = good_pod(R"("nodeselector":{"a":"b"},)");
    pod.replace(pod.find(R"("name":"p")"), 10, R"("name":"p)" + std::to_string(i) + '"');
    text += (i == 0 ? "" : ",") + pod;
  }
  const LoadResult result = load_cluster_from_text(text + "]}", "test", {});
  ASSERT_EQ(result.objects.warnings.size(), 2u);
  EXPECT_EQ(result.objects.warnings[0],
            "test: line 1, items[0].spec.nodeselector (Pod default/p0): PodSpec has no such field and it is not read, "
            "expected "
            "nodeSelector [unknown-field] (and 41 more like it)");
  EXPECT_EQ(result.objects.warnings[1],
            "42 values that an API server would refuse were read as stored; --strict refuses such objects; "
            "docs/objects.md lists the checks");
}

TEST(Validation, ASharedSpecIsCheckedWithTheLabelsOfEachPod) {
  const std::string spec =
      R"("labelSelector":{"matchLabels":{"app":"x"}},"matchLabelKeys":["app"],)" + std::string(kZone);
  std::string other = anti_affinity_term(spec);
  other.replace(other.find(R"("name":"p")"), 10, R"("name":"q")");
  const Strings found = findings_of(other + "\n" + labelled(anti_affinity_term(spec)));
  ASSERT_EQ(found.size(), 1U) << testing::PrintToString(found);
  EXPECT_NE(found[0].find("(Pod default/p)"), std::string::npos) << found[0];
}

TEST(Validation, AnEmptyPreemptionPolicyIsNotThatOfTheClass) {
  const ClusterObjects objects =
      load_cluster_from_text(R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"c"},
          "value":5,"preemptionPolicy":"Never"})" +
                                 good_pod(R"("preemptionPolicy":"","priorityClassName":"c",)"),
                             "test", {})
          .objects;
  ASSERT_EQ(objects.pods.size(), 1U);
  EXPECT_EQ(objects.pods[0]->preemption_policy, PreemptionPolicy::kPreemptLowerPriority);
}

TEST(Validation, TheLastOfRepeatedKeysCounts) {
  const LoadResult result = load_cluster_from_text(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"metadata":{"name":"p"},"spec":{"priority":1,"priority":2,
          "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":1},"requests":{"cpu":2}}}]}})",
      "test", {});
  ASSERT_EQ(result.objects.pods.size(), 1u);
  EXPECT_EQ(result.objects.pods[0]->name, "p");
  EXPECT_EQ(result.objects.pods[0]->priority, 2);
  EXPECT_EQ(find(result.objects.pods[0]->spec->containers[0].requests, "cpu")->value(), 2);
}

/// sigs.k8s.io/yaml and encoding/json both take the last; both refuse it under strict field validation.
TEST(Validation, ARepeatedKeyIsTheSameInYamlAndInJson) {
  const std::string yaml = R"(apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  priority: 1
  priority: 2
  nodeSelector: {a: b, a: c}
  containers: [{name: c, image: i}]
)";
  const LoadResult lenient = load_cluster_from_text(yaml, "test", {});
  EXPECT_EQ(lenient.problem_count, 0);
  ASSERT_EQ(lenient.objects.pods.size(), 1U);
  EXPECT_EQ(lenient.objects.pods[0]->priority, 2);
  EXPECT_EQ(lenient.objects.pods[0]->spec->node_selector.find("a"), "c");
  const Strings findings{"test: line 5, spec.priority (Pod default/p): stands twice, expected once [duplicate-field]",
                         "test: line 7, spec.nodeSelector.a (Pod default/p): stands twice, expected once "
                         "[duplicate-field]"};
  EXPECT_EQ(findings_of(yaml), findings);
  LoadOptions strict;
  strict.strict = true;
  EXPECT_EQ(texts(load_cluster_from_text(yaml, "test", strict).problems), findings);
}

TEST(Validation, ARepeatedKeyInAnAnchoredNodeIsAProblem) {
  EXPECT_EQ(problems_with_lines("apiVersion: v1\nkind: Pod\nmetadata: &m {name: p, name: q}\n"),
            Strings{"test: line 3: duplicate key \"name\""});
}

TEST(Validation, FinishedPodsAreNotChecked) {
  std::string pod = good_pod(R"("nodeselector":{},)");
  pod.insert(pod.size() - 1, R"(,"status":{"phase":"Failed"})");
  EXPECT_TRUE(load_cluster_from_text(pod, "test", {}).objects.warnings.empty());
}

}  // namespace
}  // namespace berth
